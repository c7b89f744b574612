#include "muffle/round/sync.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <map>
#include <set>

#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/core/hash.hpp"
#include "muffle/core/text.hpp"
#include "muffle/crypto/fingerprint.hpp"
#include "muffle/release/message_names.hpp"
#include "muffle/round/step.hpp"
#include "role_parts.hpp"

namespace muffle::round {
namespace {

using release::Message;

constexpr char kFolder[] = "exchange";
/// Of what is this party's own, and lies on its own disk.
constexpr std::uint64_t kAnySize = std::uint64_t{1} << 36;
/// So many are named one by one.
constexpr std::size_t kMostNamed = 20;

/// A charter and a proposal before what rests on them; a statement (.mfm) before what it speaks of (.mfl).
/// What ends a round comes early: should not all be fetched, it has to be known before anything is sent.
int order_of(const std::string& name) {
  if (name.starts_with("charter") || release::is_proposal_name(name)) return 0;
  if (name.ends_with("-abandonment.mfm")) return 1;
  return name.ends_with(".mfl") ? 3 : 2;
}

bool is_of_no_round(std::string_view name) {
  return name.starts_with("card-") || name.starts_with("charter-") || name.starts_with("round-keys-");
}

std::vector<std::string> missing(const std::vector<std::string>& all, const std::vector<std::string>& here) {
  std::vector<std::string> out;
  std::ranges::set_difference(all, here, std::back_inserter(out));
  return out;
}

class Synchronisation {
 public:
  Synchronisation(Exchange& local, Exchange& remote, const SyncLimits& limits)
      : local_(local), remote_(remote), limits_(limits), here_(local.list()), there_(remote.list()) {}

  Synced run(const std::vector<std::string>& own) && {
    std::vector<std::string> names = missing(there_, here_);
    std::ranges::stable_sort(names, {}, order_of);
    known_ = static_cast<std::size_t>(std::ranges::count_if(here_, [](const std::string& name) {
      return is_of_no_round(name) || release::is_proposal_name(name);
    }));
    for (const std::string& name : names) {
      if (!time_left()) break;
      or_refused(out_.refused, name, [&] { fetch(name); });
    }
    const std::vector<std::string> to_send = missing(here_, there_);
    const std::set<std::string> stays = to_send.empty() ? std::set<std::string>() : of_abandoned_rounds();
    for (const std::string& name : to_send) {
      if (stays.contains(name)) {
        out_.held.push_back(name);
      } else if (release::is_name_of_ours(name)) {
        or_refused(out_.refused, name, [&] { send(name, out_.sent); });
      }
    }
    std::vector<std::string> same;
    for (const std::string& name : own) {  // the same bytes again are no error, others are
      if (std::ranges::binary_search(here_, name) && std::ranges::binary_search(there_, name))
        or_refused(out_.conflicts, name, [&] { send(name, same); });
    }
    return std::move(out_);
  }

 private:
  struct Known {
    std::uint64_t most = 0;  ///< bytes
    bool wanted = true;
  };

  template <class Action>
  static void or_refused(std::vector<SetAside>& refused, const std::string& name, const Action& action) {
    try {
      action();
    } catch (const ProtocolError& e) {
      refused.push_back({name, e.what()});
    }
  }

  bool time_left() {
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begun_;
    if (taken.count() <= limits_.seconds && bytes_ <= limits_.bytes) return true;
    out_.unfinished =
        fmt::format("more than {} was to be fetched at once: the rest is left to the next time.",
                    bytes_ > limits_.bytes ? fmt::format("{} bytes", limits_.bytes)
                                           : fmt::format("{} s", limits_.seconds));
    return false;
  }

  /// What comes of records or round keys, and was for a round that its coordinator has given up.
  std::set<std::string> of_abandoned_rounds() {
    std::set<std::string> out;
    for (const Proposals::Entry& entry : read_proposals(local_).rounds) {
      const release::ProposedRound& round = entry.round;
      if (!abandoned(round, find(local_, wanted(release::abandonment_name(round.id))))) continue;
      for (const crypto::SignerKey& site : round.proposal.sites)
        out.insert(release::contribution_name(round.id, site.key));
      for (const release::HolderKey& h : round.proposal.holders) {
        out.insert(release::opening_name(round.id, h.holder.key));
        out.insert(release::stand_in_name(round.id, h.holder.key));
      }
    }
    return out;
  }

  void send(const std::string& name, std::vector<std::string>& sent) {
    const auto bytes = local_.get(name, kAnySize);
    if (!bytes) return;
    remote_.put(name, *bytes);
    sent.push_back(name);
  }

