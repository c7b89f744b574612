#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "muffle/data/source.hpp"
#include "muffle/release/plan.hpp"

namespace muffle::round {
struct Covered;
}  // namespace muffle::round

namespace muffle::job {
class SiteRanks;
}  // namespace muffle::job

namespace muffle::embed {

/// A Heartbeat that is told how much is done. What it throws ends the work.
using CountedHeartbeat = std::function<void(std::uint64_t done)>;

/// A release plan with its maps made ready to sum records. Public.
struct Embedder {
  release::ReleasePlan plan;
  std::vector<std::shared_ptr<const features::Block>> blocks;  ///< one for each of plan.maps
};

/// Makes the blocks of maps that FeatureMap::make_block() does not, such as networks::make_network_block();
/// null: not its kind.
using BlockMaker = std::function<std::unique_ptr<features::Block>(const features::FeatureMap& map,
                                                                  const features::Lattice& lattice)>;

/// With every map on the CPU. @param first  is asked first; may be empty
Embedder make_embedder(release::ReleasePlan plan, const BlockMaker& first = {});

/// This rank's partial sums. Private; move-only; wiped on destruction. It has no way to be printed or saved:
/// it is summed over the parties of a round, or it is all there is (sum_of_one_rank).
class PartialSum {
 public:
  /// Who may take the sums out: a round alone, or a site's own ranks.
  class Key {
    friend struct round::Covered;
    friend class job::SiteRanks;
    Key() {}
  };

  explicit PartialSum(std::size_t n) : sums_(std::vector<std::uint64_t>(n)) {}
  /// A site's own sums, over the ranks of its job.
  PartialSum(std::vector<std::uint64_t>&& sums, Key) : sums_(std::move(sums)) {}

  std::vector<std::uint64_t> take(Key) && { return std::move(sums_.values); }

 private:
  friend PartialSum embed_shard(const Embedder&, data::RecordSource&, int, const CountedHeartbeat&);
  friend privacy::RawSum sum_of_one_rank(PartialSum&&);
  friend struct TestAccess;  // defined in test builds only
  Wiped<std::uint64_t> sums_;
};

/// Sums this rank's shard: streams it tile by tile over `threads` threads. Memory: O(threads D C + tiles).
/// The result is independent of thread count, tile boundaries and order. Local, not collective.
/// @param heartbeat  called from time to time on the calling thread with the records done so far.
/// @throws DataError as the source does.
PartialSum embed_shard(const Embedder& embedder, data::RecordSource& source, int threads,
                       const CountedHeartbeat& heartbeat);

/// Where nobody else has records: the partial sum is the total. Consumes it. Privacy: the result is raw; only
/// NoiseVector::publish may take it further.
privacy::RawSum sum_of_one_rank(PartialSum&& partial);

}  // namespace muffle::embed
