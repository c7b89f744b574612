#include "bins.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

namespace muffle::report {
namespace {

constexpr std::size_t kMostDrawn = 30, kPairBins = 8, kMostPaired = 16;
/// Of values in order, beyond which a bin takes all that is farther out.
constexpr double kTail = 0.004;
/// Of a count's noise, and of all records: what a drawn bin of learned ones holds, or is known to.
constexpr double kTold = 3.0, kNextToNone = 0.005;

std::vector<double> present(std::span<const double> values) {
  std::vector<double> out;
  for (const double v : values) {
    if (!std::isnan(v)) out.push_back(v);
  }
  std::sort(out.begin(), out.end());
  return out;
}

double quantile(const std::vector<double>& sorted, double q) {
  return sorted[static_cast<std::size_t>(q * static_cast<double>(sorted.size() - 1))];
}

/// Which cell of a column's grid begins at an edge that is one of its own, or a bound.
std::size_t cell_at(const Column& column, double edge) {
  const std::vector<double>& edges = column.schema->edges;
  if (edge <= column.lo) return 0;
  if (edge >= column.hi) return edges.size() - 1;
  return static_cast<std::size_t>(std::lower_bound(edges.begin(), edges.end(), edge) - edges.begin());
}

/// Of some edges those between which a tree tells how many records there are, or that there are next to none.
std::set<double> told_apart(const std::set<double>& edges, const Column& column,
                            const release::NoisyTree& tree) {
  const double all = tree.range(0, tree.cells()).records + tree.missing().records;
  const auto told = [&](double from, double to) {
    const release::NoisyTree::Count count = tree.range(cell_at(column, from), cell_at(column, to));
    return count.records >= kTold * count.sigma || count.sigma <= kNextToNone * all;
  };
  std::vector<double> out{*edges.begin()};
  for (const double edge : edges) {
    if (edge > out.back() && told(out.back(), edge)) out.push_back(edge);
  }
  if (out.size() > 1) out.pop_back();  // what is left at the end belongs to the last
  std::set<double> kept(out.begin(), out.end());
  kept.insert(*edges.rbegin());
  return kept;
}

double nearest_to(double value, const std::vector<double>& sorted, double if_none) {
  if (sorted.empty()) return if_none;
  const auto above = std::lower_bound(sorted.begin(), sorted.end(), value);
  if (above == sorted.begin()) return *above;
  return above == sorted.end() || value - above[-1] <= *above - value ? above[-1] : *above;
}

}  // namespace

std::vector<double> counted_cuts(const schema::Column& column, const release::NoisyMargin& released) {
  std::vector<double> out;
  for (std::size_t code = 1; code + 1 < column.edges.size() && code < released.group.size(); ++code) {
    if (released.group[code] != released.group[code - 1]) out.push_back(column.edges[code]);
  }
  return out;
}

Bins::Bins(const Column& column) : column_(column) {}

void Bins::add_edges(std::vector<double> edges) {
  edges_ = std::move(edges);
  const double step = column_.schema ? column_.schema->step : 0.0;
  const auto text = [&](double edge) {
    return column_.schema && column_.schema->since ? column_.short_text(edge) : column_.text(edge);
  };
  for (std::size_t b = 0; b + 1 < edges_.size(); ++b) {
    const bool last = b + 2 == edges_.size(),
               one_value = step > 0 && edges_[b + 1] - edges_[b] <= step * 1.0001 && !last;
    labels_.push_back(one_value || edges_[b] == edges_[b + 1]
                          ? text(edges_[b])
                          : fmt::format("{} .. {}", text(edges_[b]), text(edges_[b + 1])));
  }
}

void Bins::add_categories(std::span<const double> by, std::size_t most) {
  const std::size_t n = column_.categories.size();
  std::vector<std::size_t> counts(n, 0), order(n);
  for (const double v : by) {
    if (!std::isnan(v)) ++counts[static_cast<std::size_t>(v)];
  }
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (n > most) {
    std::stable_sort(order.begin(), order.end(),
                     [&](std::size_t a, std::size_t b) { return counts[a] > counts[b]; });
    order.resize(most - 1);
    std::sort(order.begin(), order.end());
  }
  bin_.assign(n, order.size());
  for (const std::size_t c : order) {
    bin_[c] = labels_.size();
    labels_.push_back(column_.categories[c]);
  }
  if (n > most) labels_.push_back(fmt::format("{} others", n - order.size()));
}

Bins Bins::to_draw(const Column& column, std::span<const double> by, const release::NoisyMargin* released,
                   std::size_t most) {
  Bins out(column);
  if (!column.is_number) {
    out.add_categories(by, kMostDrawn);
  } else {
    const std::vector<double> sorted = present(by);
    if (column.follows && !sorted.empty()) {  // what could follow, whatever the row, is far wider
      out.column_.lo = sorted.front();
      out.column_.hi = sorted.back();
    }
    const double lo = out.column_.lo, hi = out.column_.hi;
    const double low = sorted.empty() ? lo : quantile(sorted, kTail);
    const double high = sorted.empty() ? hi : quantile(sorted, 1 - kTail);
    const double step = column.schema ? column.schema->step : 0.0;
    std::set<double> edges{lo, hi};
    const bool cut_as_counted = released != nullptr && !released->counts.empty() && column.schema;
    const std::vector<double> cuts =
        cut_as_counted ? counted_cuts(*column.schema, *released) : std::vector<double>();
    double width = (high - low) / static_cast<double>(most);
    if (step > 0) width = std::max(step, std::ceil(width / step - 1e-9) * step);
    for (std::size_t b = 0; width > 0 && b <= most; ++b) {
      double edge = low + width * static_cast<double>(b);
      if (cut_as_counted) edge = nearest_to(edge, cuts, lo);
      if (edge > lo && edge < hi && (cut_as_counted || edge <= high + width)) edges.insert(edge);
    }
    if (cut_as_counted && released->tree) edges = told_apart(edges, column, *released->tree);
    out.add_edges({edges.begin(), edges.end()});
    if (edges.size() == 1) out.add_edges({lo, hi});
  }
  if (column.may_be_missing) out.labels_.emplace_back("missing");
  return out;
}

Bins Bins::to_pair(const Column& column, std::span<const double> by) {
  Bins out(column);
  if (!column.is_number) {
    out.add_categories(by, kMostPaired);
  } else {
    const std::vector<double> sorted = present(by);
    std::set<double> edges{column.lo, column.hi};
    for (std::size_t b = 1; !sorted.empty() && b < kPairBins; ++b) {
      const double edge = quantile(sorted, static_cast<double>(b) / static_cast<double>(kPairBins));
      if (edge > column.lo && edge < column.hi) edges.insert(edge);
    }
    // A value that many rows have at the lower bound is a bin by itself.
    const auto above = std::upper_bound(sorted.begin(), sorted.end(), column.lo);
    if (above != sorted.end() && above != sorted.begin()) edges.insert(*above);
    out.add_edges(edges.size() > 1 ? std::vector<double>(edges.begin(), edges.end())
                                   : std::vector<double>{column.lo, column.hi});
  }
  if (column.may_be_missing) out.labels_.emplace_back("missing");
  return out;
}

std::vector<std::string> Bins::ticks() const {
  std::vector<std::string> out;
  for (const double edge : edges_) out.push_back(column_.short_text(edge));
  return out;
}

std::size_t Bins::of(double value) const {
  if (std::isnan(value)) return labels_.size() - 1;
  if (!column_.is_number) return bin_[static_cast<std::size_t>(value)];
  const auto above = std::upper_bound(edges_.begin(), edges_.end(), value) - edges_.begin();
  return static_cast<std::size_t>(
      std::clamp<std::ptrdiff_t>(above - 1, 0, static_cast<std::ptrdiff_t>(edges_.size()) - 2));
}

std::vector<double> Bins::shares(std::span<const double> values, std::span<const std::size_t> at) const {
  std::vector<double> out(count(), 0.0);
  if (at.empty()) {
    for (const double v : values) out[of(v)] += 1.0;
  } else {
    for (const std::size_t i : at) out[of(values[i])] += 1.0;
  }
  const auto n = static_cast<double>(at.empty() ? values.size() : at.size());
  for (double& share : out) share /= std::max(1.0, n);
  return out;
}

Bins::Released Bins::released_by(const release::NoisyTree& tree, double records) const {
  Released out;
  const auto add = [&](const release::NoisyTree::Count& count) {
    out.of.emplace_back(Released::Share{count.records / records, count.sigma / records});
  };
  for (std::size_t b = 0; b + 1 < edges_.size(); ++b)
    add(tree.range(cell_at(column_, edges_[b]), cell_at(column_, edges_[b + 1])));
  if (column_.may_be_missing) add(tree.missing());
  return out;
}

std::vector<Bins::Part> Bins::parts(const release::NoisyMargin& margin) const {
  const schema::Column& column = *column_.schema;
  std::vector<Part> out(count());
  const auto add = [&](std::size_t bin, std::size_t code, double part) {
    out[bin].records += part * margin.counts[code];
    out[bin].noise[margin.group[code]] += part * margin.share[code];
  };
  for (std::size_t code = 0; code < margin.counts.size(); ++code) {
    if (column.missing && code == column.missing_code()) {
      add(count() - 1, code, 1.0);
    } else if (!column.is_number()) {
      add(bin_[code], code, 1.0);
    } else {  // by how much of the code's bin lies in the drawn one
      const double low = std::max(column.edges[code], column.lo),
                   high = std::max(low, std::min(column.edges[code + 1], column.hi + column.step));
      const std::size_t first = of(low);
      for (std::size_t b = first; b + 1 < edges_.size(); ++b) {
        const bool last = b + 2 == edges_.size();
        const double from = std::max(low, edges_[b]), to = last ? high : std::min(high, edges_[b + 1]);
        const double part = high > low ? (to - from) / (high - low) : b == first ? 1.0 : 0.0;
        if (part <= 0) break;
        add(b, code, part);
      }
    }
  }
  return out;
}

Bins::Released Bins::released(const release::NoisyMargin& margin, double records) const {
  if (margin.counts.empty() || !column_.schema) return {};
  if (margin.tree) return released_by(*margin.tree, records);
  const std::vector<Part> all = parts(margin);
  const auto share = [&](double of_records, double squares) {
    return Released::Share{of_records / records, margin.sigma * std::sqrt(squares) / records};
  };
  Released out;
  double rest = 0;
  std::map<std::uint32_t, double> noise_of_rest;
  for (const Part& bin : all) {
    const bool whole = std::all_of(bin.noise.begin(), bin.noise.end(),
                                   [](const auto& group) { return group.second >= 1.0 - 1e-9; });
    out.of.emplace_back();
    if (whole) {
      out.of.back() = share(bin.records, static_cast<double>(bin.noise.size()));
      continue;
    }
    rest += bin.records;
    for (const auto& [group, part] : bin.noise) noise_of_rest[group] += part;
  }
  if (!noise_of_rest.empty()) out.rest = share(rest, static_cast<double>(noise_of_rest.size()));
  return out;
}

Bins::Released::Share Bins::spread_over(const release::NoisyTree& tree, double from, double to) const {
  const std::vector<double>& edges = column_.schema->edges;
  const auto above = std::upper_bound(edges.begin() + 1, edges.end() - 1, from);
  const auto first = static_cast<std::size_t>(above - edges.begin()) - 1;
  // Whole cells as the tree knows them together, and parts of those at both ends.
  double records = 0, squares = 0;
  std::size_t whole = first, cell = first;
  for (; cell < tree.cells() && edges[cell] < to; ++cell) {
    const double inside = std::min(to, edges[cell + 1]) - std::max(from, edges[cell]);
    const double part = inside / (edges[cell + 1] - edges[cell]);
    const release::NoisyTree::Count count = tree.range(cell, cell + 1);
    records += part * count.records;
    if (part >= 1.0) continue;
    squares += part * part * count.sigma * count.sigma;
    if (cell == whole) ++whole;
  }
  const bool cut = cell > whole && edges[cell] > to;
  if (const std::size_t last = cut ? cell - 1 : cell; last > whole) {
    const double sigma = tree.range(whole, last).sigma;
    squares += sigma * sigma;
  }
  return {records, std::sqrt(squares)};
}

std::vector<Bins::Released::Share> Bins::spread(const release::NoisyMargin& margin, double records) const {
  std::vector<Released::Share> out;
  if (margin.counts.empty() || !column_.schema) return out;
  if (!margin.tree) {
    for (const Part& bin : parts(margin)) {
      double squares = 0;
      for (const auto& [group, part] : bin.noise) squares += part * part;
      out.push_back({bin.records / records, margin.sigma * std::sqrt(squares) / records});
    }
    return out;
  }
  const std::vector<double>& cells = column_.schema->edges;
  for (std::size_t b = 0; b + 1 < edges_.size(); ++b) {
    const bool last = b + 2 == edges_.size();  // it holds its upper edge, too
    const Released::Share of = spread_over(*margin.tree, edges_[b], last ? cells.back() : edges_[b + 1]);
    out.push_back({of.share / records, of.sigma / records});
  }
  if (column_.may_be_missing)
    out.push_back({margin.tree->missing().records / records, margin.tree->missing().sigma / records});
  return out;
}

}  // namespace muffle::report
