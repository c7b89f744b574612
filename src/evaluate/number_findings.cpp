#include "number_findings.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "muffle/core/ranks.hpp"
#include "number_values.hpp"

namespace muffle::evaluate {
namespace {

constexpr std::uint64_t kMostRowsOfNumbers = 20'000;
constexpr std::size_t kMostNumbers = 120, kMostRankPairs = 500, kRankPairsAtATerminal = 5, kCurvePoints = 33;
constexpr double kQuantiles[] = {0.05, 0.5, 0.95};
constexpr const char* kQuantileNames[] = {"5 %", "median", "95 %"};
constexpr const char* kQuantileFields[] = {"quantile_05", "median", "quantile_95"};

using Values = std::vector<std::vector<double>>;

/// Of one column, its missing values left out.
struct InOrder {
  explicit InOrder(const std::vector<double>& values) {
    std::copy_if(values.begin(), values.end(), std::back_inserter(sorted),
                 [](double v) { return !std::isnan(v); });
    std::sort(sorted.begin(), sorted.end());
  }
  double quantile(double share) const {
    return sorted[std::min(sorted.size() - 1,
                           static_cast<std::size_t>(share * static_cast<double>(sorted.size())))];
  }
  double mean() const {
    double sum = 0;
    for (const double v : sorted) sum += v;
    return sum / static_cast<double>(sorted.size());
  }
  double deviation() const {
    const double middle = mean();
    double squares = 0;
    for (const double v : sorted) squares += (v - middle) * (v - middle);
    return std::sqrt(squares / static_cast<double>(sorted.size()));
  }
  /// The share of values that are no greater.
  double share_up_to(double value) const {
    return static_cast<double>(std::upper_bound(sorted.begin(), sorted.end(), value) - sorted.begin()) /
           static_cast<double>(sorted.size());
  }

