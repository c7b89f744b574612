#pragma once

#include <cstdint>
#include <vector>

namespace muffle::features {

/// A map released a minibatch at a time (the first version of DP-MERF; docs/math.md, "sensitivity"): in each
/// of E epochs every record is in one of N batches, by its place among the records and a public seed alone,
/// and each of the E N batches has sums of its own. Public.
struct Minibatches {
  std::uint64_t batches = 0;  ///< N; 0: the map is released whole
  std::uint64_t epochs = 1;   ///< E
  std::uint64_t seed = 1;

  /// More than these are a slip of the keyboard; rows are those of all parts and classes.
  static constexpr std::uint64_t kMostBatches = 1 << 20, kMostEpochs = 1 << 10, kMostRows = 1 << 24;

  bool operator==(const Minibatches&) const = default;
  explicit operator bool() const { return batches > 0; }
  /// E N; of a map that is released whole 1.
  std::uint64_t parts() const { return batches > 0 ? batches * epochs : 1; }
  /// Which of an epoch's batches a record is in. A pure function of its place: whoever takes that place is in
  /// the same ones.
  std::uint64_t batch_of(std::uint64_t epoch, std::uint64_t record) const;
  /// Of all parts, epoch after epoch: how many of the places 0 .. records - 1 are in each.
  std::vector<std::uint64_t> sizes(std::uint64_t records) const;
};

}  // namespace muffle::features
