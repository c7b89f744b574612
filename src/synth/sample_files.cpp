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
#include "muffle/schema/scaling.hpp"
#include "muffle/synth/pictures.hpp"

namespace muffle::synth {
namespace {

using nlohmann::json;

constexpr int kVersion = 1;
constexpr std::size_t kGridSide = 10;

schema::RecordKind kind_of(const Draw& draw) {
  return {draw.info.schema.shape, !draw.as_bytes(), draw.spec.count};
}

std::uint64_t bytes_on_disk(const Draw& draw, Formats formats) {
  std::uint64_t bytes = 0;
  for (const schema::RecordFormat* format : formats) {
    if (draw.spec.wants(*format)) bytes += format->bytes_on_disk(kind_of(draw));
  }
  return bytes;
}

/// What draw_tile() gave, as numbers.
schema::Records records_of(const Draw& draw, std::uint64_t tile, std::string_view bytes) {
  require(bytes.size() == draw.tile_records(tile) * draw.record_bytes(),
          "a tile has more or fewer bytes than its records");
  schema::Records records;
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

SampleFiles::SampleFiles(const std::filesystem::path& folder, const Draw& draw, Formats formats)
    : draw_(draw),
      path_(folder),
      folder_(folder, formats, draw.spec, bytes_on_disk(draw, formats)),
      class_counts_(draw.info.schema.classes, 0) {
  const schema::Schema& schema = draw.info.schema;
  const schema::RecordKind kind = kind_of(draw);
  const auto& in = folder_.working();
  for (const schema::RecordFormat* format : formats) {
    if (!draw.spec.wants(*format)) continue;
    for (schema::NamedWriter& file : format->writers(in, kSamples, kind)) {
      if (format->writes_folder()) {
        folders_.insert(file.file);
      } else {
        main_ = file.file;
      }
      files_.push_back(std::move(file));
    }
  }
  if (kind.is_picture()) {
    const std::size_t rows = std::min(schema.classes, kGridSide);
    files_.push_back({kPicture, image_grid_writer(in / kPicture, kind, rows, kGridSide)});
  } else if (schema.shape == std::vector<std::size_t>{2}) {
    files_.push_back({kPicture, scatter_writer(in / kPicture, kind, schema)});
  }
}

void SampleFiles::add(std::string_view tile) {
  const schema::Records records = records_of(draw_, tiles_++, tile);
  numbers_.update(tile);
  for (const std::uint8_t label : records.labels) ++class_counts_[label];
  for (const schema::NamedWriter& file : files_) file.writer->add(records);
}

/// Of all records and then all labels.
std::string SampleFiles::records_hash(const Heartbeat& heartbeat) {
  for (std::uint64_t tile = 0; tile < tiles_; ++tile) {
    const std::vector<std::uint8_t> labels = tile_labels(draw_, tile);
    numbers_.update(std::as_bytes(std::span(labels)));
    heartbeat();
  }
  return to_hex(numbers_.digest());
}

std::string SampleFiles::finish(const std::string& model_hash, const std::string& sample_hash,
                                const Heartbeat& heartbeat) {
  const schema::Schema& schema = draw_.info.schema;
  const schema::SampleScaling scaling(schema);
  json hashes = json::object();
  std::vector<std::string> names;
  std::string result = records_hash(heartbeat);
  json description{{"format", kSamplesFormat}, {"version", kVersion}, {"records_hash", result}};
  for (const schema::NamedWriter& file : files_) {
    file.writer->finish(heartbeat);
    names.push_back(file.file);
    if (folders_.contains(file.file)) continue;
    const std::string hash = sha256_file_hex((folder_.working() / file.file).string(), heartbeat);
    hashes[file.file] = hash;
    if (file.file == main_) result = hash;
  }
  description.update({{"count", draw_.spec.count},
                      {"shape", schema.shape},
                      {"classes", schema.classes},
                      {"class_counts", class_counts_},
                      {"element", draw_.as_bytes() ? "uint8" : "float32"},
                      {"lo", scaling.lo()},
                      {"hi", scaling.hi()},
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
