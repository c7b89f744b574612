#include "muffle/core/stage_notes.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/core/hash.hpp"
#include "muffle/core/json_fields.hpp"
#include "muffle/core/watchdog.hpp"

namespace muffle {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kStagesFile = "stages.json";
constexpr const char* kFormat = "muffle-stages";
constexpr int kVersion = 1;

/// SHA-256 of a file or, for a folder, of its files' names and hashes.
std::string hash_of(const PublicFile& file_or_folder, const Heartbeat& heartbeat) {
  const fs::path& path = file_or_folder.path;
  const auto hash = [&](const fs::path& inside) { return sha256_file_hex(PublicFile(inside), heartbeat); };
  bool is_folder = false;
  std::vector<fs::path> files;
  {
    const WatchedStep step("looking at", path);
    is_folder = fs::is_directory(path);
    for (auto i = is_folder ? fs::recursive_directory_iterator(path) : fs::recursive_directory_iterator();
         i != fs::recursive_directory_iterator(); ++i) {
      if (!i->is_directory()) files.push_back(i->path());
    }
  }
  if (!is_folder) return sha256_file_hex(file_or_folder, heartbeat);
  std::sort(files.begin(), files.end());
  Sha256 all;
  for (const fs::path& file : files)
    all.update(PublicBytes(file.lexically_relative(path).string() + "\n" + hash(file) + "\n"));
  return to_hex(all.digest());
}

/// What stages.json says; an empty object if it says nothing that can be used.
json noted_stages(const fs::path& folder) {
  const fs::path file = folder / kStagesFile;
  if (!is_there(file, "what was done before", "Nothing was changed.")) return json::object();
  const json noted = json::parse(read_file(file), nullptr, /*allow_exceptions=*/false);
  try {
    const JsonDocument document;
    const JsonFields f(noted, document);
    (void)f.choice("format", {kFormat});
    (void)f.integer("version", kVersion, kVersion);
    (void)f.object("stages");
    return f.at("stages");
  } catch (const ProtocolError& e) {
    spdlog::warn("{} cannot be used, so every stage after the release is done again: {}", file.string(),
                 e.what());
    return json::object();
  }
}

}  // namespace

std::string why_not_done(const StageWork& work, const Heartbeat& heartbeat) {
  if (!work.input)
    return "it reads real records, or samples of unknown origin, and nothing is kept that would tell whether "
           "they changed";
  const json stages = noted_stages(work.folder);
  if (!stages.contains(work.stage)) return "it was not done before";
  const JsonDocument document;
  const JsonFields noted = JsonFields(stages, document, "stages.").object(work.stage);
  if (noted.text("settings", 128) != work.settings) return "its settings are others than before";
  if (noted.text("input", 128) != hash_of(*work.input, heartbeat))
    return fmt::format("'{}' is another than before", work.input->path.string());
  (void)noted.object("outputs");
  for (const auto& [name, hash] : noted.at("outputs").items()) {
    if (!is_there(work.folder / name, "the output", "Nothing was changed."))
      return fmt::format("'{}' is missing", name);
    if (hash != hash_of(PublicFile(work.folder / name), heartbeat))
      return fmt::format("'{}' is not as it was made", name);
  }
  return {};
}

void note_done(const StageWork& work, const std::vector<std::string>& outputs, const Heartbeat& heartbeat) {
  json stages = noted_stages(work.folder);
  stages.erase(work.stage);
  if (work.input) {
    json& noted = stages[work.stage];
    noted = {
        {"settings", work.settings}, {"input", hash_of(*work.input, heartbeat)}, {"outputs", json::object()}};
    for (const std::string& name : outputs)
      noted["outputs"][name] = hash_of(PublicFile(work.folder / name), heartbeat);
  }
  const json file{{"format", kFormat}, {"version", kVersion}, {"stages", std::move(stages)}};
  write_file_atomically(work.folder / kStagesFile, file.dump(2) + "\n");
}

}  // namespace muffle
