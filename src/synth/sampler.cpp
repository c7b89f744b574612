#include "muffle/synth/sampler.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "draw_tile.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/core/hash.hpp"
#include "muffle/core/progress.hpp"
#include "muffle/model/model_file.hpp"
#include "muffle/synth/export.hpp"
#include "muffle/synth/scoped_threads.hpp"
#include "sample_files.hpp"

namespace muffle::synth {
namespace {

/// What a rank may hold of all ranks' tiles at a time.
constexpr std::size_t kGatherBytes = std::size_t{64} << 20;
constexpr std::size_t kMostTilesPerRound = 8;

/// Tiles that each rank draws between two gatherings: the same on all ranks, whatever their thread counts.
std::uint64_t tiles_per_round(const Draw& draw, int ranks) {
  const std::size_t one_each = static_cast<std::size_t>(ranks) * kTileRecords * draw.record_bytes();
  return std::clamp<std::size_t>(kGatherBytes / std::max<std::size_t>(1, one_each), 1, kMostTilesPerRound);
}

/// This rank's tiles among the next `ranks * each`, ascending.
std::vector<std::uint64_t> own_tiles(std::uint64_t first, std::uint64_t each, int rank, int ranks,
                                     std::uint64_t end) {
  std::vector<std::uint64_t> tiles;
  for (std::uint64_t j = 0; j < each; ++j) {
    const std::uint64_t tile =
        first + j * static_cast<std::uint64_t>(ranks) + static_cast<std::uint64_t>(rank);
    if (tile < end) tiles.push_back(tile);
  }
  return tiles;
}

Records empty_records(const Draw& draw) {
  const std::size_t numbers = static_cast<std::size_t>(draw.spec.count) * draw.info.spec.schema.dims();
  Records records;
  records.shape = draw.info.spec.schema.shape;
  if (draw.as_bytes()) {
    records.bytes.resize(numbers);
  } else {
    records.floats.resize(numbers);
  }
  records.labels = draw_all_labels(draw);
  return records;
}

/// Puts one rank's gathered bytes in place.
void store(Records& records, const Draw& draw, const std::vector<std::uint64_t>& tiles,
           const std::string& bytes) {
  auto* all = draw.as_bytes() ? reinterpret_cast<char*>(records.bytes.data())
                              : reinterpret_cast<char*>(records.floats.data());
  std::size_t from = 0;
  for (const std::uint64_t tile : tiles) {
    const std::size_t length = draw.tile_records(tile) * draw.record_bytes();
    require(from + length <= bytes.size(), "a rank gathered fewer samples than its tiles hold");
    std::memcpy(all + tile * kTileRecords * draw.record_bytes(), bytes.data() + from, length);
    from += length;
  }
  require(from == bytes.size(), "a rank gathered more samples than its tiles hold");
}

/// All records on root, nothing elsewhere.
Records draw_records(comm::HostComm& comm, const Draw& draw, int threads) {
  Records records;
  if (comm.is_root()) records = empty_records(draw);
  Progress progress("sampling", draw.spec.count, "records", comm.is_root());
  const std::uint64_t each = tiles_per_round(draw, comm.size()), end = draw.tiles();
  const std::uint64_t round = each * static_cast<std::uint64_t>(comm.size());
  for (std::uint64_t first = 0; first < end; first += round) {
    std::string mine;
    comm::agree(
        comm, "drawing samples",
        [&] {
          comm.check_peers("drawing samples");
          for (const std::string& tile :
               draw_tiles(draw, own_tiles(first, each, comm.rank(), comm.size(), end), threads)) {
            mine += tile;
          }
        },
        true);
    const std::vector<std::string> all = comm.all_gather(mine);
    if (!comm.is_root()) continue;
    for (int r = 0; r < comm.size(); ++r) {
      store(records, draw, own_tiles(first, each, r, comm.size(), end), all[static_cast<std::size_t>(r)]);
    }
    progress.update(std::min<std::uint64_t>(draw.spec.count, (first + round) * kTileRecords));
  }
  progress.finish();
  return records;
}

}  // namespace

std::string sample(comm::HostComm& comm, const std::filesystem::path& model_file,
                   const std::filesystem::path& folder, const SampleSpec& spec,
                   const std::string& sample_hash, int threads) {
  std::string model_bytes;
  comm::agree(
      comm, "reading the model",
      [&] {
        if (comm.is_root()) model_bytes = read_file(model_file);
      },
      true);
  model_bytes = comm::broadcast_text(comm, model_bytes);
  const std::string model_hash = to_hex(sha256(model_bytes));

  // Records must not depend on how a sum is split over threads: each tile is computed by one.
  const ScopedThreads one_thread(1);
  Draw draw;
  comm::agree(
      comm, "preparing to sample",
      [&] {
        if (model::holds_moments_model(model_bytes)) {
          const model::MomentsModel closed = model::parse_moments_model(model_bytes, model_file.string());
          draw.info = closed.info;
          draw.moments = model::make_moments_generator(closed);
        } else {
          std::tie(draw.info, draw.generator) = model::parse_model(model_bytes, model_file.string());
        }
        check_sample_spec(spec, draw.info.spec.schema);
        if (!spec.uniform_labels && !draw.info.counts_released) {
          throw ConfigError(
              "sample.labels = \"released-counts\", but '" + model_file.string() +
              "' was made from a release without class counts (or by an earlier muffle, which did not note "
              "it: "
              "train again). Use \"uniform\", or a release with privacy.release_counts = true.");
        }
        draw.spec = spec;
        const std::size_t classes = draw.info.spec.schema.classes;
        draw.class_share = spec.uniform_labels
                               ? std::vector<double>(classes, 1.0 / static_cast<double>(classes))
                               : draw.info.class_share;
        if (comm.is_root()) prepare_sample_folder(folder);
      },
      true);
  model_bytes = {};

  const Records records = draw_records(comm, draw, threads);
  std::string hash;
  comm::agree(
      comm, "writing samples",
      [&] {
        if (comm.is_root()) hash = write_sample_files(folder, records, draw, model_hash, sample_hash);
      },
      true);
  return comm::broadcast_text(comm, hash);
}

}  // namespace muffle::synth
