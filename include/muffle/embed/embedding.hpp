#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "muffle/comm/host_comm.hpp"
#include "muffle/data/source.hpp"
#include "muffle/features/block.hpp"
#include "muffle/privacy/release.hpp"
#include "muffle/release/plan.hpp"

namespace muffle::round {
class SecureSum;
}
namespace muffle::privacy {
class NoiseShare;
}

namespace muffle::embed {

/// A release plan with its maps made ready to sum records. Public.
struct Embedder {
  release::ReleasePlan plan;
  std::vector<std::shared_ptr<const features::Block>> blocks;  ///< one for each of plan.maps
};

/// With every map on the CPU.
Embedder make_embedder(release::ReleasePlan plan);

/// This rank's partial sums. Private; move-only; wiped on destruction.
class PartialSum {
 public:
  explicit PartialSum(std::size_t n) : sums_(n, 0) {}
  PartialSum(PartialSum&&) noexcept = default;
  PartialSum(const PartialSum&) = delete;
  ~PartialSum();

 private:
  friend PartialSum embed_shard(const Embedder&, data::RecordSource&, int,
                                const std::function<void(std::uint64_t)>&);
  friend privacy::RawSum reduce_to_root(comm::HostComm&, PartialSum&&);
  friend privacy::RawSum reduce_to_root(round::SecureSum&&, PartialSum&&);
  friend privacy::NoisySum reduce_to_root(round::SecureSum&&, PartialSum&&, privacy::NoiseShare&&);
  friend struct TestAccess;  // defined in test builds only
  std::vector<std::uint64_t> sums_;
};

/// Sums this rank's shard: streams it tile by tile over `threads` threads. Memory: O(threads D C + tiles).
/// The result is independent of thread count, tile boundaries and order. Local, not collective.
/// @param progress  called from time to time on the calling thread with the records done so far.
/// @throws DataError as the source does.
PartialSum embed_shard(const Embedder& embedder, data::RecordSource& source, int threads,
                       const std::function<void(std::uint64_t)>& progress);

/// Sums over all ranks; the result holds the sum on root and is empty elsewhere. Collective; consumes the
/// partial sum. Privacy: the result is raw; only NoiseVector::publish may take it further.
privacy::RawSum reduce_to_root(comm::HostComm& comm, PartialSum&& partial);

/// The same through a secure sum, bit for bit: no other rank, and no machine between the ranks, sees this
/// rank's partial sum. Collective; consumes both. Throws as SecureSum::reduce_to_root().
privacy::RawSum reduce_to_root(round::SecureSum&& round, PartialSum&& partial);

/// The same with every rank's share of the noise added on the rank: what comes out on root is the release,
/// and no raw total ever exists. is_private speaks of this rank's share alone. Collective; consumes all
/// three.
privacy::NoisySum reduce_to_root(round::SecureSum&& round, PartialSum&& partial, privacy::NoiseShare&& share);

}  // namespace muffle::embed
