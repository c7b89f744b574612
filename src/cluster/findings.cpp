#include "findings.hpp"

#include <fmt/format.h>

#include <map>

namespace muffle::cluster {

std::vector<int> ranks_where(const Facts& ranks, const std::function<bool(const RankFacts&)>& holds) {
  std::vector<int> out;
  for (const RankFacts& f : ranks) {
    if (holds(f)) out.push_back(f.rank);
  }
  return out;
}

std::string groups(const Facts& ranks, const std::function<std::string(const RankFacts&)>& value) {
  std::map<std::string, std::vector<int>> by_value;
  for (const RankFacts& f : ranks) by_value[value(f)].push_back(f.rank);
  std::vector<std::string> parts;
  for (const auto& [text, who] : by_value)
    parts.push_back(fmt::format("{} on rank{} {}", text, who.size() == 1 ? "" : "s", fmt::join(who, ", ")));
  return fmt::format("{}", fmt::join(parts, "; "));
}

bool all_equal(const Facts& ranks, const std::function<std::string(const RankFacts&)>& value) {
  return std::all_of(ranks.begin(), ranks.end(),
                     [&](const RankFacts& f) { return value(f) == value(ranks.front()); });
}

}  // namespace muffle::cluster
