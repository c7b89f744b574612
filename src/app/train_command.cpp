#include <spdlog/spdlog.h>

#include "muffle/app/commands.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/hash.hpp"
#include "muffle/model/model_info.hpp"
#include "muffle/train/trainer.hpp"
#include "stages.hpp"

namespace muffle::app {

void train(Context& context, const std::filesystem::path& release_file) {
  const auto file = context.out / kModelFile;
  const std::string hash = stage_hash(context.config, Stage::kTrain);
  if (output_matches(context.comm, "train", file, [&] {
        const model::ModelInfo info = model::load_model_info(file);
        return info.train_hash == hash && info.release_hash == sha256_file_hex(release_file.string());
      })) {
    return;
  }
  train::train(context.comm, release_file, file, context.config.model, context.config.train, hash,
               context.threads);
  spdlog::info("train: {}", file.string());
}

}  // namespace muffle::app
