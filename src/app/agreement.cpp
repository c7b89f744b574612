#include <fmt/format.h>

#include <set>

#include "muffle/app/commands.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/hash.hpp"

namespace muffle::app {

void require_same_config(comm::HostComm& comm, const Config& config) {
  std::string mine;
  for (const auto& [key, value] : flatten(config)) mine += key + "=" + value + "\n";
  const std::string my_hash = to_hex(sha256(mine));
  bool same = true;
  for (const std::string& hash : comm.all_gather(my_hash)) same = same && hash == my_hash;
  // Every rank compares all hashes with its own, so all see a difference or none does... unless two groups
  // differ; the maximum settles it for all.
  std::int64_t differs = same ? 0 : 1;
  comm.all_reduce_max(std::span(&differs, 1));
  if (differs == 0) return;

  const std::vector<std::string> all = comm.all_gather(mine);
  const auto parse = [](const std::string& text) {
    std::map<std::string, std::string> out;
    std::size_t at = 0;
    while (at < text.size()) {
      const std::size_t end = text.find('\n', at), equals = text.find('=', at);
      if (end == std::string::npos || equals == std::string::npos || equals > end) break;
      out[text.substr(at, equals - at)] = text.substr(equals + 1, end - equals - 1);
      at = end + 1;
    }
    return out;
  };
  const auto reference = parse(all[0]);
  std::vector<std::string> differences;
  for (const auto& [key, value] : reference) {
    for (std::size_t r = 1; r < all.size(); ++r) {
      const auto other = parse(all[r]);
      const auto it = other.find(key);
      const std::string theirs = it == other.end() ? "(missing)" : it->second;
      if (theirs != value) {
        differences.push_back(fmt::format("{} is {} on rank 0 and {} on rank {}", key, value, theirs, r));
        break;
      }
    }
  }
  ConfigError error(
      fmt::format("The ranks were started with different configurations: {}. Nothing was read. Give every "
                  "rank the same file, --set "
                  "and MUFFLE_* variables (mpirun -x exports a variable to all ranks).",
                  fmt::join(differences, "; ")));
  error.mark_agreed(!comm.is_root());
  throw error;
}

}  // namespace muffle::app
