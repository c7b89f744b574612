#include "bound_message.hpp"

#include <fmt/format.h>

#include <utility>

#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/crypto/secret_file.hpp"
#include "muffle/release/message_names.hpp"

namespace muffle::round {

namespace fs = std::filesystem;
using release::JournalEntry;
using release::Message;

namespace {

constexpr char kDraftOfMessage[] = "the message's draft";

}  // namespace

BoundMessage::BoundMessage(const ProposedRound& round, release::Journal& journal, const crypto::SiteKey& key,
                           const fs::path& folder, release::MessageKind kind, std::string name,
                           std::uint64_t numbers)
    : round_(round),
      journal_(journal),
      party_(key.public_key()),
      kind_(kind),
      name_(std::move(name)),
      numbers_(numbers),
      folder_(folder),
      draft_(drafts(folder) / name_),
      kept_(outbox(folder) / name_) {}

std::optional<Message> BoundMessage::at(const fs::path& file) const {
  if (!is_there(file, "the message", "Nothing was sent.")) return std::nullopt;
  return release::parse_message(read_file(file, release::most_bytes(name_, numbers_)), file.string());
}

Wanted BoundMessage::wants() const { return wanted(name_, numbers_); }

void BoundMessage::look(Received&& there) {
  there_.reset();
  problem_.clear();
  try {
    there_ = message_of(std::move(there));
  } catch (const ProtocolError& e) {
    problem_ = e.what();
  }
}

std::optional<release::SignedHeader> BoundMessage::sent(Letters& out) {
  const std::optional<Message> there = std::exchange(there_, std::nullopt);
  if (!problem_.empty())
    throw ProtocolError(
        fmt::format("what lies in the exchange under this party's name is no message of its own: {} Remove "
                    "it, and find out who put it there.",
                    problem_));
  if (there &&
      (there->header.sender != party_ || there->header.round != round_.id || there->header.kind != kind_))
    throw ProtocolError(
        fmt::format("'{}' in the exchange is not signed by this party, or is of another round or kind: "
                    "somebody else put it there. Remove it, and find out who.",
                    name_));
  if (there && there->header.id() != bound())
    throw ProtocolError(
        fmt::format("'{}' in the exchange is this party's own, and its journal {}. Either the party's folder "
                    "was restored from an older copy, or somebody else acts with its key. It says nothing "
                    "more in this round; restore the newest journal.",
                    name_, bound() ? "binds it to another one" : "does not know it"));
  if (!bound()) return std::nullopt;
  std::optional<Message> own = at(kept_);
  if (!own || own->header.id() != *bound()) {
    own = at(draft_);
    if (!own || own->header.id() != *bound()) own = there;
    if (!own)
      throw ProtocolError(
          fmt::format("this party's journal binds it to a message, its {}, that is neither in '{}' nor in "
                      "the exchange. No other one is made: put the file back from a copy.",
                      name_of(kind_), kept_.string()));
    write_file_atomically(kept_, release::message_bytes(own->header, own->numbers));
  }
  crypto::erase_secret_file(draft_, kDraftOfMessage);
  if (!there) out.push_back({name_, release::message_bytes(own->header, own->numbers)});
  return std::move(own->header);
}

Letter BoundMessage::bind(std::string bytes, const crypto::ExchangePoint& round_key) {
  const Sha256Digest id = release::parse_message(bytes, name_).header.id();
  ensure_drafts(folder_);
  ensure_writable_folder(kept_.parent_path());
  // On the disk before it is bound, so that no crash loses what was bound; seen by nobody before it is.
  crypto::replace_secret_file(draft_, bytes, kDraftOfMessage);
  journal_.add({JournalEntry::Kind::kPending, round_.id, round_key, kind_, id});
  write_file_atomically(kept_, bytes);
  crypto::erase_secret_file(draft_, kDraftOfMessage);
  return {name_, std::move(bytes)};
}

bool BoundMessage::has_left() const { return bound() && there_ && there_->header.id() == *bound(); }

bool BoundMessage::is_kept() const {
  return is_there(kept_, "the message", "Nothing was sent.") ||
         is_there(draft_, kDraftOfMessage, "Nothing was sent.");
}

void BoundMessage::erase_unbound() const {
  if (!bound()) crypto::erase_secret_file(draft_, kDraftOfMessage);
}

void BoundMessage::give_up() const {
  crypto::erase_secret_file(kept_, "the message");
  crypto::erase_secret_file(draft_, kDraftOfMessage);
}

}  // namespace muffle::round
