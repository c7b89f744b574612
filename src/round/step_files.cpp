#include "step_files.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>

#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/crypto/secret_file.hpp"
#include "muffle/privacy/entropy.hpp"
#include "muffle/release/later_rounds.hpp"
#include "muffle/release/message_names.hpp"
#include "muffle/release/round_release.hpp"
#include "muffle/round/consortium_folder.hpp"

namespace muffle::round {

namespace fs = std::filesystem;
using release::JournalEntry;
using release::Message;
using release::SignedHeader;

namespace {

constexpr char kDraft[] = "the message's draft";

}  // namespace

fs::path outbox(const fs::path& party) { return party / "outbox"; }
fs::path drafts(const fs::path& party) { return party / "keys" / "drafts"; }

void ensure_drafts(const fs::path& party) {
  crypto::ensure_private_folder(party / "keys");
  crypto::ensure_private_folder(drafts(party));
}

std::optional<Message> message_in(Exchange& exchange, const std::string& name, std::uint64_t numbers) {
  const std::optional<std::string> bytes = exchange.get(name, release::most_bytes(name, numbers));
  if (!bytes) return std::nullopt;
  return release::parse_message(*bytes, name);
}

BoundMessage::BoundMessage(const ProposedRound& round, Exchange& exchange, release::Journal& journal,
                           const crypto::SiteKey& key, const fs::path& folder, release::MessageKind kind,
                           std::string name, std::uint64_t numbers)
    : round_(round),
      exchange_(exchange),
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

std::optional<Message> BoundMessage::sent() {
  const std::optional<Sha256Digest> bound = journal_.state().pending(round_.id, kind_);
  std::optional<Message> there;
  try {
    there = message_in(exchange_, name_, numbers_);
  } catch (const ProtocolError& e) {
    throw ProtocolError(
        fmt::format("what lies in the exchange under this party's name is no message of its own: {} Remove "
                    "it, and find out who put it there.",
                    e.what()));
  }
  if (there &&
      (there->header.sender != party_ || there->header.round != round_.id || there->header.kind != kind_))
    throw ProtocolError(
        fmt::format("'{}' in the exchange is not signed by this party, or is of another round or kind: "
                    "somebody else put it there. Remove it, and find out who.",
                    name_));
  if (there && there->header.id() != bound)
    throw ProtocolError(
        fmt::format("'{}' in the exchange is this party's own, and its journal {}. Either the party's folder "
                    "was restored from an older copy, or somebody else acts with its key. It says nothing "
                    "more in this round; restore the newest journal.",
                    name_, bound ? "binds it to another one" : "does not know it"));
  if (!bound) return std::nullopt;
  std::optional<Message> own = at(kept_);
  if (!own || own->header.id() != *bound) {
    own = at(draft_);
    if (!own || own->header.id() != *bound) own = there;
    if (!own)
      throw ProtocolError(
          fmt::format("this party's journal binds it to a message, its {}, that is neither in '{}' nor in "
                      "the exchange. No other one is made: put the file back from a copy.",
                      name_of(kind_), kept_.string()));
    write_file_atomically(kept_, release::message_bytes(own->header, own->numbers));
  }
  crypto::erase_secret_file(draft_, kDraft);
  if (!there) exchange_.put(name_, release::message_bytes(own->header, own->numbers));
  return own;
}

void BoundMessage::send(const std::string& bytes, const crypto::ExchangePoint& round_key) {
  const Message message = release::parse_message(bytes, name_);
  ensure_drafts(folder_);
  ensure_writable_folder(kept_.parent_path());
  // On the disk before it is bound, so that no crash loses what was bound; seen by nobody before it is.
  crypto::replace_secret_file(draft_, bytes, kDraft);
  journal_.add({JournalEntry::Kind::kPending, round_.id, round_key, kind_, message.header.id()});
  write_file_atomically(kept_, bytes);
  exchange_.put(name_, bytes);
  crypto::erase_secret_file(draft_, kDraft);
}

bool BoundMessage::has_left() const {
  const std::optional<Sha256Digest> bound = journal_.state().pending(round_.id, kind_);
  if (!bound) return false;
  try {
    const std::optional<Message> there = message_in(exchange_, name_, numbers_);
    return there && there->header.id() == *bound;
  } catch (const ProtocolError&) {
    return false;
  }
}

bool BoundMessage::is_kept() const {
  return is_there(kept_, "the message", "Nothing was sent.") || is_there(draft_, kDraft, "Nothing was sent.");
}

void BoundMessage::erase_unbound() const {
  if (!journal_.state().pending(round_.id, kind_)) crypto::erase_secret_file(draft_, kDraft);
}

void BoundMessage::give_up() const {
  crypto::erase_secret_file(kept_, "the message");
  crypto::erase_secret_file(draft_, kDraft);
}

release::Journal open_journal(const fs::path& folder, const crypto::SiteKey& key, const StepClock& clock) {
  return {folder / "journal.mfj", key.public_key(), clock.lock_deadline};
}

std::optional<SignedHeader> see_sum(const ProposedRound& round, const Sha256Digest& seal,
                                    Exchange& exchange) {
  const std::optional<Message> sum = message_in(exchange, release::sum_name(round.id), round.length);
  if (!sum) return std::nullopt;
  release::check_sum(round, seal, sum->header);
  return sum->header;
}

bool next_is_proposed(const ProposedRound& round, Exchange& exchange) {
  const Proposals all = read_proposals(exchange);
  return std::ranges::any_of(all.rounds, [&](const Proposals::Entry& entry) {
    return entry.round.coordinator == round.coordinator && entry.round.proposal.later &&
           entry.round.proposal.later->before == round.id && !abandoned(entry.round, exchange);
  });
}

void await_next(const ProposedRound& round, Exchange& exchange, const StepClock& clock, StepReport& report) {
  if (next_is_proposed(round, exchange)) return;
  const std::uint64_t until = round.proposal.last_day() + kNextRoundWithin;
  if (clock.now() <= until) {
    report.waits.push_back(
        fmt::format("the coordinator's proposal of the next round, until {}", time_text(until)));
    return;
  }
  report.lost = true;
  report.done.push_back(
      fmt::format("no next round was proposed until {}; the charge stays spent", time_text(until)));
}

std::optional<SeenRelease> see_release(const ProposedRound& round, const Sha256Digest& seal,
                                       Exchange& exchange) {
  const std::optional<Message> statement = message_in(exchange, release::release_statement_name(round.id), 0);
  if (!statement) return std::nullopt;
  std::optional<std::string> bytes =
      exchange.get(release::release_name(round.id), round.most_release_bytes());
  if (!bytes) return std::nullopt;
  release::check_release_statement(round, seal, statement->header, *bytes);
  return SeenRelease{std::move(*bytes), statement->header};
}

std::optional<release::AbandonCode> abandoned(const ProposedRound& round, Exchange& exchange) {
  try {
    const auto message = message_in(exchange, release::abandonment_name(round.id), 0);
    if (message) return release::check_abandonment(round, message->header);
  } catch (const ProtocolError&) {  // anybody can put a file there: the status names it
  }
  return std::nullopt;
}

std::string time_text(std::uint64_t seconds) {
  return fmt::format("{:%F %H:%M} UTC", fmt::gmtime(static_cast<std::time_t>(seconds)));
}

std::unique_ptr<privacy::EntropySource> entropy_of(const MakeEntropy& make) {
  return make ? make() : privacy::os_entropy();
}

}  // namespace muffle::round
