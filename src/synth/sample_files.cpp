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
  return {draw.info.schema.shape,
          !draw.as_bytes(),
          draw.spec.count,
          draw.info.schema.table,
          draw.spec.text,
          draw.spec.skip_keys,
          0,
          draw.persons,
          draw.info.schema.class_names};
}

/// What one of spec.files holds.
schema::RecordKind kind_of(const Draw& draw, std::uint64_t file) {
  schema::RecordKind kind = kind_of(draw);
  kind.count = draw.spec.first_of(file + 1) - draw.spec.first_of(file);
  kind.rows_before = draw.spec.first_of(file);
  kind.keys_before += kind.rows_before;
  return kind;
}

/// The records first .. end - 1 of some.
schema::Records slice(const schema::Records& some, std::size_t first, std::size_t end) {
  const std::size_t dims = some.kind().dims();
  schema::Records out;
  out.shape = some.shape;
  const auto cut = [&](const auto& all, std::size_t each) {
    return std::decay_t<decltype(all)>(all.begin() + static_cast<std::ptrdiff_t>(first * each),
                                       all.begin() + static_cast<std::ptrdiff_t>(end * each));
  };
  if (!some.bytes.empty()) out.bytes = cut(some.bytes, dims);
  if (!some.floats.empty()) out.floats = cut(some.floats, dims);
  out.labels = cut(some.labels, 1);
  return out;
}

std::uint64_t bytes_on_disk(const Draw& draw, Formats formats) {
  std::uint64_t bytes = 0;
  for (const schema::RecordFormat* format : formats) {
    for (std::uint64_t file = 0; draw.spec.wants(*format) && file < draw.spec.files; ++file)
      bytes += format->bytes_on_disk(kind_of(draw, file));
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

/// Parts of samples that lie in a folder, of any number of files.
std::vector<std::string> parts_in(const fs::path& folder, Formats formats) {
  const WatchedStep step("looking at", folder);
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder)) {
    const std::string name = entry.path().filename().string();
    for (const schema::RecordFormat* format : formats) {
      if (!format->writes_parts()) continue;
      const std::uint64_t parts = schema::parts_of(name);
      for (const std::string& pattern : format->files(
               schema::part_pattern(schema::part_name(kSamples, 0, std::max<std::uint64_t>(1, parts)))))
        if (parts != 0 && schema::part_pattern(name) == pattern) names.push_back(name);
    }
  }
  return names;
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
    std::vector<std::string> gone;
    const auto remove = [&](const std::string& name) {
      const WatchedStep step("removing earlier samples in", folder_);
      if (fs::remove(folder_ / name) && std::find(names.begin(), names.end(), name) == names.end())
        gone.push_back(name);
    };
    remove(kPicture);
    for (const schema::RecordFormat* format : formats_) {
      if (format->writes_folder()) continue;
      for (const std::string& name : format->files(kSamples)) remove(name);
    }
    for (const std::string& name : parts_in(folder_, formats_)) remove(name);
    for (const std::string& name : old_folders) {
      watched::remove_all(folder_ / name);
      if (std::find(names.begin(), names.end(), name) == names.end()) gone.push_back(name);
    }
    std::sort(gone.begin(), gone.end());
    if (!gone.empty())
      spdlog::info("sample: removed, as the samples that were here before are replaced: {}{}", gone.front(),
                   gone.size() == 1 ? "" : fmt::format(" and {} more", gone.size() - 1));
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
    for (std::uint64_t number = 0; number < draw.spec.files; ++number) {
      const std::string name = draw.spec.file_name(number);
      for (schema::NamedWriter& file : format->writers(in, name, kind_of(draw, number))) {
        if (format->writes_folder()) {
          folders_.insert(file.file);
        } else if (draw.spec.files == 1) {
          main_ = file.file;
        }
        files_.push_back({std::move(file), draw.spec.first_of(number), draw.spec.first_of(number + 1)});
      }
    }
  }
  if (kind.is_picture()) {
    const std::size_t rows = std::min(schema.classes, kGridSide);
    files_.push_back({{kPicture, image_grid_writer(in / kPicture, kind, rows, kGridSide)}, 0, kind.count});
  } else if (!schema.table && schema.shape == std::vector<std::size_t>{2}) {
    files_.push_back({{kPicture, scatter_writer(in / kPicture, kind, schema)}, 0, kind.count});
  }
}

