#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "muffle/core/heartbeat.hpp"
#include "muffle/model/model_file.hpp"
#include "muffle/sampling/sampler.hpp"
#include "muffle/schema/person_rows.hpp"
#include "muffle/schema/row_rules.hpp"
#include "muffle/synth/sampler.hpp"

namespace muffle::synth {

/// What is drawn: a pure function of these and of a record's index.
struct Draw {
  model::ModelInfo info;
  std::shared_ptr<const sampling::Sampler> sampler;
  std::vector<double> class_share;
  SampleSpec spec;
  std::shared_ptr<const schema::RowRules> rules;  ///< of a table with constraints; null: others
  std::shared_ptr<const schema::PersonRows> persons =
      nullptr;  ///< of one with rows of a person; null: others

  /// The label is drawn as the other columns are, so that the settings of labels do not apply.
  bool label_is_column() const { return info.schema.table && info.schema.table->target(); }
  bool by_counts() const { return spec.by_counts(info.schema, info.counts_released); }
  bool as_bytes() const { return info.schema.is_image(); }
  std::size_t record_bytes() const { return info.schema.dims() * (as_bytes() ? 1 : sizeof(float)); }
  std::uint64_t tiles() const { return (spec.count + kTileRecords - 1) / kTileRecords; }
  /// Records of this tile: kTileRecords but for the last one.
  std::size_t tile_records(std::uint64_t tile) const;
  /// Bytes that a thread holds while it draws a tile, at most: tile_bytes(), and what the model computes.
  double working_bytes() const;
};

/// Labels of the tile's records.
std::vector<std::uint8_t> tile_labels(const Draw& draw, std::uint64_t tile);

/// What becomes of the records first .. first + n - 1 that a model drew, n = x.size() / schema.dims()
/// (docs/explanation/moments.md, "Finishing"): first spec.stray of them is taken over from others of these n,
/// chosen uniformly: of images in soft discs, of other records number by number; then images are sharpened,
/// by spec.sharpen x blur; then numbers below spec.floor become 0. A pure function of its arguments. Strays
/// are few: each costs two random numbers, and what has none costs nothing. (Outliers are the model's to
/// draw.)
/// @param x  n x dims row-major, in [0, 1]
/// @param blur  the model's: Sampler::blur()
void finish_records(std::span<float> x, const schema::Schema& schema, const SampleSpec& spec,
                    std::uint64_t first, double blur);

/// The tile's records as they are stored: uint8, or float32 in this machine's byte order. Thread-safe.
/// @throws InvariantError if the generator makes a number that is not finite.
std::string draw_tile(const Draw& draw, std::uint64_t tile);

/// What the threads of a rank may hold together while they draw tiles.
inline constexpr double kWorkingBytes = 0x1p31;

/// How many of `threads` may draw at a time: as many as hold `working_bytes` together, at least one.
std::size_t drawing_threads(const Draw& draw, int threads, double working_bytes = kWorkingBytes);

/// The tiles, one text each, drawn by drawing_threads() threads of which each computes alone: LibTorch's own
/// count must be 1. `heartbeat` is called, by this thread, whenever it has drawn one. How many threads there
/// are changes no byte.
std::vector<std::string> draw_tiles(const Draw& draw, const std::vector<std::uint64_t>& tiles, int threads,
                                    const Heartbeat& heartbeat, double working_bytes = kWorkingBytes);

}  // namespace muffle::synth
