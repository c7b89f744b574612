// The release path that an audit attacks: Aggregation and embed::embed_shard(), as `muffle release` has them.
#include <algorithm>
#include <cstring>
#include <memory>
#include <utility>

#include "muffle/core/error.hpp"
#include "muffle/privacy/distributed_noise.hpp"
#include "muffle/privacy/entropy.hpp"
#include "muffle/privacy/gaussian.hpp"
#include "muffle/round/aggregation.hpp"
#include "muffle/round/audit_path.hpp"

namespace muffle::round {
namespace {

using Released = std::vector<std::int64_t>;

/// A curious rank's entropy: the operating system's, remembered.
class RecordedEntropy final : public privacy::EntropySource {
 public:
  void fill(std::span<std::byte> out) override {
    source_->fill(out);
    bytes_.insert(bytes_.end(), out.begin(), out.end());
  }
  bool is_secure() const override { return true; }
  std::vector<std::byte> take() { return std::exchange(bytes_, {}); }

 private:
  std::unique_ptr<privacy::EntropySource> source_ = privacy::os_entropy();
  std::vector<std::byte> bytes_;
};

/// Gives the same bytes again.
class ReplayedEntropy final : public privacy::EntropySource {
 public:
  explicit ReplayedEntropy(std::vector<std::byte> bytes) : bytes_(std::move(bytes)) {}
  void fill(std::span<std::byte> out) override {
    require(bytes_.size() - next_ >= out.size(), "recorded entropy ran out: this is a bug in muffle.");
    std::memcpy(out.data(), bytes_.data() + next_, out.size());
    next_ += out.size();
  }
  bool is_secure() const override { return false; }

 private:
  std::vector<std::byte> bytes_;
  std::size_t next_ = 0;
};

/// One rank's side of all releases of an audit.
class AuditedPath {
 public:
  AuditedPath(const embed::Embedder& embedder, comm::HostComm& comm, const privacy::AggregationMode& mode)
      : embedder_(embedder), comm_(comm), mode_(mode), entropy_(privacy::os_entropy()) {}

  Released release(data::RecordSource& records) {
    Aggregation aggregation(comm_, embedder_.plan.noise, mode_);
    const bool curious = mode_.distributed && comm_.rank() >= mode_.ranks - mode_.colluding;
    aggregation.exchange_keys("audit", nullptr);
    aggregation.draw_share(curious ? static_cast<privacy::EntropySource&>(recorded_) : *entropy_);
    if (comm_.is_root()) aggregation.draw_noise(*entropy_);
    Released released = aggregation.sum(embed::embed_shard(embedder_, records, 1, {})).values;
    released.resize(embedder_.plan.size(), 0);
    if (mode_.colluding > 0) take_off_curious_shares(*aggregation.shares(), curious, released);
    return released;
  }

 private:
  void take_off_curious_shares(const privacy::DistributedNoisePlan& plan, bool curious, Released& released) {
    std::vector<std::uint64_t> mine(embedder_.plan.size(), 0),
        all(comm_.is_root() ? embedder_.plan.size() : 0);
    if (curious) {
      ReplayedEntropy again(recorded_.take());
      const Released share = privacy::draw_noise(plan.shares, again);
      std::transform(share.begin(), share.end(), mine.begin(),
                     [](std::int64_t z) { return static_cast<std::uint64_t>(z); });
    }
    comm_.reduce_sum(mine, all, 0);
    for (std::size_t i = 0; i < all.size(); ++i)
      released[i] = static_cast<std::int64_t>(static_cast<std::uint64_t>(released[i]) - all[i]);
  }

  const embed::Embedder& embedder_;
  comm::HostComm& comm_;
  privacy::AggregationMode mode_;
  std::unique_ptr<privacy::EntropySource> entropy_;
  RecordedEntropy recorded_;
};

}  // namespace

embed::ReleaseFunction real_release(const embed::Embedder& embedder) {
  // The communicator lives as long as the function.
  const std::shared_ptr<comm::HostComm> alone = comm::single_process();
  const auto path = std::make_shared<AuditedPath>(embedder, *alone, privacy::AggregationMode{});
  return [alone, path](data::RecordSource& records) { return path->release(records); };
}

embed::ReleaseFunction real_release(const embed::Embedder& embedder, comm::HostComm& comm,
                                    const privacy::AggregationMode& mode) {
  const auto path = std::make_shared<AuditedPath>(embedder, comm, mode);
  return [path](data::RecordSource& records) { return path->release(records); };
}

}  // namespace muffle::round
