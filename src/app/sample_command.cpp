#include <spdlog/spdlog.h>

#include <chrono>
#include <nlohmann/json.hpp>

#include "muffle/app/commands.hpp"
#include "muffle/core/files.hpp"
#include "muffle/synth/sampler.hpp"
#include "run_folder.hpp"

namespace muffle::app {
namespace {

/// What synth::sample wrote: its description has the names of all but the folders.
std::vector<std::string> files_of(const Context& context) {
  const auto description = nlohmann::json::parse(read_file(context.out / kSamplesJson));
  std::vector<std::string> files{kSamplesJson};
  for (const auto& [name, hash] : description.at("files").items()) files.push_back(name);
  for (const schema::RecordFormat* format : sample_formats()) {
    if (format->writes_folder() && context.config.sample.wants(*format))
      files.push_back(format->files("samples").back());
  }
  return files;
}

}  // namespace

void sample(Context& context, const std::filesystem::path& model_file) {
  // Noted once it was read as a model.
  const StageWork work{"sample", stage_hash(context.config, Stage::kSample), PublicFile(model_file),
                       context.out};
  if (!is_done(context.comm, work)) {
    const auto start = std::chrono::steady_clock::now();
    const std::vector<comm::CollectiveUse> use_before = context.comm.collective_use();
    synth::sample(context.comm, model_file, context.out, context.config.sample, sample_formats(),
                  work.settings, context.threads);
    const double s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    spdlog::debug("sample: {} records in {:.3g} s, {:.4g} a second; collectives of rank {}: {}",
                  context.config.sample.count, s, static_cast<double>(context.config.sample.count) / s,
                  context.comm.rank(), comm::describe_use(use_before, context.comm.collective_use()));
    mark_done(context.comm, work, context.comm.is_root() ? files_of(context) : std::vector<std::string>{});
  }
  end_stage(context, Stage::kSample, "sample", context.out,
            [&] { return samples_are_private(context.out / kSamplesJson); });
}

}  // namespace muffle::app
