// Whose messages a server lets in, so that strangers cannot fill its disk. What they say is checked by
// readers.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "muffle/core/container.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/core/message_name.hpp"
#include "muffle/core/watchdog.hpp"
#include "muffle/http/server.hpp"
#include "muffle/release/membership.hpp"
#include "muffle/release/message_names.hpp"

namespace muffle::http {
namespace {

namespace fs = std::filesystem;
using crypto::SitePublicKey;
using release::MessageKind;
using release::SignedHeader;

/// A header with all that it holds is in the first part.
constexpr std::uint64_t kMostHeader = release::kMostBytesOfLists;
constexpr std::uint64_t kMostWords = release::kMostBytesOfWords;
/// Of parties in no charter; of one member, sixteen round keys in each.
constexpr std::size_t kMostCards = 200, kMostRoundKeys = 4, kMostRoundKeysOfAMember = 100;

/// Whether a message of this name may say who takes part, or what a release is.
bool tells(std::string_view name) {
  return name.ends_with("-release.mfm") || release::is_proposal_name(name) ||
         (name.ends_with(".mfm") &&
          (name.starts_with("card-") || name.starts_with("charter-") || name.starts_with("round-keys-")));
}

/// What the folder's messages say. Each file is read once: none is ever replaced.
class Folder {
 public:
  explicit Folder(fs::path folder) : folder_(std::move(folder)) {}

  std::optional<Refusal> refusal(const Arriving& m) {
    look();
    if (m.name.ends_with(".mfl")) return of_release(m);
    try {
      const SignedHeader header = release::parse_message_start(m.beginning, m.size, m.name);
      if (revoked_.contains(header.sender))
        return Refusal{403, "the coordinator has revoked its sender's key."};
      if (!is_called(m.name, header))
        return Refusal{403, "its name is not that of such a message by its sender."};
      return header.round == crypto::RoundId{} ? of_membership(m, header) : of_round(m, header);
    } catch (const ProtocolError& e) {
      return Refusal{400, e.what()};
    }
  }

 private:
  struct Round {
    crypto::RoundId id{};
    SitePublicKey coordinator{};
    std::set<SitePublicKey> parties;
    std::set<SitePublicKey> may_stand_in;  ///< key holders, where any may be missing
    std::uint64_t length = 0, most_release_bytes = 0;
  };

  static std::optional<Refusal> within(std::uint64_t size, std::uint64_t most) {
    if (size <= most) return std::nullopt;
    return Refusal{413, fmt::format("it has {} bytes, and such a message has {} at most.", size, most)};
  }

  std::optional<Refusal> of_membership(const Arriving& m, const SignedHeader& header) const {
    const bool member = members_.contains(header.sender);
    const auto charter = charters_.find(header.answers);
    switch (header.kind) {
      case MessageKind::kCharter:
      case MessageKind::kProposal:
        if (!coordinators_.contains(header.sender))
          return Refusal{
              403, "its sender has no charter here: who runs the server puts the first one into the folder."};
        return within(m.size, kMostHeader);
      case MessageKind::kCard:
        if (!member && cards_.size() >= kMostCards)
          return Refusal{403, "too many cards of parties in no charter are here: ask the coordinator."};
        return within(m.size, kMostWords);
      case MessageKind::kRoundKeys:
        if (!member && !cards_.contains(header.sender)) return Refusal{403, "its sender's card is not here."};
        if (const auto n = round_keys_.find(header.sender);
            n != round_keys_.end() && n->second >= (member ? kMostRoundKeysOfAMember : kMostRoundKeys))
          return Refusal{403, "its sender has put many round keys here already."};
        return within(m.size, kMostWords);
      case MessageKind::kCountersignature:
        if (!member) return Refusal{403, "its sender is in no charter that is here."};
        if (charter == charters_.end() ||
            m.name != release::countersignature_name(charter->second, header.sender))
          return Refusal{403, "the charter that it accepts is not here, or has another version."};
        return within(m.size, kMostWords);
      default:
        return Refusal{403, "such a message is of a round."};
    }
  }

  std::optional<Refusal> of_round(const Arriving& m, const SignedHeader& header) const {
    const auto round = rounds_.find(release::short_id(header.round));
    if (round == rounds_.end() || round->second.id != header.round)
      return Refusal{403, "it is of a round whose proposal is not here."};
    const bool asks = header.kind == MessageKind::kStandInRequest;
    const bool stands_in = header.kind == MessageKind::kStandIn;
    const std::set<SitePublicKey>& may = round->second.may_stand_in;
    if ((asks && may.empty()) || (stands_in && !may.contains(header.sender)))
      return Refusal{403, "nobody of its sender's part stands in for others in its round."};
    const bool coordinates = header.kind == MessageKind::kSeal || header.kind == MessageKind::kRelease ||
                             header.kind == MessageKind::kAbandonment || header.kind == MessageKind::kSum ||
                             asks;
    if (coordinates ? header.sender != round->second.coordinator
                    : !round->second.parties.contains(header.sender))
      return Refusal{403, "its sender has no such part in its round."};
    if (header.numbers != 0 && header.numbers != round->second.length)
      return Refusal{
          413, fmt::format("it has {} numbers, and its round has {}.", header.numbers, round->second.length)};
    if (header.numbers > 0) return within(m.size, release::most_bytes(header.numbers));
    return within(m.size, header.kind == MessageKind::kSeal || stands_in ? kMostHeader : kMostWords);
  }

