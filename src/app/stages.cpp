#include "stages.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/core/hash.hpp"

namespace muffle::app {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kStagesFile = "stages.json";
constexpr const char* kFormat = "muffle-stages";
constexpr int kVersion = 1;

/// SHA-256 of a file or, for a folder, of its files' names and hashes. The other ranks wait, and see that it
/// goes on.
std::string hash_of(comm::HostComm& comm, const fs::path& path) {
  const auto hash = [&](const fs::path& file) {
    return sha256_file_hex(file.string(), [&] { comm.check_lost("comparing a stage's files"); });
  };
  if (!fs::is_directory(path)) return hash(path);
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(path)) {
    if (!entry.is_directory()) files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  Sha256 all;
  for (const fs::path& file : files)
    all.update(file.lexically_relative(path).string() + "\n" + hash(file) + "\n");
  return to_hex(all.digest());
}

/// What stages.json says; an empty object if it says nothing that can be used.
json noted_stages(const fs::path& folder) {
  const fs::path file = folder / kStagesFile;
  if (!fs::exists(file)) return json::object();
  const json noted = json::parse(read_file(file), nullptr, /*allow_exceptions=*/false);
  if (!noted.is_object() || noted.value("format", json()) != kFormat ||
      noted.value("version", json()) != kVersion || !noted.value("stages", json()).is_object()) {
    spdlog::warn("{} cannot be used, so every stage after the release is done again", file.string());
    return json::object();
  }
  return noted.at("stages");
}

/// Why the stage must be done; empty if it need not.
std::string why_not_done(comm::HostComm& comm, const StageWork& work) {
  const json stages = noted_stages(work.folder);
  if (!stages.contains(work.stage)) return "it was not done before";
  const json& noted = stages.at(work.stage);
  if (noted.at("settings") != work.settings) return "its settings are others than before";
  if (noted.at("input") != hash_of(comm, work.input))
    return fmt::format("'{}' is another than before", work.input.string());
  for (const auto& [name, hash] : noted.at("outputs").items()) {
    if (!fs::exists(work.folder / name)) return fmt::format("'{}' is missing", name);
    if (hash_of(comm, work.folder / name) != hash) return fmt::format("'{}' is not as it was made", name);
  }
  return {};
}

}  // namespace

bool is_done(comm::HostComm& comm, const StageWork& work) {
  // Between two stages nothing is half-done: a rank that was told to stop stops all here.
  comm::agree(
      comm, "starting " + work.stage, [&] { comm.check_peers("starting " + work.stage); }, true);
  std::int64_t done = 0;
  if (comm.is_root()) {
    std::string reason;
    try {
      reason = why_not_done(comm, work);
    } catch (const CommError&) {
      throw;
    } catch (const std::exception& e) {
      reason = fmt::format("what is there cannot be checked ({})", e.what());
    }
    done = reason.empty() ? 1 : 0;
    if (done != 0) {
      spdlog::info("{}: its output is there already and matches", work.stage);
    } else {
      spdlog::info("{}: begins; {}", work.stage, reason);
    }
  }
  comm.all_reduce_max(std::span(&done, 1));
  return done != 0;
}

void mark_done(comm::HostComm& comm, const StageWork& work, const std::vector<std::string>& outputs) {
  comm::agree(
      comm, "noting that a stage is done",
      [&] {
        if (!comm.is_root()) return;
        json noted{
            {"settings", work.settings}, {"input", hash_of(comm, work.input)}, {"outputs", json::object()}};
        for (const std::string& name : outputs) noted["outputs"][name] = hash_of(comm, work.folder / name);
        json stages = noted_stages(work.folder);
        stages[work.stage] = std::move(noted);
        const json file{{"format", kFormat}, {"version", kVersion}, {"stages", std::move(stages)}};
        write_file_atomically(work.folder / kStagesFile, file.dump(2) + "\n");
      },
      true);
}

bool samples_are_private(const std::filesystem::path& samples_json) {
  if (!fs::exists(samples_json)) return true;
  const json description = json::parse(read_file(samples_json), nullptr, /*allow_exceptions=*/false);
  return !description.is_object() || description.value("is_private", json(true)) != false;
}

void warn_not_private(const std::string& stage, const std::filesystem::path& file) {
  spdlog::warn(
      "{}: {} is NOT PRIVATE: its release has seeded test noise (--insecure-seeded-noise). Show it, and what "
      "is "
      "made from it, to nobody who may not see the records.",
      stage, file.string());
}

}  // namespace muffle::app
