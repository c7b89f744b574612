#include "run_folder.hpp"

#include <spdlog/spdlog.h>

#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/data/mixture.hpp"

namespace muffle::app {
namespace {

constexpr std::uint64_t kMixtureSeed = 1;

/// Ledger, signature and the like belong to the release, though they do not change its numbers.
bool belongs_to(const settings::Key& key, Stage stage) {
  if (key.name.starts_with("runtime.")) return true;
  return key.stage == stage || (key.stage == Stage::kRuntime && stage == Stage::kRelease);
}

}  // namespace

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
    if (belongs_to(key, stage)) settings[key.name] = key.get();
  }
  const std::string text = to_toml(settings);
  if (text != before) write_file_atomically(file, text);
}

data::DataSpec records_of(const Context& context) {
  data::DataSpec records = context.config.data;
  if (!context.config.data.generate.empty()) records.dir = (context.out / "data").string();
  return records;
}

data::DataSpec prepare_records(Context& context) {
  data::DataSpec records = records_of(context);
  if (context.config.data.generate.empty()) return records;
  comm::agree(context.comm, "making the data", true, [&] {
    if (!context.comm.is_root()) return;
    ensure_writable_folder(records.dir);
    spdlog::info("data: making the papers' 2-D Gaussian mixture in {}", records.dir);
    data::write_mixture(records.dir, kMixtureSeed);
  });
  return records;
}

}  // namespace muffle::app
