#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "muffle/comm/messages.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/hash.hpp"

namespace muffle::comm {
namespace {

using Settings = std::map<std::string, std::string>;

std::string encode(const Settings& settings) {
  std::string out;
  for (const auto& [name, value] : settings) out += name + "=" + value + "\n";
  return out;
}

Settings decode(const std::string& text) {
  Settings out;
  std::istringstream lines(text);
  for (std::string name, value; std::getline(lines, name, '=') && std::getline(lines, value);)
    out[name] = value;
  return out;
}

std::string value_in(const Settings& settings, const std::string& name) {
  const auto found = settings.find(name);
  return found == settings.end() ? "not there" : found->second;
}

/// "features.seed is 1 on rank 0 and 99 on rank 1": for each name the first rank that differs from root.
std::vector<std::string> differences(const std::vector<std::string>& all) {
  std::vector<Settings> ranks;
  std::set<std::string> names;
  for (const std::string& text : all) {
    ranks.push_back(decode(text));
    for (const auto& [name, value] : ranks.back()) names.insert(name);
  }
  std::vector<std::string> out;
  for (const std::string& name : names) {
    const std::string reference = value_in(ranks[0], name);
    for (std::size_t r = 1; r < ranks.size(); ++r) {
      const std::string theirs = value_in(ranks[r], name);
      if (theirs == reference) continue;
      out.push_back(fmt::format("{} is {} on rank 0 and {} on rank {}", name, reference, theirs, r));
      break;
    }
  }
  return out;
}

}  // namespace

void require_same_settings(Messages& comm, const std::map<std::string, std::string>& settings) {
  const std::string mine = encode(settings), my_hash = to_hex(sha256(mine));
  const std::vector<std::string> hashes = comm.all_gather(my_hash);
  // Every rank sees the same hashes: all find a difference, or none does.
  if (std::count(hashes.begin(), hashes.end(), my_hash) == std::ssize(hashes)) return;
  ConfigError error(fmt::format(
      "The ranks were started with different settings: {}. No record was read. Give every rank the "
      "same command line, configuration file and MUFFLE_* variables (mpirun -x exports a variable "
      "to all ranks).",
      fmt::join(differences(comm.all_gather(mine)), "; ")));
  error.mark_agreed(!comm.is_root());
  throw error;
}

}  // namespace muffle::comm
