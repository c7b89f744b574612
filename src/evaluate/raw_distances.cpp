#include "raw_distances.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

#include "number_values.hpp"

namespace muffle::evaluate {
namespace {

constexpr std::size_t kColumnsAtOnce = 16;

std::vector<double> without_missing(std::vector<double> values) {
  std::erase_if(values, [](double v) { return std::isnan(v); });
  return values;
}

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// RawDistance::mean_error; the first one's values are sorted.
double mean_error(const std::vector<double>& sorted, const std::vector<double>& other, double width) {
  const double mean = mean_of(sorted);
  double squares = 0;
  for (const double v : sorted) squares += (v - mean) * (v - mean);
  const bool constant = sorted.front() == sorted.back();
  const double unit = constant ? width : std::sqrt(squares / static_cast<double>(sorted.size()));
  return unit > 0 ? (mean_of(other) - mean) / unit : 0.0;
}

}  // namespace

RawDistance raw_distance(std::vector<double> one, std::vector<double> other, double width) {
  if (one.empty() || other.empty()) {
    const double far = one.empty() == other.empty() ? 0.0 : 1.0;
    return {{}, far, far, 0.0};
  }
  std::sort(one.begin(), one.end());
  std::sort(other.begin(), other.end());
  RawDistance out;
  double area = 0, last = std::min(one.front(), other.front()), apart = 0;
  for (std::size_t i = 0, j = 0; i < one.size() || j < other.size();) {
    const double at = j == other.size() || (i < one.size() && one[i] <= other[j]) ? one[i] : other[j];
    area += apart * (at - last);
    last = at;
    while (i < one.size() && one[i] == at) ++i;
    while (j < other.size() && other[j] == at) ++j;
    apart = std::fabs(static_cast<double>(i) / static_cast<double>(one.size()) -
                      static_cast<double>(j) / static_cast<double>(other.size()));
    out.ks = std::max(out.ks, apart);
  }
  out.wasserstein = width > 0 ? area / width : 0.0;
  out.mean_error = mean_error(one, other, width);
  return out;
}

std::vector<RawDistance> raw_distances(const data::DataSpec& one, const data::DataSpec& other,
                                       const Heartbeat& heartbeat) {
  const std::vector<NumberColumn> numbers = numbers_of(*one.schema.table);
  std::vector<RawDistance> out;
  for (std::size_t from = 0; from < numbers.size(); from += kColumnsAtOnce) {
    const auto some = std::span(numbers).subspan(from, std::min(kColumnsAtOnce, numbers.size() - from));
    constexpr std::uint64_t kAll = ~std::uint64_t{0};
    std::vector<std::vector<double>> real = values_of(one, some, kAll, heartbeat),
                                     made = values_of(other, some, kAll, heartbeat);
    for (std::size_t c = 0; c < some.size(); ++c) {
      const schema::Column& column = some[c].text.column();
      out.push_back(raw_distance(without_missing(std::move(real[c])), without_missing(std::move(made[c])),
                                 column.hi - column.lo));
      out.back().column = some[c].name();
    }
  }
  return out;
}

}  // namespace muffle::evaluate
