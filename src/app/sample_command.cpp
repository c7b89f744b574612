#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "muffle/app/commands.hpp"
#include "muffle/core/files.hpp"
#include "muffle/core/watchdog.hpp"
#include "muffle/model/model_file.hpp"
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

/// Scores of samples that are about to go: beside other rows they would be taken for theirs. Scores of
/// samples that lie elsewhere stay. On root.
void remove_their_scores(const std::filesystem::path& folder) {
  const auto of = [&](const char* name) {
    const auto file = folder / name;
    return is_there(file, "what was sampled before", "Nothing was changed.")
               ? nlohmann::json::parse(read_file(file), nullptr, /*allow_exceptions=*/false)
               : nlohmann::json();
  };
  const nlohmann::json metrics = of(kMetricsFile), samples = of(kSamplesJson);
  if (!metrics.is_object() || !samples.is_object()) return;
  const auto hash = metrics.find("samples_hash"), files = samples.find("files");
  if (hash == metrics.end() || files == samples.end()) return;
  if (std::find(files->begin(), files->end(), *hash) == files->end()) return;
  const WatchedStep step("removing the scores of earlier samples in", folder);
  std::error_code none;
  std::filesystem::remove(folder / kMetricsFile, none);
  spdlog::info("sample: {} is removed: its scores are those of the samples that were here before",
               kMetricsFile);
}

/// Without settings beside it, the model alone says what suits its records.
void choose_formats(Context& context, const std::filesystem::path& model_file) {
  std::string formats;
  comm::agree(context.comm, "reading the model", true, [&] {
    if (context.comm.is_root())
      formats = nlohmann::json(usual_formats(model::load_model_info(model_file).schema)).dump();
  });
  synth::SampleSpec& spec = context.config.sample;
  spec.formats = nlohmann::json::parse(comm::broadcast_text(context.comm, formats));
  if (!context.config.named.contains("sample.count"))
    spdlog::info("sample: {} records as {}, as nothing says how many and how: sample.count, sample.formats",
                 spec.count, formats);
}

}  // namespace

void sample(Context& context, const std::filesystem::path& model_file) {
  if (!context.config.named.contains("sample.formats")) choose_formats(context, model_file);
  // Noted once it was read as a model.
  const StageWork work{"sample", stage_hash(context.config, Stage::kSample), PublicFile(model_file),
                       context.out};
  if (!is_done(context.comm, work)) {
    const auto start = std::chrono::steady_clock::now();
    comm::agree(context.comm, "removing earlier scores", true, [&] {
      if (context.comm.is_root()) remove_their_scores(context.out);
    });
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
