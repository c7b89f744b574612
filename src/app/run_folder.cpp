#include "run_folder.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string_view>

#include "muffle/comm/messages.hpp"
#include "muffle/comm/termination.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/core/json_fields.hpp"
#include "muffle/core/watchdog.hpp"
#include "muffle/data/mixture.hpp"

namespace muffle::app {

void record_settings(const Context& context, Stage stage) {
  if (!context.comm.is_root()) return;
  const auto file = context.out / kConfigFile;
  std::map<std::string, std::string> settings;
  std::string before;
  if (is_there(file, "the settings of the run folder", "They were not changed.")) {
    before = read_file(file);
    try {
      settings = settings_in(file.string());
    } catch (const ConfigError& e) {
      spdlog::warn("{} is written anew, because it cannot be read: {}", file.string(), e.what());
    }
  }
  Config config = context.config;
  for (const settings::Key& key : keys_of(config)) {
    // Ledger, signature and the like belong to the release, though they do not change its numbers.
    const bool of_release = key.stage == Stage::kRuntime && stage == Stage::kRelease;
    if (key.stage == stage || of_release || key.name.starts_with("runtime.")) settings[key.name] = key.get();
  }
  const std::string text = to_toml(settings);
  if (text != before) write_file_atomically(file, text);
}

std::map<std::string, std::string> kept_settings(comm::HostComm& comm,
                                                 const std::vector<std::filesystem::path>& folders,
                                                 Stages stages) {
  nlohmann::json kept = nlohmann::json::object();
  comm::agree(comm, "reading the settings of the run folder", true, [&] {
    const Stage stage = stages.train ? Stage::kTrain : Stage::kSample;
    if (!comm.is_root() || stages.release || stages.evaluate) return;
    const auto found_in = std::find_if(folders.begin(), folders.end(), [](const auto& folder) {
      return is_there(folder / kConfigFile, "the settings of the run folder", "Nothing was changed.");
    });
    if (found_in == folders.end()) return;
    const auto file = *found_in / kConfigFile;
    const std::map<std::string, std::string> all = settings_in(file.string());
    Config config;
    for (const settings::Key& key : keys_of(config)) {
      if (const auto found = all.find(key.name); key.decides(stage) && found != all.end())
        kept[key.name] = found->second;
    }
    if (!kept.empty()) spdlog::info("settings that were not given are those of {}", file.string());
  });
  return nlohmann::json::parse(comm::broadcast_text(comm, kept.dump()));
}

data::DataSpec records_of(const Context& context) {
  data::DataSpec records = context.config.data;
  if (!context.config.data.generate.empty()) records.dir = (context.out / "data").string();
  return records;
}

data::DataSpec prepare_records(Context& context) {
  data::DataSpec records = records_of(context);
  if (records.schema.table && records.schema.table->person()) {
    records.records_per_person = context.config.privacy.max_records_per_person;
    // Ranks that read the same files must count the same records. Who has files alone needs nobody's key.
    if (records.shards != data::ShardRule::kPerRank) {
      records.person_key =
          comm::broadcast_text(context.comm, context.comm.is_root() ? data::new_person_key() : "");
    }
  }
  if (context.config.data.generate.empty()) return records;
  comm::agree(context.comm, "making the data", true, [&] {
    if (!context.comm.is_root()) return;
    spdlog::info("data: making the papers' 2-D Gaussian mixture in {}", records.dir);
    data::write_mixture(records.dir);
  });
  return records;
}

bool is_done(comm::HostComm& comm, const StageWork& work) {
  // Between two stages nothing is half-done: a rank that was told to stop stops all here.
  comm::agree(comm, "starting " + work.stage, true, [&] { comm.check_peers("starting " + work.stage); });
  std::int64_t done = 0;
  comm::agree(comm, "comparing the files of " + work.stage, true, [&] {
    if (!comm.is_root()) return;
    std::string reason;
    try {
      reason = why_not_done(work, [&] { comm.check_peers("comparing a stage's files"); });
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
  });
  comm.all_reduce_max(std::span(&done, 1));
  return done != 0;
}

void mark_done(comm::HostComm& comm, const StageWork& work, const std::vector<std::string>& outputs) {
  const comm::TerminationHold hold;  // on every rank: those that wait do so to the end
  comm::agree(comm, "noting that a stage is done", true, [&] {
    if (!comm.is_root()) return;
    // What was made is noted even where the job is told to stop meanwhile: a signal waits.
    note_done(work, outputs, [&] { comm.check_lost("noting that a stage is done"); });
  });
}

bool m_is_private(const Context& context) {
  using privacy::Adjacency;
  if (context.config.privacy.adjacency == Adjacency::kAddRemoveOne) return true;
  std::vector<std::filesystem::path> files{context.out / kConfigFile};
  for (const std::filesystem::path& file : context.reads)
    if (file.filename() == kConfigFile) files.push_back(file);
  return std::any_of(files.begin(), files.end(), [](const std::filesystem::path& file) {
    try {
      if (!is_there(file, "the settings of a run folder", "Nothing was changed.")) return false;
      const auto settings = settings_in(file.string());
      const auto adjacency = settings.find("privacy.adjacency");
      return adjacency != settings.end() &&
             adjacency->second ==
                 settings::toml_string(std::string(privacy::to_string(Adjacency::kAddRemoveOne)));
    } catch (const Error&) {  // record_settings() says so
      return false;
    }
  });
}

void round_times(const Context& context) {
  if (!context.m_is_private) return;
  namespace fs = std::filesystem;
  std::error_code no_link;
  const fs::path real = fs::canonical(context.out, no_link);  // --out may be a link to it
  if (!context.comm.is_root()) {                              // on a host of its own these alone are there
    muffle::round_times(context.out / "tensorboard");
    round_own_times(context.out / "logs");
    round_own_times(context.out);
    return;
  }
  const auto own = [&](const fs::path& file) {
    const std::string name = file.filename().string();
    if (name == "logs" || name == "tensorboard") return true;
    if (name == "data") return !context.config.data.generate.empty();
    for (const schema::RecordFormat* format : sample_formats())
      if (format->writes_folder() && name == format->files("samples").back()) return true;
    // Beginnings: beside them lie signatures, and what killed jobs left.
    constexpr std::string_view kOwn[] = {kConfigFile, kReleaseFile, kPrivacyJson,  kPrivacyText,
                                         kModelFile,  kMetricsFile, "stages.json", "samples.",
                                         "samples-",  ".samples.",  "checkpoint-", kNotPrivate};
    return std::any_of(std::begin(kOwn), std::end(kOwn),
                       [&](std::string_view beginning) { return name.starts_with(beginning); });
  };
  std::vector<fs::path> files;
  {
    const WatchedStep step("looking at", context.out);
    std::error_code none;
    for (auto i = fs::directory_iterator(context.out, none); i != fs::directory_iterator(); i.increment(none))
      if (own(i->path())) files.push_back(i->path());
  }
  for (const fs::path& file : files) muffle::round_times(file);
  for (const fs::path& file : context.writes) round_own_times(file);
  constexpr std::time_t kClocksDiffer = 600;  // on servers
  const std::time_t since = context.begun - kClocksDiffer;
  for (const fs::path& file : context.reads) round_own_times(file, since);
  muffle::round_times(context.out, since);
  round_own_times(context.out);
  if (!no_link) round_own_times(real);
}

bool samples_are_private(const std::filesystem::path& samples_json) {
  const auto unsaid = [&] {
    return !is_there(samples_json.parent_path() / kNotPrivate, "a mark beside samples",
                     "Nothing was changed.");
  };
  if (!is_there(samples_json, "the samples' description", "Nothing was changed.")) return unsaid();
  const auto description =
      nlohmann::json::parse(read_file(samples_json), nullptr, /*allow_exceptions=*/false);
  try {
    const JsonDocument document;
    return JsonFields(description, document).flag("is_private");
  } catch (const ProtocolError&) {
    return unsaid();
  }
}

namespace {

constexpr const char* kWhyNotPrivate =
    "NOT PRIVATE: its release has test noise (--insecure-seeded-noise) or none (--insecure-no-noise). "
    "Show it, and what is made from it, to nobody who may not see the records.";

}  // namespace

void mark_not_private(const std::filesystem::path& folder) {
  write_file_atomically(folder / kNotPrivate,
                        fmt::format("What lies in this folder is {}\n", kWhyNotPrivate));
}

void end_stage(const Context& context, Stage stage, const std::string& name,
               const std::filesystem::path& file, const std::function<bool()>& is_private) {
  comm::agree(context.comm, "noting the settings", true, [&] {
    if (!context.comm.is_root()) return;
    record_settings(context, stage);
    if (is_private()) return;
    mark_not_private(context.out);
    spdlog::warn("{}: {} is {}", name, file.string(), kWhyNotPrivate);
  });
}

}  // namespace muffle::app
