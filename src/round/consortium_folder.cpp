#include "muffle/round/consortium_folder.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/core/hash.hpp"
#include "muffle/core/text.hpp"
#include "muffle/core/watchdog.hpp"
#include "muffle/crypto/fingerprint.hpp"
#include "muffle/release/message_names.hpp"

namespace muffle::round {
namespace {

namespace fs = std::filesystem;
using release::Consortium;
using release::Message;

/// A file's name goes with what it holds, so that no message counts twice.
void require_name(const std::string& name, const std::string& right) {
  if (name != right) throw ProtocolError(fmt::format("it would be called '{}'.", right));
}

/// Runs `take`; what it refuses is set aside.
template <class Take>
void or_aside(std::vector<SetAside>& aside, const std::string& name, const Take& take) {
  try {
    take();
  } catch (const ProtocolError& error) {
    aside.push_back({name, error.what()});
  } catch (const ConfigError& error) {  // parties or noise that the theorem does not cover
    aside.push_back({name, error.what()});
  }
}

}  // namespace

std::optional<Message> read_message(Exchange& exchange, const std::string& name,
                                    std::optional<std::uint64_t> most) {
  const std::optional<std::string> bytes = exchange.get(name, most.value_or(release::most_bytes(name, 0)));
  if (!bytes) return std::nullopt;
  return release::parse_message(*bytes, name);
}

const Consortium* Membership::newest(const crypto::SitePublicKey& coordinator) const {
  const Consortium* newest = nullptr;
  for (const Consortium& charter : charters) {
    if (charter.coordinator == coordinator &&
        (newest == nullptr || charter.charter.version > newest->charter.version))
      newest = &charter;
  }
  return newest;
}

namespace {

fs::path charters_of(const CharterShelf& shelf) { return shelf.party / "charters"; }

/// Whether a charter goes with one that was seen of the same coordinator, whichever is the older.
/// @throws ProtocolError.
void require_goes_with(const Consortium& charter, const Consortium& seen) {
  const std::uint64_t version = charter.charter.version, other = seen.charter.version;
  if (version == other && charter.id != seen.id)
    throw ProtocolError(fmt::format(
        "another charter {} of this coordinator was seen before: it has signed two. Ask it.", version));
  if (version == other + 1) charter.require_follows(seen);
  if (version + 1 == other) seen.require_follows(charter);
  const Consortium& newer = version > other ? charter : seen;
  const Consortium& older = version > other ? seen : charter;
  for (const crypto::SitePublicKey& key : older.charter.revoked) {
    if (std::ranges::count(newer.charter.revoked, key) == 0)
      throw ProtocolError(fmt::format("charter {} forgets that charter {} has revoked a key.",
                                      newer.charter.version, older.charter.version));
  }
}

/// Reads the files of an exchange that are of no round.
class MembershipReader {
 public:
  explicit MembershipReader(Exchange& exchange) : exchange_(exchange) {}

  /// @param shelf  charters that were seen before; nullptr: none
  Membership read(const CharterShelf* shelf) && {
    for (const std::string& name : exchange_.list()) {
      if (name.starts_with("card-") || name.starts_with("charter-") || name.starts_with("round-keys-"))
        or_aside(out_.set_aside, name, [&] { read_one(name); });
    }
    take_charters(shelf);
    take_countersignatures();
    return std::move(out_);
  }

 private:
  void read_one(const std::string& name) {
    const std::optional<Message> message = read_message(exchange_, name);
    if (!message) return;
    const release::SignedHeader& header = message->header;
    if (header.kind == release::MessageKind::kCountersignature) {
      countersignatures_.emplace_back(name, header);
    } else if (name.starts_with("card-")) {
      (void)release::read_card(header, name);
      require_name(name, release::card_name(header.sender));
      out_.cards.push_back(header);
    } else if (name.starts_with("round-keys-")) {
      require_name(name,
                   release::round_keys_name(header.sender, release::read_round_keys(header, name).first));
      out_.round_keys.push_back(header);
    } else {
      Consortium charter(header, name);
      require_name(name, release::charter_name(charter.charter.version));
      charters_.push_back({name, header, std::move(charter)});
    }
  }

  void take_charters(const CharterShelf* shelf) {
    std::vector<Consortium> seen;
    if (shelf != nullptr) {
      for (const release::SignedHeader& header : kept_charters(*shelf))
        seen.emplace_back(header, "a charter that was kept");
    }
    std::ranges::sort(charters_, {}, [](const Charter& c) { return c.consortium.charter.version; });
    for (Charter& c : charters_) {
      or_aside(out_.set_aside, c.name, [&] {
        const std::uint64_t version = c.consortium.charter.version;
        const auto before = std::ranges::find(out_.charters, version - 1,
                                              [](const Consortium& one) { return one.charter.version; });
        if (before != out_.charters.end()) c.consortium.require_follows(*before);
        if (shelf != nullptr && c.consortium.coordinator == shelf->coordinator) {
          for (const Consortium& one : seen) require_goes_with(c.consortium, one);
          if (std::ranges::count(seen, c.consortium.id, &Consortium::id) > 0) return;
          keep_charter(*shelf, c.header);
          seen.push_back(std::move(c.consortium));
        } else {
          out_.charters.push_back(std::move(c.consortium));
        }
      });
    }
    std::ranges::move(seen, std::back_inserter(out_.charters));
    std::ranges::stable_sort(out_.charters, {}, [](const Consortium& c) { return c.charter.version; });
  }

