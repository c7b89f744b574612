#include "muffle/embed/embedding.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>

#include "muffle/core/error.hpp"
#include "muffle/core/heartbeat.hpp"
#include "muffle/core/log.hpp"

namespace muffle::embed {

namespace {

/// One shard on its way through the threads. Each thread takes the next tile from the source under a lock,
/// embeds it into sums of its own, and adds these to the total at the end; as all of it is integer addition,
/// who took which tile does not matter.
class ShardSum {
 public:
  ShardSum(const Embedder& embedder, data::RecordSource& source, std::vector<std::uint64_t>& total)
      : embedder_(embedder), source_(source), total_(total), refused_(embedder.blocks.size()) {
    for (const auto& block : embedder.blocks) {
      tile_ = std::max(tile_, block->tile());
      useful_threads_ = std::max(useful_threads_, block->useful_threads());
    }
    if (std::ranges::all_of(embedder.blocks, [](const auto& block) { return block->takes_bytes(); }))
      source.hand_out_bytes();
    const auto places = source.places();
    if (features::minibatches_in(embedder.plan.maps) && !places)
      throw ConfigError(
          "minibatches go by records' places in the data set, and here a record's place follows from "
          "others': pictures stand in the order of their names and folders, and with data.shards = "
          "\"per-rank\" each rank counts its own. Give the records in arrays or tables that the ranks share, "
          "or release all of them together (minibatches = 0).");
    if (places) places_ = *places;
  }

  void run(int threads, const CountedHeartbeat& heartbeat) {
    // A small shard does not start threads that would find nothing to do.
    const std::uint64_t tiles = source_.shard_size() / tile_ + 1;
    const auto others = static_cast<int>(std::min<std::uint64_t>(
                            static_cast<std::uint64_t>(std::min(threads, useful_threads_)), tiles)) -
                        1;
    {
      std::vector<std::jthread> helpers;
      try {
        for (int t = 0; t < others; ++t) helpers.emplace_back([this] { work({}); });
      } catch (const std::system_error&) {
        // The system has no more threads: those that run, and this one, do the work.
      }
      work(heartbeat);
    }
    if (failure_) std::rethrow_exception(failure_);
    if (heartbeat) heartbeat(done_);
    for (std::size_t b = 0; b < refused_.size(); ++b) {
      if (refused_[b] > 0)
        note_local(fmt::format(
            "map {}: {} of this rank's records added nothing to it: they made a number that is not "
            "finite or of another sign than the map declares, or more than norm 1",
            embedder_.plan.maps[b].name, refused_[b].load()));
    }
  }

 private:
  void work(const CountedHeartbeat& heartbeat) noexcept {
    try {
      Wiped<std::uint64_t> sums{std::vector<std::uint64_t>(total_.size())};
      std::vector<std::unique_ptr<features::Workspace>> workspaces;
      for (const auto& block : embedder_.blocks) workspaces.push_back(block->make_workspace());
      data::Batch batch;
      std::uint64_t first = 0;
      while (take(batch, first)) {
        add(batch, first, workspaces, sums.values);
        const std::uint64_t done = done_.fetch_add(batch.n) + batch.n;
        if (heartbeat) {
          named_step("embed.batch");
          heartbeat(done);
        }
      }
      const std::lock_guard lock(total_mutex_);
      for (std::size_t i = 0; i < total_.size(); ++i) total_[i] += sums.values[i];
    } catch (...) {
      const std::lock_guard lock(source_mutex_);
      if (!failure_) failure_ = std::current_exception();
    }
  }

  /// The next tile, and the number of its first record in the shard; false at the end of the shard or when
  /// another thread failed.
  bool take(data::Batch& batch, std::uint64_t& first) {
    const std::lock_guard lock(source_mutex_);
    if (failure_) return false;
    try {
      source_.next(tile_, batch);
    } catch (...) {
      // Still under the lock: no other thread may ask a source that has failed, and hide this error.
      failure_ = std::current_exception();
      throw;
    }
    require(batch.n <= tile_ && batch.y.size() >= batch.n, "a record source handed out a malformed batch");
    first = std::exchange(taken_, taken_ + batch.n);
    return batch.n > 0;
  }

