#include "muffle/synth/sampler.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include "draw_tile.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/core/hash.hpp"
#include "muffle/core/heartbeat.hpp"
#include "muffle/core/progress.hpp"
#include "muffle/model/model_file.hpp"
#include "sample_files.hpp"

namespace muffle::synth {
namespace {

/// What a rank may hold of its own tiles, and what root gathers of all ranks' at a time.
constexpr std::size_t kDrawnBytes = std::size_t{256} << 20;
constexpr std::size_t kGatheredBytes = std::size_t{64} << 20;
/// Tiles that a rank draws between two meetings, so that few threads do not meet all the time: as many as
/// make so many bytes, within bounds. Small records are drawn in no time, and each meeting waits for the
/// slowest.
constexpr std::size_t kRoundBytes = std::size_t{4} << 20;
constexpr std::uint64_t kLeastTiles = 8, kMostTiles = 128;

/// How many tiles of so many bytes fit; at least one.
std::uint64_t tiles_in(std::size_t bytes, const Draw& draw) {
  return std::max<std::uint64_t>(1, bytes / std::max<std::size_t>(1, kTileRecords * draw.record_bytes()));
}

/// Tiles that each rank draws in a round, the same on all ranks: one or more for each thread of the rank that
/// has the most.
std::uint64_t tiles_per_round(comm::HostComm& comm, const Draw& draw, int threads) {
  std::int64_t most = std::max(1, threads);
  comm.all_reduce_max(std::span(&most, 1));
  const auto each = static_cast<std::uint64_t>(most);
  const std::uint64_t least = std::clamp(tiles_in(kRoundBytes, draw), kLeastTiles, kMostTiles);
  return std::min(each * std::max<std::uint64_t>(1, least / each), tiles_in(kDrawnBytes, draw));
}

/// This rank's tiles in [first, end), ascending.
std::vector<std::uint64_t> own_tiles(const comm::HostComm& comm, std::uint64_t first, std::uint64_t end) {
  std::vector<std::uint64_t> tiles;
  const auto ranks = static_cast<std::uint64_t>(comm.size()), rank = static_cast<std::uint64_t>(comm.rank());
  for (std::uint64_t tile = first + (rank + ranks - first % ranks) % ranks; tile < end; tile += ranks)
    tiles.push_back(tile);
  return tiles;
}

/// Brings the tiles first .. end - 1 to root, which writes them.
/// @param drawn  this rank's own tiles among them
void gather_tiles(comm::HostComm& comm, const Draw& draw, std::uint64_t first, std::uint64_t end,
                  std::span<const std::string> drawn, SampleFiles* files) {
  std::string mine;
  for (const std::string& tile : drawn) mine += tile;
  const std::vector<std::string> all = comm.gather(mine, 0);
  comm::agree(comm, "writing samples", true, [&] {
    if (files == nullptr) return;
    std::vector<std::string_view> left(all.begin(), all.end());
    for (std::uint64_t tile = first; tile < end; ++tile) {
      std::string_view& from = left[tile % left.size()];
      const std::size_t length = draw.tile_records(tile) * draw.record_bytes();
      require(length <= from.size(), "a rank sent fewer samples than its tiles hold");
      files->add(from.substr(0, length));
      from.remove_prefix(length);
      comm.check_peers("writing samples");
    }
  });
}

/// @param files  on root; null elsewhere
void draw_records(comm::HostComm& comm, const Draw& draw, int threads, SampleFiles* files) {
  Progress progress("sampling", draw.spec.count, "records", comm.is_root());
  const std::uint64_t round = tiles_per_round(comm, draw, threads) * static_cast<std::uint64_t>(comm.size());
  const std::uint64_t gathered = tiles_in(kGatheredBytes, draw), all = draw.tiles();
  for (std::uint64_t first = 0; first < all; first += round) {
    const std::uint64_t end = std::min(all, first + round);
    std::vector<std::string> drawn;
    comm::agree(comm, "drawing samples", true, [&] {
      named_step("sample.round");
      comm.check_peers("drawing samples");
      drawn = draw_tiles(draw, own_tiles(comm, first, end), threads,
                         [&] { comm.check_peers("drawing samples"); });
    });
    std::span<const std::string> left = drawn;
    for (std::uint64_t part = first; part < end; part += gathered) {
      const std::uint64_t part_end = std::min(end, part + gathered);
      const std::size_t mine = own_tiles(comm, part, part_end).size();
      gather_tiles(comm, draw, part, part_end, left.first(mine), files);
      left = left.subspan(mine);
      progress.update(std::min<std::uint64_t>(draw.spec.count, part_end * kTileRecords));
    }
  }
}

/// Null: the schema has no rows of a person.
std::shared_ptr<const schema::PersonRows> persons_of(const Draw& draw, const std::filesystem::path& model) {
  const auto& table = draw.info.schema.table;
  const auto person = table ? table->person() : std::nullopt;
  if (!person || table->columns[*person].rows == 0) return nullptr;
  const std::vector<double> people = draw.sampler->people_by_rows();
  if (people.empty())
    throw ConfigError(fmt::format(
        "the schema of '{}' has rows of a person ('{}'), and a model of this kind does not know how many "
        "people have how many. Use model.generator = \"pair-graph\", or leave 'rows' out of the schema "
        "before the next release.",
        model.string(), table->columns[*person].name));
  return std::make_shared<const schema::PersonRows>(people, draw.spec.count, draw.spec.seed);
}

void warn_of_repeats(const Draw& draw) {
  const std::uint64_t own = draw.info.generator->distinct_records();
  const std::size_t classes = draw.info.schema.classes;
  if (own == 0 || draw.spec.count <= own * classes) return;
  spdlog::warn(
      "sample: {} records of {} classes were asked for, and the model has {} different ones of each: "
      "some are repeated. Set sample.count to {}, or train with more (model.particles)",
      draw.spec.count, classes, own, own * classes);
}

}  // namespace

std::string sample(comm::HostComm& comm, const std::filesystem::path& model_file,
                   const std::filesystem::path& folder, const SampleSpec& spec, Formats formats,
                   const std::string& sample_hash, int threads) {
  std::string model_bytes;
  comm::agree(comm, "reading the model", true, [&] {
    if (comm.is_root()) model_bytes = read_file(model_file);
  });
  model_bytes = comm::broadcast_text(comm, model_bytes);
  const std::string model_hash = to_hex(sha256(PublicBytes(model_bytes)));

  // Records must not depend on how a sum is split over threads: each tile is computed by one.
  const ScopedThreads one_thread(1);
  Draw draw;
  std::optional<SampleFiles> files;
  comm::agree(comm, "preparing to sample", true, [&] {
    model::Model model = model::parse_model(model_bytes, model_file.string());
    draw.info = std::move(model.info);
    draw.sampler = std::move(model.sampler);
    settings::Problems wrong;
    problems(spec, formats, wrong);
    problems(spec, draw.info.schema, formats, wrong);
    wrong.throw_if_any("records cannot be drawn as configured");
    const bool by_counts = spec.by_counts(draw.info.schema, draw.info.counts_released);
    if (by_counts && !draw.info.counts_released) {
      throw ConfigError(
          "sample.labels = \"released-counts\", but '" + model_file.string() +
          "' was made from a release without class counts (or by an earlier muffle, which did not note "
          "it: train again). Use \"uniform\", or a release with privacy.release_counts = true.");
    }
    draw.spec = spec;
    const std::size_t classes = draw.info.schema.classes;
    draw.class_share =
        by_counts ? draw.info.class_share : std::vector<double>(classes, 1.0 / static_cast<double>(classes));
    if (const auto& table = draw.info.schema.table; table && !table->constraints.empty())
      draw.rules = std::make_shared<const schema::RowRules>(*table);
    draw.persons = persons_of(draw, model_file);
    if (comm.is_root() && draw.label_is_column() && spec.labels == Labels::kUniform)
      spdlog::info(
          "sample: the label was released as a column like the others, so its values come as often as the "
          "release says, and sample.labels does not apply; for as many of each release with data.label_as = "
          "\"class\"");
    if (comm.is_root()) warn_of_repeats(draw);
    if (comm.is_root()) files.emplace(folder, draw, formats);
  });
  model_bytes = {};

  draw_records(comm, draw, threads, files ? &*files : nullptr);
  std::string hash;
  comm::agree(comm, "writing samples", true, [&] {
    if (files) hash = files->finish(model_hash, sample_hash, [&] { comm.check_peers("writing samples"); });
  });
  return comm::broadcast_text(comm, hash);
}

}  // namespace muffle::synth
