#include "sample_files.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <span>

#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"

namespace muffle::synth {
namespace {

using nlohmann::json;

constexpr const char* kNpz = "samples.npz";
constexpr const char* kIdxImages = "samples-images.idx";
constexpr const char* kIdxLabels = "samples-labels.idx";
constexpr const char* kPicture = "samples.png";
constexpr int kVersion = 1;
constexpr std::size_t kGridSide = 10;
/// A small file takes whole blocks; a PNG's header and checksums come to fewer bytes than this.
constexpr std::uint64_t kDiskBlock = 4096, kPngExtra = 256;

bool wants(const SampleSpec& spec, const char* format) {
  return std::find(spec.formats.begin(), spec.formats.end(), format) != spec.formats.end();
}

bool has_png(const schema::Schema& schema) {
  return schema.is_image() && (schema.shape[0] == 1 || schema.shape[0] == 3);
}

bool is_plane(const schema::Schema& schema) { return schema.shape == std::vector<std::size_t>{2}; }

std::uint64_t bytes_on_disk(const Draw& draw) {
  const std::uint64_t record = draw.record_bytes(), label = 1;
  std::uint64_t each = 0;
  if (wants(draw.spec, "idx")) each += record + label;
  if (wants(draw.spec, "npz")) each += 2 * (record + label);  // the arrays, and then the archive of them
  if (wants(draw.spec, "png")) each += (record + kPngExtra + kDiskBlock - 1) / kDiskBlock * kDiskBlock;
  return draw.spec.count * each;
}

/// What draw_tile() gave, as numbers.
Records records_of(const Draw& draw, std::uint64_t tile, std::string_view bytes) {
  require(bytes.size() == draw.tile_records(tile) * draw.record_bytes(),
          "a tile has more or fewer bytes than its records");
  Records records;
  records.shape = draw.info.schema.shape;
  if (draw.as_bytes()) {
    records.bytes.assign(bytes.begin(), bytes.end());
  } else {
    records.floats.resize(bytes.size() / sizeof(float));
    std::memcpy(records.floats.data(), bytes.data(), bytes.size());
  }
  records.labels = tile_labels(draw, tile);
  return records;
}

}  // namespace

void check_sample_spec(const SampleSpec& spec, const schema::Schema& schema) {
  std::string problems;
  if (spec.count == 0) problems += " sample.count is 0: ask for at least one record.";
  if (sample_bytes(spec, schema) > kMostSampleBytes) {
    problems += fmt::format(
        " sample.count is {}: records of shape {} would take {:.3g} TB, above 1 TB. Draw them in parts, each "
        "with a sample.seed of its own.",
        spec.count, fmt::join(schema.shape, " x "), sample_bytes(spec, schema) / kMostSampleBytes);
  }
  if (tile_bytes(schema) > kMostTileBytes) {
    problems += fmt::format(
        " The model's records have {} numbers: {} of them, which are drawn at a time so that their bytes do "
        "not "
        "depend on ranks and threads, take {:.3g} GB, above {:.3g} GB. Describe records by fewer numbers.",
        schema.dims(), kTileRecords, tile_bytes(schema) * 1e-9, kMostTileBytes * 1e-9);
  }
  if (spec.formats.empty()) problems += " sample.formats is empty: name npz, idx or png.";
  for (const std::string& format : spec.formats) {
    if (format != "npz" && format != "idx" && format != "png") {
      problems += fmt::format(" sample.formats holds '{}', which is none of npz, idx and png.", format);
    }
  }
  if (wants(spec, "png") && !has_png(schema)) {
    problems += fmt::format(
        " sample.formats holds png, but the model makes records of shape {}, not images of 1 or 3 "
        "channels: use npz or idx.",
        fmt::join(schema.shape, " x "));
  }
  if (!problems.empty()) throw ConfigError("records cannot be drawn as configured:" + problems);
}

SampleFiles::SampleFiles(const std::filesystem::path& folder, const Draw& draw)
    : draw_(draw),
      path_(folder),
      folder_(folder, wants(draw.spec, "png"), bytes_on_disk(draw)),
      class_counts_(draw.info.schema.classes, 0) {
  const schema::Schema& schema = draw.info.schema;
  const RecordKind kind{schema.shape, !draw.as_bytes(), draw.spec.count};
  const auto& in = folder_.working();
  if (wants(draw.spec, "idx")) {
    files_.push_back({kIdxLabels, idx_label_writer(in / kIdxLabels, kind)});
    files_.push_back({kIdxImages, idx_writer(in / kIdxImages, kind)});
  }
  if (wants(draw.spec, "npz")) files_.push_back({kNpz, npz_writer(in / kNpz, kind)});
  if (wants(draw.spec, "png")) files_.push_back({kPngFolder, png_folder_writer(in / kPngFolder, kind)});
  if (has_png(schema)) {
    const std::size_t rows = std::min(schema.classes, kGridSide);
    files_.push_back({kPicture, image_grid_writer(in / kPicture, kind, rows, kGridSide)});
  } else if (is_plane(schema)) {
    files_.push_back({kPicture, scatter_writer(in / kPicture, kind, schema)});
  }
}

void SampleFiles::add(std::string_view tile) {
  const Records records = records_of(draw_, tiles_++, tile);
  numbers_.update(tile);
  for (const std::uint8_t label : records.labels) ++class_counts_[label];
  for (const File& file : files_) file.writer->add(records);
}

/// Of all records and then all labels.
std::string SampleFiles::records_hash(const std::function<void()>& alive) {
  for (std::uint64_t tile = 0; tile < tiles_; ++tile) {
    const std::vector<std::uint8_t> labels = tile_labels(draw_, tile);
    numbers_.update(std::as_bytes(std::span(labels)));
    alive();
  }
  return to_hex(numbers_.digest());
}

std::string SampleFiles::finish(const std::string& model_hash, const std::string& sample_hash,
                                const std::function<void()>& alive) {
  const schema::Schema& schema = draw_.info.schema;
  json hashes = json::object();
  std::vector<std::string> names;
  std::string result = records_hash(alive);
  json description{{"format", kSamplesFormat}, {"version", kVersion}, {"records_hash", result}};
  for (const File& file : files_) {
    file.writer->finish(alive);
    names.emplace_back(file.name);
    if (names.back() == kPngFolder) continue;
    hashes[file.name] = sha256_file_hex((folder_.working() / file.name).string(), alive);
    if (names.back() == kIdxImages || names.back() == kNpz) result = hashes[file.name];
  }
  description.update({{"count", draw_.spec.count},
                      {"shape", schema.shape},
                      {"classes", schema.classes},
                      {"class_counts", class_counts_},
                      {"element", draw_.as_bytes() ? "uint8" : "float32"},
                      {"lo", draw_.as_bytes() ? 0.0 : schema.lo},
                      {"hi", draw_.as_bytes() ? 255.0 : schema.hi},
                      {"seed", draw_.spec.seed},
                      {"floor", draw_.spec.floor},
                      {"stray", draw_.spec.stray},
                      {"labels", draw_.spec.uniform_labels ? "uniform" : "released-counts"},
                      {"formats", draw_.spec.formats},
                      {"files", hashes},
                      {"model_hash", model_hash},
                      {"release_hash", draw_.info.release_hash},
                      {"sample_hash", sample_hash},
                      {"is_private", draw_.info.is_private}});
  write_file_atomically(folder_.working() / kSamplesJson, description.dump(2) + "\n");
  folder_.publish(names);
  spdlog::info("sample: {} records{} in {}", draw_.spec.count,
               draw_.info.is_private ? "" : ", NOT PRIVATE (the model's release is not),", path_.string());
  return result;
}

}  // namespace muffle::synth
