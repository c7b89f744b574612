#include <spdlog/spdlog.h>

#include <chrono>

#include "muffle/app/commands.hpp"

namespace muffle::app {

void run(Context& context) {
  const auto start = std::chrono::steady_clock::now();
  release(context);
  train(context, context.out / kReleaseFile);
  sample(context, context.out / kModelFile);
  if (!context.config.evaluate.metrics.empty()) evaluate(context, context.out / kSamplesNpz);
  spdlog::info("run: done in {:.1f} s; everything is in {}",
               std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(),
               context.out.string());
}

}  // namespace muffle::app