  void add(const data::Batch& batch, std::uint64_t first,
           std::vector<std::unique_ptr<features::Workspace>>& workspaces, std::vector<std::uint64_t>& sums) {
    std::vector<std::int32_t> rows;
    const std::size_t dims = (batch.as_bytes() ? batch.bytes.size() : batch.x.size()) / batch.n;
    for (std::size_t b = 0; b < embedder_.blocks.size(); ++b) {
      const features::Block& block = *embedder_.blocks[b];
      require(dims == block.dims(),
              fmt::format("records have {} numbers, but block {} is made for {}", dims, b, block.dims()));
      const std::span<std::uint64_t> part(sums.data() + embedder_.plan.offset(b),
                                          embedder_.plan.rows(b) * block.features());
      for (std::size_t i = 0; i < batch.n; i += block.tile()) {
        const std::size_t n = std::min(block.tile(), batch.n - i);
        const features::Minibatches& minibatches = embedder_.plan.maps[b].minibatches;
        for (std::uint64_t epoch = 0; epoch < (minibatches ? minibatches.epochs : 1); ++epoch) {
          const std::int32_t* const to = rows_of(b, epoch, batch.y.data() + i, first + i, n, rows);
          const std::uint64_t nothing =
              batch.as_bytes() ? block.accumulate_bytes(batch.bytes.data() + i * dims, *batch.scale, to, n,
                                                        *workspaces[b], part)
                               : block.accumulate(batch.x.data() + i * dims, to, n, *workspaces[b], part);
          const auto there = static_cast<std::int64_t>(embedder_.plan.rows(b));
          refused_[b] +=
              nothing - static_cast<std::uint64_t>(std::count_if(
                            to, to + n, [&](std::int32_t row) { return row < 0 || row >= there; }));
        }
      }
    }
    if (!embedder_.plan.counts) return;
    const std::uint64_t units = embedder_.plan.counts_units();
    std::uint64_t* const counts = sums.data() + embedder_.plan.offset(embedder_.blocks.size());
    // By the label alone, whatever a block made of the record: the bound needs that (docs/math.md).
    for (std::size_t i = 0; i < batch.n; ++i) {
      if (batch.y[i] >= 0 && static_cast<std::size_t>(batch.y[i]) < embedder_.plan.classes())
        counts[batch.y[i]] += units;
    }
  }

  /// To which of map b's rows records are added: that of their class or, without labels, the one that there
  /// is, of their minibatch of this epoch. What has no class keeps none.
  /// @param first  the first one's number in the shard
  const std::int32_t* rows_of(std::size_t b, std::uint64_t epoch, const std::int32_t* labels,
                              std::uint64_t first, std::size_t n, std::vector<std::int32_t>& out) const {
    const features::NamedMap& map = embedder_.plan.maps[b];
    if (map.labelled && !map.minibatches) return labels;
    out.assign(labels, labels + n);
    const auto classes = static_cast<std::int64_t>(embedder_.plan.classes());
    for (std::size_t i = 0; i < n; ++i) {
      if (out[i] < 0 || out[i] >= classes) {
        out[i] = schema::kNoClass;
        continue;
      }
      if (!map.labelled) out[i] = 0;
      if (map.minibatches) {
        const std::uint64_t place = places_.first + (first + i) * places_.stride;
        const std::uint64_t part = epoch * map.minibatches.batches + map.minibatches.batch_of(epoch, place);
        out[i] += static_cast<std::int32_t>(part * (map.labelled ? embedder_.plan.classes() : 1));
      }
    }
    return out.data();
  }

  const Embedder& embedder_;
  data::RecordSource& source_;
  std::vector<std::uint64_t>& total_;
  std::size_t tile_ = 1;
  int useful_threads_ = 1;
  data::Places places_;
  std::uint64_t taken_ = 0;  ///< records that the source handed out
  std::mutex source_mutex_;  ///< also guards taken_, and failure_ until the threads are joined
  std::mutex total_mutex_;
  std::exception_ptr failure_;
  std::atomic<std::uint64_t> done_{0};
  std::vector<std::atomic<std::uint64_t>>
      refused_;  ///< of each block: records with a class that it took nothing of
};

}  // namespace

Embedder make_embedder(release::ReleasePlan plan, const BlockMaker& first) {
  Embedder embedder{std::move(plan), {}};
  for (const features::NamedMap& map : embedder.plan.maps) {
    std::shared_ptr<const features::Block> block;
    if (first) block = first(*map.map, embedder.plan.lattice);
    if (!block) block = map.map->make_block(embedder.plan.lattice);
    embedder.blocks.push_back(std::move(block));
  }
  return embedder;
}

PartialSum embed_shard(const Embedder& embedder, data::RecordSource& source, int threads,
                       const CountedHeartbeat& heartbeat) {
  require(threads >= 1, fmt::format("embed_shard() was asked for {} threads", threads));
  PartialSum partial(embedder.plan.size());
  ShardSum(embedder, source, partial.sums_.values).run(threads, heartbeat);
  return partial;
}

privacy::RawSum sum_of_one_rank(PartialSum&& partial) {
  return privacy::RawSum(std::move(partial.sums_.values));
}

}  // namespace muffle::embed
