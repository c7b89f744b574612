#include "muffle/round/sync.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"

namespace muffle::round {
namespace {

constexpr char kFolder[] = "exchange";
/// More than any message has: what a message may have depends on its round, and is its reader's business.
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 36;

/// A party's signed statement before what it speaks of (.mfm before .mfl), a proposal before what answers it.
std::vector<std::string> in_order(std::vector<std::string> names) {
  const auto rank = [](const std::string& name) {
    return name.ends_with(".mfl")                                                      ? 2
           : name.find("proposal") != std::string::npos || name.starts_with("charter") ? 0
                                                                                       : 1;
  };
  std::ranges::stable_sort(names, {}, rank);
  return names;
}

void carry(Exchange& from, Exchange& to, const std::vector<std::string>& names,
           std::vector<std::string>& carried, std::vector<std::string>& refused) {
  for (const std::string& name : in_order(names)) {
    try {
      const auto bytes = from.get(name, kMostBytes);
      if (!bytes) continue;
      to.put(name, *bytes);
      carried.push_back(name);
    } catch (const ProtocolError& e) {
      refused.emplace_back(e.what());
    }
  }
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
  carry(remote, local, missing(there, here), out.fetched, refused);
  carry(local, remote, missing(here, there), out.sent, refused);
  std::vector<std::string> on_both, same;
  std::ranges::copy_if(own, std::back_inserter(on_both), [&](const std::string& name) {
    return std::ranges::binary_search(here, name) && std::ranges::binary_search(there, name);
  });
  carry(local, remote, on_both, same, refused);  // the same bytes again are no error, others are
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
