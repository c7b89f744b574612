#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "muffle/release/noisy_margins.hpp"
#include "rows.hpp"

namespace muffle::report {

/// Where one count of a column's numbers ends and another begins.
std::vector<double> counted_cuts(const schema::Column& column, const release::NoisyMargin& released);

/// How a column's values are counted for people. The missing value, where the column may lack one, is the
/// last bin.
class Bins {
 public:
  /// To be drawn: equal widths where most of these values lie, or each value by itself; of categories the
  /// most frequent. @param by  chosen by these, which are synthetic: bins tell nothing private
  /// @param released  numbers are cut only where its counts are, as nobody knows what lies between; learned
  /// bins are joined until they hold more than noise  @param most  of numbers, about so many bins
  static Bins to_draw(const Column& column, std::span<const double> by,
                      const release::NoisyMargin* released = nullptr, std::size_t most = kDrawnBins);
  static constexpr std::size_t kDrawnBins = 24;
  /// To be compared in pairs: few, of about equally many of these values.
  static Bins to_pair(const Column& column, std::span<const double> by);

  std::size_t count() const { return labels_.size(); }
  const std::vector<std::string>& labels() const { return labels_; }
  /// Of numbers, where each bin begins, and where the last one ends; empty: of categories.
  std::vector<std::string> ticks() const;
  std::size_t of(double value) const;
  /// Which share of the values is in each bin. @param at  of these rows; empty: all
  std::vector<double> shares(std::span<const double> values, std::span<const std::size_t> at = {}) const;

  /// What a release's noisy counts say of bins.
  struct Released {
    struct Share {
      double share = 0.0, sigma = 0.0;  ///< sigma: standard deviation of its noise
    };
    std::vector<std::optional<Share>> of;  ///< none: of a bin that has a part only of what was counted as one
    std::optional<Share> rest;             ///< of all those bins together
  };
  /// Of so many records.
  Released released(const release::NoisyMargin& margin, double records) const;
  /// The same of every bin; a count of which a bin is but a part is spread evenly over its values. Empty: the
  /// release has no counts of the column.
  std::vector<Released::Share> spread(const release::NoisyMargin& margin, double records) const;

 private:
  /// Of the records of each count, as many as lie in a bin if they are spread evenly.
  struct Part {
    double records = 0.0;
    std::map<std::uint32_t, double> noise;  ///< of each group of codes: the share of its noise
  };

  explicit Bins(const Column& column);
  std::vector<Part> parts(const release::NoisyMargin& margin) const;
  Released::Share spread_over(const release::NoisyTree& tree, double from, double to) const;
  Released released_by(const release::NoisyTree& tree, double records) const;
  void add_edges(std::vector<double> edges);
  void add_categories(std::span<const double> by, std::size_t most);

  Column column_;
  std::vector<double> edges_;     ///< of numbers
  std::vector<std::size_t> bin_;  ///< of each category
  std::vector<std::string> labels_;
};

}  // namespace muffle::report
