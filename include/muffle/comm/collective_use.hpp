#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace muffle::comm {

/// What a rank has spent on one kind of collective so far.
struct CollectiveUse {
  std::string name;  ///< "all_reduce_sum"
  std::uint64_t calls = 0;
  double seconds = 0;       ///< from entry to return: the wait for the slowest rank is part of it
  std::uint64_t bytes = 0;  ///< that this rank put in (broadcast: that it got), before any algorithm
  bool timed = true;        ///< false: it is part of a CUDA graph, and `seconds` says nothing
};

/// `later` less `earlier`, without what was not called in between.
std::vector<CollectiveUse> use_between(const std::vector<CollectiveUse>& earlier,
                                       const std::vector<CollectiveUse>& later);

/// "all_reduce_sum 1200 calls, 3.21 s, 45.6 MB; ...": of `later` less `earlier`.
std::string describe_use(const std::vector<CollectiveUse>& earlier, const std::vector<CollectiveUse>& later);

/// What communication has cost this rank. Public: sizes and times, no contents.
class UseStatistics {
 public:
  virtual ~UseStatistics() = default;
  /// Time spent inside collectives so far, seconds.
  virtual double seconds_in_collectives() const = 0;
  /// The same by collective, in alphabetical order.
  virtual std::vector<CollectiveUse> collective_use() const { return {}; }
};

}  // namespace muffle::comm