void SampleFiles::add(std::string_view tile) {
  const std::uint64_t first = tiles_ * kTileRecords;
  const schema::Records records = records_of(draw_, tiles_++, tile);
  const std::uint64_t end = first + records.count();
  numbers_.update(PublicBytes(tile));
  for (const std::uint8_t label : records.labels) ++class_counts_[label];
  for (const Part& part : files_) {
    const std::uint64_t from = std::max(first, part.first), to = std::min(end, part.end);
    if (from >= to) continue;
    const bool all = from == first && to == end;
    part.file.writer->add(all ? records : slice(records, from - first, to - first));
  }
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
  for (const auto& [file, first, end] : files_) {
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
                      {"outliers", draw_.spec.outliers},
                      {"mixed", draw_.spec.mixed},
                      {"stray", draw_.spec.stray},
                      {"sharpen", draw_.spec.sharpen},
                      {"labels", draw_.label_is_column() ? "column"
                                 : draw_.by_counts()     ? "released-counts"
                                                         : "uniform"},
                      {"formats", draw_.spec.formats},
                      {"files", hashes},
                      {"model_hash", model_hash},
                      {"release_hash", draw_.info.release_hash},
                      {"sample_hash", sample_hash},
                      {"is_private", draw_.info.is_private}});
  if (draw_.info.schema.table) {
    const schema::TextStyle& text = draw_.spec.text;
    description["text"] = {{"separator", std::string(1, text.separator)},
                           {"header", text.header},
                           {"quotes", text.quote_texts ? "texts" : "needed"}};
    description["skip_keys"] = draw_.spec.skip_keys;
  }
  write_file_atomically(folder_.working() / kSamplesJson, description.dump(2) + "\n");
  folder_.publish(names);
  spdlog::info("sample: {} records{} in {}", draw_.spec.count,
               draw_.info.is_private ? "" : ", NOT PRIVATE (the model's release is not),", path_.string());
  return result;
}

std::optional<ListedSamples> listed_samples(const fs::path& file, const Heartbeat& heartbeat) {
  const fs::path folder = file.parent_path(), description = folder / kSamplesJson;
  if (!is_there(description, "the samples' description", "Nothing was changed.")) return std::nullopt;
  const json said = json::parse(read_file(description), nullptr, /*allow_exceptions=*/false);
  ListedSamples listed{PublicFile(file), {}};
  const std::string name = file.filename().string(), pattern = schema::part_pattern(name);
  const std::uint64_t parts = schema::parts_of(name);
  try {
    const JsonDocument document;
    const JsonFields f(said, document);
    (void)f.choice("format", {kSamplesFormat});
    const JsonFields files = f.object("files");
    listed.hash = files.text(name, 64);
    if (f.has("class_names")) listed.class_names = f.texts("class_names", 256, 255);
    // Whoever reads a part reads all of them.
    for (std::uint64_t part = 0; part < parts; ++part) {
      const std::string other = fmt::format("{:05}", part);
      std::string part_file = pattern;
      part_file.replace(part_file.find('?'), other.size(), other);
      const std::string hash = files.text(part_file, 64);
      if (part_file != name && sha256_file_hex(PublicFile(folder / part_file), heartbeat) != hash)
        return std::nullopt;
    }
  } catch (const ProtocolError&) {
    return std::nullopt;
  }
  if (sha256_file_hex(listed.file, heartbeat) != listed.hash) return std::nullopt;
  return listed;
}

}  // namespace muffle::synth
