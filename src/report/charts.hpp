#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

// Inline SVG: colours by the page's style sheet, so that they suit light and dark; a title and a description
// that screen readers say. Texts are escaped here.
namespace muffle::report {

/// Shares by bin: bars, and what may lie over them.
struct BarChart {
  std::string title, description;
  std::vector<std::string> labels;  ///< of each bar, shown when it is pointed at
  /// What the axis has, as far as there is room. Of numbers where each bar begins, and where the last of them
  /// ends; bars that are left (the missing value) have their labels. Empty: labels.
  std::vector<std::string> ticks;
  std::vector<double> bars;                                    ///< synthetic
  std::vector<std::optional<std::pair<double, double>>> band;  ///< low and high; empty, or of one bar: none
  std::vector<double> real, held_out;                          ///< as steps; empty: none
};
/// One bar that is far higher than all others is cut, and says how high it is.
std::string bar_chart(const BarChart& chart);

/// n x n values in 0 .. 1, of which below the diagonal `lower` is drawn, above it `upper`.
struct HeatMap {
  std::string title, description;
  std::vector<std::string> names;
  std::vector<double> lower, upper;  ///< n x n
};
std::string heat_map(const HeatMap& map);

/// Curves over one axis.
struct LineChart {
  std::string title, description;
  std::vector<double> at;          ///< ascending, at least one
  std::vector<std::string> ticks;  ///< of each of `at`, as far as there is room
  struct Line {
    const char* style;           ///< "made", "real" or "held", as the page's style sheet has them
    std::vector<double> values;  ///< of each of `at`
  };
  std::vector<Line> lines;
  /// The upright axis. Linear: from 0, or the least value if that is below, to the greatest. Of shares: at
  /// least to 1. Logarithmic, of values above 0: from the least to the greatest.
  enum class Axis { kShares, kLinear, kLogarithmic } axis = Axis::kShares;
};
std::string line_chart(const LineChart& chart);

/// What colours mean, for charts with these.
std::string colour_key(bool band, bool real, bool held_out);

}  // namespace muffle::report