  std::vector<double> sorted;
};

/// Synthetic and real, side by side: mean, deviation, quantiles.
FoundTable table_of_numbers(const std::vector<NumberColumn>& numbers, const Values& made, const Values& real,
                            const Fineness& fine) {
  FoundTable table{"numbers", {}, {}, 0};
  for (const char* what : {"mean", "deviation", kQuantileNames[0], kQuantileNames[1], kQuantileNames[2]}) {
    table.columns.emplace_back(what);
    table.columns.push_back(std::string("real: ") + what);
  }
  for (std::size_t k = 0; k < numbers.size(); ++k) {
    const InOrder ours(made[k]), theirs(real[k]);
    if (numbers[k].text.column().is_temporal() || ours.sorted.empty() || theirs.sorted.empty()) continue;
    const std::string& name = numbers[k].name();
    FoundTable::Row row{name, {}};
    const auto add = [&](double synthetic, double of_real, const std::string& field) {
      row.cells.push_back(fine.number_cell(synthetic, {"marginals", "numbers", "columns", name, field}));
      row.cells.push_back(
          fine.number_cell(of_real, {"marginals", "numbers", "columns", name, field + "_of_real"}));
    };
    add(ours.mean(), theirs.mean(), "mean");
    add(ours.deviation(), theirs.deviation(), "deviation");
    for (std::size_t q = 0; q < std::size(kQuantiles); ++q)
      add(ours.quantile(kQuantiles[q]), theirs.quantile(kQuantiles[q]), kQuantileFields[q]);
    table.rows.push_back(std::move(row));
  }
  return table;
}

/// Spearman's of every two columns, in order.
std::vector<double> correlations(const Values& values) {
  Values of_each;
  for (const std::vector<double>& column : values) of_each.push_back(ranks(column));
  std::vector<double> out;
  for (std::size_t a = 0; a < of_each.size(); ++a) {
    for (std::size_t b = a + 1; b < of_each.size(); ++b)
      out.push_back(rank_correlation(of_each[a], of_each[b]));
  }
  return out;
}

double mean_difference(const std::vector<double>& one, const std::vector<double>& other) {
  double sum = 0;
  for (std::size_t k = 0; k < one.size(); ++k) sum += std::fabs(one[k] - other[k]);
  return sum / static_cast<double>(one.size());
}

void add_rank_correlations(const std::vector<NumberColumn>& numbers, const Values& made, const Values& real,
                           const std::optional<Values>& held_out, const Fineness& fine, Findings& out) {
  const std::vector<double> of_made = correlations(made), of_real = correlations(real);
  if (of_made.empty()) return;
  FoundTable::Row mean{"rank correlations", {}};
  const auto at = [](const char* field) {
    return std::vector<std::string>{"marginals", "rank_correlations", field};
  };
  mean.cells.push_back(fine.share_cell(mean_difference(of_made, of_real), at("mean_difference")));
  if (held_out)
    mean.cells.push_back(fine.share_cell(mean_difference(correlations(*held_out), of_real),
                                         at("mean_difference_of_real_test")));
  mean.cells.push_back(count_cell(of_made.size(), at("pairs_compared")));
  out.tables.front().rows.push_back(std::move(mean));

  struct Pair {
    std::string name;
    double made, real;
    double apart() const { return std::fabs(made - real); }
  };
  std::vector<Pair> all;
  std::size_t pair = 0;
  for (std::size_t a = 0; a < numbers.size(); ++a) {
    for (std::size_t b = a + 1; b < numbers.size(); ++b, ++pair)  // rounded, so that their order says no more
      all.push_back({numbers[a].name() + " x " + numbers[b].name(), fine.share(of_made[pair]),
                     fine.share(of_real[pair])});
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const Pair& x, const Pair& y) { return x.apart() > y.apart(); });
  FoundTable table{"farthest rank correlations", {"synthetic", "real"}, {}, kRankPairsAtATerminal};
  for (std::size_t k = 0; k < std::min(all.size(), kMostRankPairs); ++k) {
    const auto cell = [&](double value, const char* of) {
      return fine.share_cell(value, {"marginals", "rank_correlations", "pairs", all[k].name, of});
    };
    table.rows.push_back({all[k].name, {cell(all[k].made, "synthetic"), cell(all[k].real, "real")}});
  }
  out.tables.push_back(std::move(table));
}

/// At values that the synthetic rows have.
std::optional<FoundSeries> distribution_functions(const std::string& name, const std::vector<double>& made,
                                                  const std::vector<double>& real,
                                                  const std::vector<double>* held_out, const Fineness& fine) {
  const InOrder ours(made), theirs(real);
  if (ours.sorted.empty() || theirs.sorted.empty()) return std::nullopt;
  FoundSeries out{"distribution function of " + name, name, {}, {}};
  for (std::size_t k = 0; k < kCurvePoints; ++k)
    out.at.push_back(ours.quantile(static_cast<double>(k) / static_cast<double>(kCurvePoints - 1)));
  out.at.erase(std::unique(out.at.begin(), out.at.end()), out.at.end());
  const auto add = [&](const char* of, const InOrder& values) {
    FoundSeries::Line& line = out.lines.emplace_back();
    line.name = of;
    for (const double value : out.at) line.values.push_back(fine.share(values.share_up_to(value)));
  };
  add("synthetic", ours);
  add("real", theirs);
  if (held_out != nullptr) {
    if (const InOrder others(*held_out); !others.sorted.empty()) add("real test", others);
  }
  return out;
}

}  // namespace

void add_number_findings(const Subject& subject, const data::DataSpec& samples, const Fineness& fine,
                         Findings& out) {
  std::vector<NumberColumn> numbers = numbers_of(*subject.train.schema.table);
  if (numbers.size() > kMostNumbers) numbers.erase(numbers.begin() + kMostNumbers, numbers.end());
  if (numbers.empty()) return;
  const auto read = [&](const data::DataSpec& spec) {
    return values_of(spec, numbers, kMostRowsOfNumbers, subject.heartbeat);
  };
  const Values real = read(subject.train), made = read(samples);
  const std::optional<Values> held_out =
      subject.test.features.empty() ? std::nullopt : std::optional(read(subject.test));
  add_rank_correlations(numbers, made, real, held_out, fine, out);
  if (FoundTable table = table_of_numbers(numbers, made, real, fine); !table.rows.empty())
    out.tables.push_back(std::move(table));
  if (subject.m_is_private()) return;
  for (std::size_t k = 0; k < numbers.size(); ++k) {
    auto curves = distribution_functions(numbers[k].name(), made[k], real[k],
                                         held_out ? &(*held_out)[k] : nullptr, fine);
    if (curves) out.series.push_back(std::move(*curves));
  }
}

}  // namespace muffle::evaluate
