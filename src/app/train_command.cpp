#include <spdlog/spdlog.h>

#include "muffle/app/commands.hpp"
#include "muffle/core/error.hpp"
#include "muffle/model/model_info.hpp"
#include "muffle/train/moments_fit.hpp"
#include "muffle/train/trainer.hpp"
#include "run_folder.hpp"
#include "stages.hpp"

namespace muffle::app {

void train(Context& context, const std::filesystem::path& release_file) {
  const auto file = context.out / kModelFile;
  const StageWork work{"train", stage_hash(context.config, Stage::kTrain), release_file, context.out};
  if (!is_done(context.comm, work)) {
    if (context.config.model.kind == model::GeneratorKind::kMoments) {
      train::fit_moments(context.comm, release_file, file, context.config.model, work.settings);
    } else {
      train::train(context.comm, release_file, file, context.config.model, context.config.train,
                   work.settings, context.threads);
    }
    mark_done(context.comm, work, {kModelFile});
    spdlog::info("train: {}", file.string());
  }
  comm::agree(
      context.comm, "noting the settings",
      [&] {
        if (!context.comm.is_root()) return;
        record_settings(context, Stage::kTrain);
        if (!model::load_model_info(file).is_private) warn_not_private("train", file);
      },
      true);
}

}  // namespace muffle::app
