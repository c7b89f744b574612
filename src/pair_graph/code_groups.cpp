#include "code_groups.hpp"

#include <algorithm>
#include <cstddef>
#include <numeric>

namespace muffle::pair_graph {
namespace {

constexpr std::uint32_t kNone = ~std::uint32_t{0};

struct Group {
  Steps records;
  std::uint32_t bound = 0;  ///< the group that it stays within
  std::vector<std::size_t> codes;
};

}  // namespace

Groups codes_themselves(std::size_t codes) {
  Groups out(codes);
  std::iota(out.begin(), out.end(), 0u);
  return out;
}

std::size_t group_count(const Groups& groups) {
  return groups.empty() ? 0 : 1 + *std::max_element(groups.begin(), groups.end());
}

Groups merged_codes(const std::vector<Steps>& counts, const Steps& least, const Groups& within,
                    Comparisons& compare) {
  const std::size_t codes = counts.size();
  std::vector<Group> groups;
  for (std::size_t x = 0; x < codes; ++x) groups.push_back({counts[x], within[x], {x}});
  std::vector<bool> whole(codes, false);  // nothing is left to merge with
  for (;;) {
    // Smallest groups first; equal ones in the order of their codes.
    std::size_t least_at = groups.size();
    for (std::size_t g = 0; g < groups.size(); ++g) {
      if (!whole[g] && compare.less(groups[g].records, least) &&
          (least_at == groups.size() || compare.less(groups[g].records, groups[least_at].records)))
        least_at = g;
    }
    if (least_at == groups.size()) break;
    std::size_t partner = groups.size();
    for (std::size_t g = 0; g < groups.size(); ++g) {
      if (g == least_at || groups[g].bound != groups[least_at].bound) continue;
      if (g + 1 != least_at && g != least_at + 1) continue;
      if (partner == groups.size() || compare.less(groups[g].records, groups[partner].records)) partner = g;
    }
    if (partner == groups.size()) {
      whole[least_at] = true;
      continue;
    }
    const std::size_t to = std::min(least_at, partner), from = std::max(least_at, partner);
    groups[to].records += groups[from].records;
    groups[to].codes.insert(groups[to].codes.end(), groups[from].codes.begin(), groups[from].codes.end());
    groups.erase(groups.begin() + static_cast<std::ptrdiff_t>(from));
    whole.erase(whole.begin() + static_cast<std::ptrdiff_t>(from));
  }
  Groups out(codes, kNone);
  std::uint32_t next = 0;
  for (std::size_t x = 0; x < codes; ++x) {
    if (out[x] != kNone) continue;
    const auto owner = std::find_if(groups.begin(), groups.end(), [&](const Group& group) {
      return std::find(group.codes.begin(), group.codes.end(), x) != group.codes.end();
    });
    for (const std::size_t y : owner->codes) out[y] = next;
    ++next;
  }
  return out;
}

}  // namespace muffle::pair_graph
