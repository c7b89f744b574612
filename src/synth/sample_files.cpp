#include "sample_files.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <span>

#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/core/hash.hpp"

namespace muffle::synth {
namespace {

using nlohmann::json;

constexpr const char* kJson = "samples.json";
constexpr const char* kNpz = "samples.npz";
constexpr const char* kIdxImages = "samples-images.idx";
constexpr const char* kIdxLabels = "samples-labels.idx";
constexpr const char* kPicture = "samples.png";
constexpr const char* kPngFolder = "png";
constexpr const char* kFormat = "muffle-samples";
constexpr int kVersion = 1;
constexpr std::size_t kGridSide = 10;

bool wants(const SampleSpec& spec, const char* format) {
  return std::find(spec.formats.begin(), spec.formats.end(), format) != spec.formats.end();
}

bool has_png(const data::Schema& schema) {
  return schema.is_image() && (schema.shape[0] == 1 || schema.shape[0] == 3);
}

bool is_plane(const data::Schema& schema) { return schema.shape == std::vector<std::size_t>{2}; }

std::string records_hash(const Records& records) {
  Sha256 hash;
  hash.update(std::as_bytes(std::span(records.bytes)));
  hash.update(std::as_bytes(std::span(records.floats)));
  hash.update(std::as_bytes(std::span(records.labels)));
  return to_hex(hash.digest());
}

/// Class folders of an earlier run: only if its description says that it wrote them.
bool wrote_png_folder(const std::filesystem::path& description) {
  if (!std::filesystem::exists(description)) return false;
  const json old = json::parse(read_file(description), nullptr, /*allow_exceptions=*/false);
  if (!old.is_object() || old.value("format", json()) != kFormat) return false;
  const json formats = old.value("formats", json::array());
  return std::find(formats.begin(), formats.end(), "png") != formats.end();
}

}  // namespace

void check_sample_spec(const SampleSpec& spec, const data::Schema& schema) {
  std::string problems;
  if (spec.count == 0) problems += " sample.count is 0: ask for at least one record.";
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

void prepare_sample_folder(const std::filesystem::path& folder) {
  ensure_writable_folder(folder);
  try {
    const bool old_pngs = wrote_png_folder(folder / kJson);
    for (const char* name : {kJson, kNpz, kIdxImages, kIdxLabels, kPicture})
      std::filesystem::remove(folder / name);
    if (old_pngs) std::filesystem::remove_all(folder / kPngFolder);
  } catch (const std::filesystem::filesystem_error& e) {
    throw IoError(
        fmt::format("samples of an earlier run in '{}' cannot be removed: {}. Remove them, or choose another "
                    "folder.",
                    folder.string(), e.what()));
  }
}

std::string write_sample_files(const std::filesystem::path& folder, const Records& records, const Draw& draw,
                               const std::string& model_hash, const std::string& sample_hash) {
  const data::Schema& schema = draw.info.spec.schema;
  json files = json::object();
  const auto add = [&](const char* name) { return files[name] = sha256_file_hex((folder / name).string()); };
  std::string result = records_hash(records);
  json description{{"format", kFormat}, {"version", kVersion}, {"records_hash", result}};
  if (wants(draw.spec, "idx")) {
    write_idx_records(folder / kIdxImages, records);
    write_idx_labels(folder / kIdxLabels, records.labels);
    add(kIdxLabels);
    result = add(kIdxImages);
  }
  if (wants(draw.spec, "npz")) {
    write_npz(folder / kNpz, records);
    result = add(kNpz);
  }
  if (wants(draw.spec, "png")) write_png_folder(folder / kPngFolder, records);
  if (has_png(schema)) {
    write_image_grid(folder / kPicture, records, std::min(schema.classes, kGridSide), kGridSide);
    add(kPicture);
  } else if (is_plane(schema)) {
    write_scatter(folder / kPicture, records, schema);
    add(kPicture);
  }

  std::vector<std::uint64_t> class_counts(schema.classes, 0);
  for (const std::uint8_t label : records.labels) ++class_counts[label];
  description.update({{"count", draw.spec.count},
                      {"shape", schema.shape},
                      {"classes", schema.classes},
                      {"class_counts", class_counts},
                      {"element", draw.as_bytes() ? "uint8" : "float32"},
                      {"lo", draw.as_bytes() ? 0.0 : schema.lo},
                      {"hi", draw.as_bytes() ? 255.0 : schema.hi},
                      {"seed", draw.spec.seed},
                      {"floor", draw.spec.floor},
                      {"stray", draw.spec.stray},
                      {"labels", draw.spec.uniform_labels ? "uniform" : "released-counts"},
                      {"formats", draw.spec.formats},
                      {"files", files},
                      {"model_hash", model_hash},
                      {"release_hash", draw.info.release_hash},
                      {"sample_hash", sample_hash},
                      {"is_private", draw.info.is_private}});
  write_file_atomically(folder / kJson, description.dump(2) + "\n");
  spdlog::info("sample: {} records{} in {}", draw.spec.count,
               draw.info.is_private ? "" : ", NOT PRIVATE (the model's release is not),", folder.string());
  return result;
}

}  // namespace muffle::synth
