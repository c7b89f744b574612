#include "sample_files.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <span>

#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/core/json_fields.hpp"
#include "muffle/core/watchdog.hpp"
#include "muffle/schema/scaling.hpp"
#include "muffle/synth/listed_samples.hpp"
#include "muffle/synth/pictures.hpp"

namespace muffle::synth {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

/// Describes samples; written last, so its presence means that the rest is complete.
constexpr const char* kSamplesJson = "samples.json";
constexpr const char* kSamplesFormat = "muffle-samples";  // of a description
constexpr int kVersion = 1;
constexpr const char* kSamples = "samples";  // what the files are named by
constexpr const char* kPicture = "samples.png";
constexpr std::size_t kGridSide = 10;
constexpr const char* kWorking = ".samples.tmp";
constexpr const char* kReplaced = "replaced.json";  // in the working folder: the earlier samples' description
/// Whether a description is there and says that its samples are in this format.
bool says(const fs::path& description, const schema::RecordFormat& format) {
  if (!watched::exists(description)) return false;
  const json old = json::parse(read_file(description), nullptr, /*allow_exceptions=*/false);
  try {
    const JsonDocument document;
    const JsonFields f(old, document);
    (void)f.choice("format", {kSamplesFormat});
    const json& formats = f.at("formats");
    return std::find(formats.begin(), formats.end(), format.name()) != formats.end();
  } catch (const ProtocolError&) {
    return false;
  }
}

/// Whether a process was killed while it replaced samples, and this folder is what it left: an earlier one,
/// or a new one that was no longer in the working folder.
bool left_over(const fs::path& working, const schema::RecordFormat& format, const std::string& name) {
  return says(working / kReplaced, format) ||
         (says(working / kSamplesJson, format) && !watched::exists(working / name));
}

[[noreturn]] void fail(const fs::path& folder, const fs::filesystem_error& e) {
  throw IoError(
      fmt::format("samples of an earlier run in '{}' cannot be replaced: {}. Remove them, or choose another "
                  "folder.",
                  folder.string(), e.what()));
}

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

SampleFolder::SampleFolder(const fs::path& folder, Formats formats, const SampleSpec& spec,
                           std::uint64_t bytes)
    : folder_(folder), working_(folder / kWorking), formats_(formats) {
  ensure_writable_folder(folder_);
  try {
    for (const schema::RecordFormat* format : formats_) {
      if (!format->writes_folder()) continue;
      const std::string name = format->files(kSamples).back();
      if (left_over(working_, *format, name)) watched::remove_all(folder_ / name);
      if (!spec.wants(*format) || !watched::exists(folder_ / name) || says(folder_ / kSamplesJson, *format))
        continue;
      throw IoError(fmt::format(
          "'{}' is in the way: {} does not say that an earlier sampling made it. Move it, choose another "
          "folder, or leave {} out of sample.formats.",
          (folder_ / name).string(), kSamplesJson, format->name()));
    }
    watched::remove_all(working_);
  } catch (const fs::filesystem_error& e) {
    fail(folder_, e);
  }
  require_room(folder_, bytes);
  ensure_writable_folder(working_);
}

SampleFolder::~SampleFolder() {
  try {
    watched::remove_all(working_);
  } catch (const fs::filesystem_error&) {  // nobody to tell
  }
}

void SampleFolder::publish(const std::vector<std::string>& names) {
  try {
    std::vector<std::string> old_folders;
    for (const schema::RecordFormat* format : formats_) {
      if (format->writes_folder() && says(folder_ / kSamplesJson, *format))
        old_folders.push_back(format->files(kSamples).back());
    }
    if (watched::exists(folder_ / kSamplesJson))
      move_into_place(folder_ / kSamplesJson, working_ / kReplaced);
    const auto remove = [&](const std::string& name) {
      const WatchedStep step("removing earlier samples in", folder_);
      fs::remove(folder_ / name);
    };
    remove(kPicture);
    for (const schema::RecordFormat* format : formats_) {
      if (format->writes_folder()) continue;
      for (const std::string& name : format->files(kSamples)) remove(name);
    }
    for (const std::string& name : old_folders) watched::remove_all(folder_ / name);
  } catch (const fs::filesystem_error& e) {
    fail(folder_, e);
  }
  for (const std::string& name : names) move_into_place(working_ / name, folder_ / name);
  move_into_place(working_ / kSamplesJson, folder_ / kSamplesJson);
}

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

std::string SampleFiles::finish(const std::string& model_hash, const std::string& sample_hash,
                                const Heartbeat& heartbeat) {
  schema::Schema stored = draw_.info.schema;
  const schema::SampleScaling scaling(stored);
  stored.lo = scaling.lo();
  stored.hi = scaling.hi();
  json hashes = json::object();
  std::vector<std::string> names;
  // The records' hash is of all records and then all labels.
  for (std::uint64_t tile = 0; tile < tiles_; ++tile) {
    const std::vector<std::uint8_t> labels = tile_labels(draw_, tile);
    numbers_.update(PublicBytes(std::as_bytes(std::span(labels))));
    beat(heartbeat);
  }
  std::string result = to_hex(numbers_.digest());
  json description = schema::to_json(stored);
  description.update({{"format", kSamplesFormat}, {"version", kVersion}, {"records_hash", result}});
  for (const schema::NamedWriter& file : files_) {
    file.writer->finish(heartbeat);
    names.push_back(file.file);
    if (folders_.contains(file.file)) continue;
    const std::string hash = sha256_file_hex(PublicFile(folder_.working() / file.file), heartbeat);
    hashes[file.file] = hash;
    if (file.file == main_) result = hash;
  }
  description.update({{"count", draw_.spec.count},
                      {"class_counts", class_counts_},
                      {"element", draw_.as_bytes() ? "uint8" : "float32"},
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

std::optional<ListedSamples> listed_samples(const fs::path& file, const Heartbeat& heartbeat) {
  const fs::path description = file.parent_path() / kSamplesJson;
  if (!is_there(description, "the samples' description", "Nothing was changed.")) return std::nullopt;
  const json said = json::parse(read_file(description), nullptr, /*allow_exceptions=*/false);
  ListedSamples listed{PublicFile(file), {}};
  try {
    const JsonDocument document;
    const JsonFields f(said, document);
    (void)f.choice("format", {kSamplesFormat});
    listed.hash = f.object("files").text(file.filename().string(), 64);
  } catch (const ProtocolError&) {
    return std::nullopt;
  }
  if (sha256_file_hex(listed.file, heartbeat) != listed.hash) return std::nullopt;
  return listed;
}

}  // namespace muffle::synth
