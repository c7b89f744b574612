#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "muffle/features/feature_map.hpp"

namespace muffle::features {

/// A table's record taken apart: numbers scaled to [0, 1], and one-hot categories. The maps of mixed columns
/// read records so, and a network that is trained on them makes records so: its relaxed record is
/// [numbers; entries], where a category's entries are probabilities that add up to 1.
///
/// A number that may be missing is both: the number 1/2 where it is missing, and a category of two values,
/// "there" and "missing". Public.
struct MixedLayout {
  /// A column of numbers. A position in it and a number in [0, 1] are piecewise linear functions of each
  /// other: equal steps of the column's grid are equally long, and a bin has the part that its values take.
  struct Number {
    std::size_t column = 0;  ///< of the record
    std::size_t codes = 0;
    bool missing = false;
    std::vector<double> knots;  ///< bins + 1, ascending from 0 to 1: where the bins lie

    /// Of any position in [0, 1].
    double number(float position) const;
    /// Of a number in [0, 1]: where it lies within its bin.
    float position(double number) const;
  };
  /// What has one-hot entries.
  struct Category {
    std::size_t column = 0;  ///< of the record
    std::size_t codes = 0;   ///< of the column
    bool presence = false;   ///< of a number: entry 0 "there", entry 1 "missing"
    std::size_t first = 0;   ///< of its entries, among all entries
    std::size_t entries = 0;

    /// Which of its entries is 1, of any position in [0, 1].
    std::size_t entry(float position) const;
  };

  /// What a missing value is as a number.
  static constexpr double kMissingNumber = 0.5;

  MixedLayout() = default;
  explicit MixedLayout(const schema::Table& table);

  std::size_t dims = 0;  ///< numbers of a record: its positions
  std::vector<Number> numbers;
  std::vector<Category> categories;
  std::size_t entries = 0;  ///< of all categories

  /// Of a relaxed record.
  std::size_t width() const { return numbers.size() + entries; }
  /// All positions are in [0, 1]. @param x  dims
  bool are_positions(const float* x) const;
};

/// The kinds "table-rff" and "table-hermite", as their twins see them: a map of vectors, of a table's
/// numbers.
class TableNumbersMap : public FeatureMap {
 public:
  virtual const MixedLayout& layout() const = 0;
  const MixedLayout* mixed() const final { return &layout(); }
  /// The map of vectors.
  virtual const FeatureMap& inner() const = 0;
};

/// What is proven about one-hot features x / sqrt(d) of k categorical columns with d categories in all: k
/// ones a record: norm sqrt(k/d), rounded up (DP-MERF takes the loose bound 1), and no entry is negative.
/// @throws ConfigError  not 1 <= k <= d.
BlockBound one_hot_bound(std::uint64_t columns, std::uint64_t categories);

/// The kind "one-hot": 1 / sqrt(entries) for every category of the record, and 0 for all others.
class OneHotMap : public FeatureMap {
 public:
  virtual const MixedLayout& layout() const = 0;
  const MixedLayout* mixed() const final { return &layout(); }
};

/// A map `kind` of the numbers of tables by a map `inner` of vectors.
std::unique_ptr<FeatureMap> make_table_numbers_map(std::string_view kind, std::string_view inner);

}  // namespace muffle::features
