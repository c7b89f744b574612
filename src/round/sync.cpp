#include "muffle/round/sync.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <optional>

#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/release/message_names.hpp"
#include "muffle/round/consortium_folder.hpp"

namespace muffle::round {
namespace {

constexpr char kFolder[] = "exchange";
/// Of what is this party's own, and lies on its own disk.
constexpr std::uint64_t kAnySize = std::uint64_t{1} << 36;

/// A charter and a proposal before what rests on them; a statement (.mfm) before what it speaks of (.mfl).
int order_of(const std::string& name) {
  if (name.starts_with("charter") || release::is_proposal_name(name)) return 0;
  return name.ends_with(".mfl") ? 2 : 1;
}

/// The most bytes that a message of this name may have, by the proposals that are known.
using Most = std::function<std::uint64_t(const std::string& name)>;

void carry(Exchange& from, Exchange& to, std::vector<std::string> names, const Most& most,
           std::vector<std::string>& carried, std::vector<std::string>& refused) {
  std::ranges::stable_sort(names, {}, order_of);
  for (const std::string& name : names) {
    try {
      const auto bytes = from.get(name, most(name));
      if (!bytes) continue;
      to.put(name, *bytes);
      carried.push_back(name);
    } catch (const ProtocolError& e) {
      refused.emplace_back(e.what());
    }
  }
}

/// What a server may send: it may be anybody's, and memory is this party's.
std::uint64_t most_by(const Proposals& proposals, const std::string& name) {
  const auto round = std::ranges::find_if(
      proposals.rounds, [&](const Proposals::Entry& e) { return release::is_of_round(name, e.round.id); });
  return kMostMemberBytes + (round == proposals.rounds.end() ? 0 : release::most_bytes(round->round.length));
}

std::vector<std::string> missing(const std::vector<std::string>& all, const std::vector<std::string>& here) {
  std::vector<std::string> out;
  std::ranges::set_difference(all, here, std::back_inserter(out));
  return out;
}

}  // namespace

Synced synchronise(Exchange& local, Exchange& remote, const std::vector<std::string>& own) {
  const std::vector<std::string> there = remote.list(), here = local.list();
  Synced out;
  std::vector<std::string> refused;
  std::optional<Proposals> proposals;  // read once those that are new are here
  carry(
      remote, local, missing(there, here),
      [&](const std::string& name) {
        if (order_of(name) == 0) return kMostMemberBytes;
        if (!proposals) proposals = read_proposals(local);
        return most_by(*proposals, name);
      },
      out.fetched, refused);
  const Most any = [](const std::string&) { return kAnySize; };
  carry(local, remote, missing(here, there), any, out.sent, refused);
  std::vector<std::string> on_both, same;
  std::ranges::copy_if(own, std::back_inserter(on_both), [&](const std::string& name) {
    return std::ranges::binary_search(here, name) && std::ranges::binary_search(there, name);
  });
  carry(local, remote, on_both, any, same, refused);  // the same bytes again are no error, others are
  if (!refused.empty())
    throw ProtocolError(fmt::format("{} messages were fetched and {} sent; {} were not taken: {}",
                                    out.fetched.size(), out.sent.size(), refused.size(),
                                    fmt::join(refused, " / ")));
  return out;
}

std::string working_exchange(const std::filesystem::path& party, const std::string& address) {
  if (!http::is_address(address)) return address;
  const std::filesystem::path folder = party / kFolder;
  ensure_writable_folder(folder);
  return folder.string();
}

}  // namespace muffle::round
