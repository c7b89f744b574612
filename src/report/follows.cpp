#include "follows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace muffle::report {
namespace {

constexpr double kDecides = 0.98, kDecidesNoMore = 0.95;
/// Of V in few bins: below it nothing is looked at value by value.
constexpr double kStrongPair = 0.6;
/// The same of two categories, of which the map draws the 16 most frequent alone.
constexpr double kStrongCategories = 0.3;
constexpr std::size_t kMostLostNamed = 6, kMostRowsFollowed = 20'000, kFewestRowsAValue = 20;

/// Names of pairs, the first few.
class Named {
 public:
  void add(const std::string& one, const char* how, const std::string& other) {
    if (count_++ < kMostLostNamed)
      text_ += fmt::format("{}'{}' {} '{}'", text_.empty() ? "" : ", ", one, how, other);
  }
  bool empty() const { return count_ == 0; }
  std::string text() const {
    return text_ + (count_ > kMostLostNamed ? fmt::format(" and {} more", count_ - kMostLostNamed) : "");
  }

 private:
  std::string text_;
  std::size_t count_ = 0;
};

/// Of two columns by raw values: whether the one follows from the other in the real rows alone.
bool is_lost(const Rows& real, const Rows& samples, std::size_t one, std::size_t from) {
  const auto some = [](const Rows& rows, std::size_t j) {
    std::vector<double> out;
    for (const std::size_t i : some_rows(rows.size(), kMostRowsFollowed)) out.push_back(rows.values[j][i]);
    return out;
  };
  return follows(some(real, one), some(real, from)).value_or(0.0) >= kDecides &&
         follows(some(samples, one), some(samples, from)).value_or(1.0) < kDecidesNoMore;
}

}  // namespace

std::optional<double> follows(const std::vector<double>& one, const std::vector<double>& from) {
  const auto place = [](double v) { return std::isnan(v) ? std::numeric_limits<double>::infinity() : v; };
  std::vector<std::pair<double, double>> rows;
  for (std::size_t i = 0; i < one.size(); ++i) rows.emplace_back(place(from[i]), place(one[i]));
  std::sort(rows.begin(), rows.end());
  std::size_t values = 0, kept = 0;
  for (std::size_t i = 0; i < rows.size();) {
    std::size_t most = 0, end = i;
    while (end < rows.size() && rows[end].first == rows[i].first) {
      std::size_t same = end;
      while (same < rows.size() && rows[same] == rows[end]) ++same;
      most = std::max(most, same - end);
      end = same;
    }
    kept += most;
    ++values;
    i = end;
  }
  if (values * kFewestRowsAValue > rows.size()) return std::nullopt;
  return static_cast<double>(kept) / static_cast<double>(rows.size());
}

std::vector<std::string> lost_dependencies(const Rows& real, const Rows& samples,
                                           const std::vector<TableScores::Pair>& pairs) {
  Named categories, numbers, ranks;
  for (const TableScores::Pair& p : pairs) {
    const Column &a = real.columns[p.a], &b = real.columns[p.b];
    const bool of_categories = !a.is_number && !b.is_number;
    if (of_categories && p.v_real >= kDecides && p.v_made < kDecidesNoMore) {
      categories.add(a.name, "and", b.name);
    } else if (p.rank_real && std::fabs(*p.rank_real) >= kDecides &&
               std::fabs(*p.rank_made) < kDecidesNoMore) {
      ranks.add(a.name, "and", b.name);
    } else if (p.v_real >= (of_categories ? kStrongCategories : kStrongPair)) {
      for (const auto& [one, from] : {std::pair(p.a, p.b), std::pair(p.b, p.a)}) {
        // A column of one value follows from everything.
        if (follows(real.values[one], std::vector<double>(real.size(), 0.0)).value_or(1.0) < kDecides &&
            is_lost(real, samples, one, from)) {
          (of_categories ? categories : numbers).add(real.columns[one].name, "from", real.columns[from].name);
          break;
        }
      }
    }
  }
  std::vector<std::string> out;
  if (!categories.empty())
    out.push_back(
        "In the real rows one column all but decides the other, and in the synthetic ones it does not: " +
        categories.text() +
        ". If that is public knowledge, `[[combinations]]` or `determined_by` in the schema keeps it "
        "in every row, and spends no noise on it.");
  if (!numbers.empty())
    out.push_back(
        "In the real rows a number follows from another column, or that from the number, and in the "
        "synthetic ones it does not: " +
        numbers.text() +
        ". If that is public knowledge, declare the number as categories (its values in order), and "
        "`determined_by` keeps it in every row; or leave one of the two out and add it afterwards.");
  if (!ranks.empty())
    out.push_back(
        "Numbers that go up and down together in the real rows, and less so in the synthetic ones: " +
        ranks.text() +
        ". If one is computed from the other, release one of them alone (dates: `derive`, `since`), or "
        "say so by a rule (`[[constraints]]`, kind `sum` or `compare`).");
  return out;
}

}  // namespace muffle::report
