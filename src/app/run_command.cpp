#include <fmt/format.h>
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
  // The time taken tells m, which is private under add/remove-one.
  const bool time_is_public = context.config.privacy.adjacency == privacy::Adjacency::kReplaceOne;
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  spdlog::info("run: done{}; everything is in {}", time_is_public ? fmt::format(" in {:.1f} s", seconds) : "",
               context.out.string());
}

}  // namespace muffle::app
