#include "stages.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "muffle/comm/termination.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/core/hash.hpp"
#include "muffle/core/watchdog.hpp"

namespace muffle::app {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr const char* kStagesFile = "stages.json";
constexpr const char* kFormat = "muffle-stages";
constexpr int kVersion = 1;

/// SHA-256 of a file or, for a folder, of its files' names and hashes.
/// @param alive  called from time to time: the other ranks wait
std::string hash_of(const fs::path& path, const std::function<void()>& alive) {
  const auto hash = [&](const fs::path& file) { return sha256_file_hex(file.string(), alive); };
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
  if (!is_folder) return hash(path);
  std::sort(files.begin(), files.end());
  Sha256 all;
  for (const fs::path& file : files)
    all.update(file.lexically_relative(path).string() + "\n" + hash(file) + "\n");
  return to_hex(all.digest());
}

/// What stages.json says; an empty object if it says nothing that can be used.
json noted_stages(const fs::path& folder) {
  const fs::path file = folder / kStagesFile;
  if (!is_there(file, "what was done before", "Nothing was changed.")) return json::object();
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
  const auto hash_of_file = [&](const fs::path& path) {
    return hash_of(path, [&] { comm.check_peers("comparing a stage's files"); });
  };
  const json stages = noted_stages(work.folder);
  if (!stages.contains(work.stage)) return "it was not done before";
  const json& noted = stages.at(work.stage);
  if (noted.at("settings").get<std::string>() != work.settings) return "its settings are others than before";
  if (noted.at("input").get<std::string>() != hash_of_file(work.input))
    return fmt::format("'{}' is another than before", work.input.string());
  for (const auto& [name, hash] : noted.at("outputs").items()) {
    if (!is_there(work.folder / name, "the output", "Nothing was changed."))
      return fmt::format("'{}' is missing", name);
    if (hash_of_file(work.folder / name) != hash.get<std::string>())
      return fmt::format("'{}' is not as it was made", name);
  }
  return {};
}

}  // namespace

bool is_done(comm::HostComm& comm, const StageWork& work) {
  // Between two stages nothing is half-done: a rank that was told to stop stops all here.
  comm::agree(
      comm, "starting " + work.stage, [&] { comm.check_peers("starting " + work.stage); }, true);
  std::int64_t done = 0;
  comm::agree(
      comm, "comparing the files of " + work.stage,
      [&] {
        if (!comm.is_root()) return;
        std::string reason;
        try {
          reason = why_not_done(comm, work);
        } catch (const CommError&) {
          throw;
        } catch (const comm::StoppedError&) {
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
      },
      true);
  comm.all_reduce_max(std::span(&done, 1));
  return done != 0;
}

void mark_done(comm::HostComm& comm, const StageWork& work, const std::vector<std::string>& outputs) {
  const comm::TerminationHold hold;  // on every rank: those that wait do so to the end
  comm::agree(
      comm, "noting that a stage is done",
      [&] {
        if (!comm.is_root()) return;
        // What was made is noted even where the job is told to stop meanwhile: a signal waits.
        const auto alive = [&] { comm.check_lost("noting that a stage is done"); };
        json noted{
            {"settings", work.settings}, {"input", hash_of(work.input, alive)}, {"outputs", json::object()}};
        for (const std::string& name : outputs) noted["outputs"][name] = hash_of(work.folder / name, alive);
        json stages = noted_stages(work.folder);
        stages[work.stage] = std::move(noted);
        const json file{{"format", kFormat}, {"version", kVersion}, {"stages", std::move(stages)}};
        write_file_atomically(work.folder / kStagesFile, file.dump(2) + "\n");
      },
      true);
}

bool samples_are_private(const std::filesystem::path& samples_json) {
  if (!is_there(samples_json, "the samples' description", "Nothing was changed.")) return true;
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