  void fetch(const std::string& name) {
    if (!release::is_name_of_ours(name)) throw ProtocolError("no message is called so.");
    const Known known = known_as(name);
    if (!known.wanted) {
      ++out_.left;
      return;
    }
    const auto bytes = remote_.get(name, known.most);
    if (!bytes) return;
    bytes_ += bytes->size();
    if (name.ends_with(".mfl")) {
      require_stated(name, *bytes);
    } else {
      require_message(name, *bytes);
    }
    local_.put(name, *bytes);
    if (is_of_no_round(name) || release::is_proposal_name(name)) ++known_;
    out_.fetched.push_back(name);
  }

  /// That somebody else has countersigned a charter only the coordinator asks: n of them, for each of n
  /// sites.
  bool is_anothers_acceptance(const std::string& name) const {
    if (!limits_.reader || !name.starts_with("charter-") || std::ranges::count(name, '-') != 2) return false;
    return !name.ends_with("-" + crypto::short_fingerprint(*limits_.reader) + ".mfm");
  }

  /// @throws ProtocolError  it is of nothing that is known here.
  Known known_as(const std::string& name) {
    if (is_of_no_round(name) || release::is_proposal_name(name)) {
      if (known_ >= limits_.messages)
        throw ProtocolError(fmt::format(
            "{} cards, charters, keys and proposals lie here, and no more are taken.", limits_.messages));
      return {order_of(name) == 0 ? release::kMostBytesOfLists : release::kMostBytesOfWords,
              !is_anothers_acceptance(name)};
    }
    if (!rounds_) read_rounds();
    const auto found = rounds_->find(name);
    if (found == rounds_->end())
      throw ProtocolError("it is of no round of the pinned coordinator's that is here, or of nobody in it.");
    return found->second;
  }

  /// What every message of the known rounds is called, and how large it may be.
  void read_rounds() {
    rounds_.emplace();
    if (!limits_.coordinator) return;
    for (const Proposals::Entry& entry : read_proposals(local_).rounds) {
      const release::ProposedRound& round = entry.round;
      if (round.coordinator != *limits_.coordinator) continue;
      for (const auto& [name, most] : release::messages_of(round))
        rounds_->emplace(name, Known{most, !limits_.reader || release::is_for(*limits_.reader, round, name)});
    }
  }

  void require_message(const std::string& name, const std::string& bytes) const {
    const release::SignedHeader header = release::parse_message(bytes, name).header;
    if (!release::is_called(name, header))
      throw ProtocolError(
          fmt::format("it is another message than its name says, a {}.", name_of(header.kind)));
    if (release::is_proposal_name(name) && limits_.coordinator && header.sender != *limits_.coordinator)
      throw ProtocolError("it is of another coordinator than the one that is pinned.");
  }

  /// A release is no message: its coordinator's statement says which bytes it is.
  void require_stated(const std::string& name, const std::string& bytes) const {
    const std::string statement = name.substr(0, name.size() - 1) + "m";
    const auto said = local_.get(statement, release::kMostBytesOfWords);
    if (said) {
      const release::SignedHeader header = release::parse_message(*said, statement).header;
      if (header.sender == limits_.coordinator && header.body.is_object() &&
          header.body.value("release_sha256", nlohmann::json()) == to_hex(sha256(PublicBytes(bytes))))
        return;
    }
    throw ProtocolError("it is not the release that the coordinator has stated.");
  }

  Exchange& local_;
  Exchange& remote_;
  const SyncLimits& limits_;
  const std::vector<std::string> here_, there_;
  const std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
  std::size_t known_ = 0;
  std::uint64_t bytes_ = 0;
  std::optional<std::map<std::string, Known>> rounds_;  // read once those that are new are here
  Synced out_;
};

std::string named(const std::vector<SetAside>& all) {
  std::string out;
  for (std::size_t i = 0; i < std::min(all.size(), kMostNamed); ++i)
    out += fmt::format("not taken  {}: {}\n", printable(all[i].name), printable(all[i].why));
  if (all.size() > kMostNamed) out += fmt::format("not taken  {} more\n", all.size() - kMostNamed);
  return out;
}

}  // namespace

Synced synchronise(Exchange& local, Exchange& remote, const std::vector<std::string>& own,
                   const SyncLimits& limits) {
  return Synchronisation(local, remote, limits).run(own);
}

std::string in_words(const Synced& synced) {
  std::string out;
  for (const std::string& name : synced.fetched) out += fmt::format("fetched  {}\n", name);
  for (const std::string& name : synced.sent) out += fmt::format("sent     {}\n", name);
  for (const std::string& name : synced.held)
    out += fmt::format("held back  {}: its round is abandoned, and what has not left stays\n", name);
  out += named(synced.conflicts) + named(synced.refused);
  if (!synced.unfinished.empty()) out += synced.unfinished + "\n";
  return out;
}

std::string working_exchange(const std::filesystem::path& party, const std::string& address) {
  if (!is_far(address)) return address;
  const std::filesystem::path folder = party / kFolder;
  ensure_writable_folder(folder);
  return folder.string();
}

}  // namespace muffle::round
