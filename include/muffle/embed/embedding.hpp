#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "muffle/data/source.hpp"
#include "muffle/features/block.hpp"
#include "muffle/privacy/release.hpp"

namespace muffle::round {
class Round;
}

namespace muffle::embed {

/// The blocks of one release and how they lie in the released vector: block after block, each C x D_b
/// class-major; then, if counts is on, C class counts, each record counting counts_units lattice units.
struct Layout {
  std::vector<std::shared_ptr<const features::Block>> blocks;
  std::size_t classes = 1;
  features::Lattice lattice;
  bool counts = false;
  double counts_weight = 1.0;  ///< lambda

  /// floor(lambda 2^k): what one record adds to its class's count.
  std::uint64_t counts_units() const;
  /// Numbers in the released vector.
  std::size_t size() const;
  /// Where block b begins.
  std::size_t offset(std::size_t block) const;
  /// The units of the released vector, part by part: one for each block, then the counts.
  std::vector<features::CoordinatePart> coordinates() const;
  privacy::SensitivityInput sensitivity_input(privacy::Adjacency adjacency,
                                              std::uint64_t max_records_per_person) const;
};

/// This rank's partial sums. Private; move-only; wiped on destruction. It has no way to be printed or saved: it is
/// summed over the sites of a round, or it is all there is (sum_of_one_rank).
class PartialSum {
 public:
  /// Who may take the sums out: a round alone.
  class Key {
    friend class round::Round;
    Key() {}
  };

  explicit PartialSum(std::size_t n) : sums_(n, 0) {}
  PartialSum(PartialSum&&) noexcept = default;
  PartialSum(const PartialSum&) = delete;
  ~PartialSum();

  std::vector<std::uint64_t> take(Key) && { return std::move(sums_); }

 private:
  friend PartialSum embed_shard(const Layout&, data::RecordSource&, int,
                                const std::function<void(std::uint64_t)>&);
  friend privacy::RawSum sum_of_one_rank(PartialSum&&);
  friend struct TestAccess;  // defined in test builds only
  std::vector<std::uint64_t> sums_;
};

/// Sums this rank's shard: streams it tile by tile over `threads` threads. Memory: O(threads D C + tiles).
/// The result is independent of thread count, tile boundaries and order. Local, not collective.
/// @param progress  called from time to time on the calling thread with the records done so far.
/// @throws DataError as the source does.
PartialSum embed_shard(const Layout& layout, data::RecordSource& source, int threads,
                       const std::function<void(std::uint64_t)>& progress);

/// Where nobody else has records: the partial sum is the total. Consumes it. Privacy: the result is raw; only
/// NoiseVector::publish may take it further.
privacy::RawSum sum_of_one_rank(PartialSum&& partial);

}  // namespace muffle::embed
