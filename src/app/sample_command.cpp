#include <spdlog/spdlog.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "muffle/app/commands.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/synth/sampler.hpp"
#include "run_folder.hpp"
#include "stages.hpp"

namespace muffle::app {
namespace {

constexpr const char* kPngFolder = "png";

/// What synth::sample wrote: its description has the names of all but the class folders.
std::vector<std::string> files_of(const Context& context) {
  const auto description = nlohmann::json::parse(read_file(context.out / kSamplesJson));
  std::vector<std::string> files{kSamplesJson};
  for (const auto& [name, hash] : description.at("files").items()) files.push_back(name);
  const auto& formats = context.config.sample.formats;
  if (std::find(formats.begin(), formats.end(), "png") != formats.end()) files.emplace_back(kPngFolder);
  return files;
}

}  // namespace

void sample(Context& context, const std::filesystem::path& model_file) {
  const StageWork work{"sample", stage_hash(context.config, Stage::kSample), model_file, context.out};
  if (!is_done(context.comm, work)) {
    synth::sample(context.comm, model_file, context.out, context.config.sample, work.settings,
                  context.threads);
    mark_done(context.comm, work, context.comm.is_root() ? files_of(context) : std::vector<std::string>{});
  }
  comm::agree(
      context.comm, "noting the settings",
      [&] {
        if (!context.comm.is_root()) return;
        record_settings(context, Stage::kSample);
        if (!samples_are_private(context.out / kSamplesJson)) warn_not_private("sample", context.out);
      },
      true);
}

}  // namespace muffle::app