  /// A release is no message: the coordinator's statement beside it says what it is.
  std::optional<Refusal> of_release(const Arriving& m) const {
    const std::string id = m.name.substr(0, 16);
    const auto round = rounds_.find(id);
    const auto stated = stated_.find(id);
    if (round == rounds_.end() || stated == stated_.end() || m.name != id + "-release.mfl")
      return Refusal{403, "no statement of its round's coordinator is here: it comes before the release."};
    if (stated->second != to_hex(m.sha256))
      return Refusal{403, "it is not the release that the coordinator has stated."};
    return within(m.size, round->second.most_release_bytes);
  }

  /// Reads what has come since.
  void look() {
    const WatchedStep step("listing", folder_);
    std::vector<fs::path> fresh;
    std::error_code error;
    for (auto i = fs::directory_iterator(folder_, error); !error && i != fs::directory_iterator();
         i.increment(error)) {
      const std::string name = i->path().filename().string();
      std::error_code gone;
      if (!is_message_name(name) || !tells(name) || !i->is_regular_file(gone) || gone) continue;
      if (read_.insert({name, i->file_size(gone)}).second) fresh.push_back(i->path());
    }
    if (error) throw IoError(fmt::format("cannot list '{}': {}.", folder_.string(), error.message()));
    // A statement counts if its round's proposal is known.
    std::ranges::stable_sort(
        fresh, {}, [](const fs::path& f) { return !release::is_proposal_name(f.filename().string()); });
    for (const fs::path& file : fresh) {
      try {
        note(file);
      } catch (const ProtocolError&) {  // some other file, or one that its readers set aside
      } catch (const ConfigError&) {
      }
    }
  }

  void note(const fs::path& path) {
    const std::string name = path.filename().string();
    InputFile file(path, "a message", "Check the folder.");
    std::string beginning(std::min(file.size(), kMostHeader), '\0');
    for (std::size_t read = 0; read < beginning.size();) {
      const std::size_t more = file.read(std::as_writable_bytes(std::span(beginning)).subspan(read));
      if (more == 0) break;
      read += more;
    }
    const SignedHeader header = release::parse_message_start(beginning, file.size(), name);
    if (!is_called(name, header)) return;
    if (header.kind == MessageKind::kCard) cards_.insert(header.sender);
    if (header.kind == MessageKind::kRoundKeys) ++round_keys_[header.sender];
    if (header.kind == MessageKind::kCharter) {
      const release::Consortium consortium(header, name);
      coordinators_.insert(consortium.coordinator);
      charters_.emplace(consortium.id, consortium.charter.version);
      for (const auto& member : consortium.members) members_.insert(member.key);
      revoked_.insert(consortium.charter.revoked.begin(), consortium.charter.revoked.end());
    }
    if (header.kind == MessageKind::kProposal) {
      const release::ProposedRound round(release::parse_message(beginning, name), name);
      Round& known = rounds_[release::short_id(round.id)];
      known.id = round.id;
      known.coordinator = round.coordinator;
      known.length = round.length;
      known.most_release_bytes = round.most_release_bytes();
      known.parties.insert(header.sender);
      for (const auto& site : round.proposal.sites) known.parties.insert(site.key);
      for (const auto& holder : round.proposal.holders) {
        known.parties.insert(holder.holder.key);
        if (round.shares_keys()) known.may_stand_in.insert(holder.holder.key);
      }
    }
    if (header.kind == MessageKind::kRelease) {
      const std::string id = release::short_id(header.round);
      const auto round = rounds_.find(id);
      const auto digest = header.body.find("release_sha256");
      if (round != rounds_.end() && round->second.coordinator == header.sender &&
          digest != header.body.end() && digest->is_string())
        stated_[id] = digest->get<std::string>();
    }
  }

  fs::path folder_;
  std::set<std::pair<std::string, std::uint64_t>> read_;
  std::set<SitePublicKey> coordinators_, members_, revoked_, cards_;
  std::map<Sha256Digest, std::uint64_t> charters_;  ///< their versions
  std::map<SitePublicKey, std::size_t> round_keys_;
  std::map<std::string, Round> rounds_;        ///< by the first digits of their ids, as names have them
  std::map<std::string, std::string> stated_;  ///< SHA-256 of their releases
};

}  // namespace

Admission known_senders(const fs::path& folder) {
  return
      [known = std::make_shared<Folder>(folder)](const Arriving& message) { return known->refusal(message); };
}

}  // namespace muffle::http