  void take_countersignatures() {
    for (const auto& entry : countersignatures_) {
      or_aside(out_.set_aside, entry.first, [&] {
        const auto charter = std::ranges::find(out_.charters, entry.second.answers, &Consortium::id);
        if (charter == out_.charters.end())
          throw ProtocolError("the charter that it countersigns is not there.");
        (void)release::check_countersignature(*charter, entry.second);
        require_name(entry.first,
                     release::countersignature_name(charter->charter.version, entry.second.sender));
        out_.countersignatures.push_back(entry.second);
      });
    }
  }

  struct Charter {
    std::string name;
    release::SignedHeader header;
    Consortium consortium;
  };
  Exchange& exchange_;
  Membership out_;
  std::vector<Charter> charters_;
  std::vector<std::pair<std::string, release::SignedHeader>> countersignatures_;
};

}  // namespace

Membership read_membership(Exchange& exchange) { return MembershipReader(exchange).read(nullptr); }

Membership read_membership(Exchange& exchange, const CharterShelf& shelf) {
  return MembershipReader(exchange).read(&shelf);
}

std::vector<release::SignedHeader> kept_charters(const CharterShelf& shelf) {
  const fs::path folder = charters_of(shelf);
  const WatchedStep step("listing", folder);
  std::vector<std::pair<std::uint64_t, release::SignedHeader>> charters;
  std::error_code error;
  if (!fs::exists(folder, error) && !error) return {};
  for (auto i = fs::directory_iterator(folder, error); !error && i != fs::directory_iterator();
       i.increment(error)) {
    const std::string file = i->path().string();
    if (!i->path().filename().string().starts_with("charter-")) continue;  // half of one, after a crash
    release::SignedHeader header =
        release::parse_message(read_file(file, release::kMostBytesOfLists), file).header;
    if (header.sender != shelf.coordinator) continue;  // of one that was pinned before
    const std::uint64_t version = Consortium(header, file).charter.version;
    charters.emplace_back(version, std::move(header));
  }
  if (error) throw IoError(fmt::format("cannot list '{}': {}.", folder.string(), error.message()));
  std::ranges::sort(charters, {}, [](const auto& c) { return c.first; });
  std::vector<release::SignedHeader> out;
  for (auto& charter : charters) out.push_back(std::move(charter.second));
  return out;
}

void keep_charter(const CharterShelf& shelf, const release::SignedHeader& charter) {
  const fs::path folder = charters_of(shelf);
  ensure_writable_folder(folder);
  const std::uint64_t version = Consortium(charter, "a charter").charter.version;
  write_file_atomically(
      folder / fmt::format("charter-{}-{}.mfm", version, crypto::short_fingerprint(shelf.coordinator)),
      release::message_bytes(charter));
}

Proposals read_proposals(Exchange& exchange) {
  Proposals out;
  for (const std::string& name : exchange.list()) {
    if (!release::is_proposal_name(name)) continue;
    or_aside(out.set_aside, name, [&] {
      const std::optional<Message> message = read_message(exchange, name);
      if (!message) return;
      release::ProposedRound round(*message, name);
      require_name(name, release::proposal_name(round.id));
      out.rounds.push_back({name, std::move(round)});
    });
  }
  return out;
}

release::ProposedRound find_round(Exchange& exchange, const std::string& digits) {
  constexpr std::size_t kLeastDigits = 4;
  const bool hex = digits.size() <= 64 && is_hex(digits, digits.size());
  if (!digits.empty() && (!hex || digits.size() < kLeastDigits))
    throw UsageError(fmt::format(
        "'{}' names no round: give {} or more of the hexadecimal digits that `muffle round status` shows.",
        printable(digits), kLeastDigits));
  Proposals all = read_proposals(exchange);
  const std::string wanted = digits.substr(0, 16);
  std::vector<release::ProposedRound> found;
  std::vector<std::string> ids;
  for (Proposals::Entry& entry : all.rounds) {
    const std::string id = to_hex(entry.round.id);
    ids.push_back(id.substr(0, 16));
    if (id.starts_with(digits)) found.push_back(std::move(entry.round));
  }
  if (found.size() == 1) return std::move(found.front());
  for (const SetAside& aside : all.set_aside) {
    if (!wanted.empty() && aside.name.starts_with(wanted))
      throw ProtocolError(fmt::format("'{}' is no proposal that muffle can use: {}", aside.name, aside.why));
  }
  if (ids.empty()) {
    std::string others;
    for (const SetAside& aside : all.set_aside)
      others += fmt::format(" '{}' was set aside: {}", aside.name, aside.why);
    if (!others.empty())
      throw ProtocolError("there is no proposal in the exchange that muffle can use." + others);
    throw UsageError("there is no proposal in the exchange yet.");
  }
  throw UsageError(
      fmt::format("{}: {}. Say which round is meant by the first digits of its id.",
                  found.empty() ? "none of the rounds begins like that" : "there are several rounds",
                  fmt::join(ids, ", ")));
}

}  // namespace muffle::round
