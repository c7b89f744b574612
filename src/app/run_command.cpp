#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <chrono>
#include <string>
#include <vector>

#include "muffle/app/commands.hpp"

namespace muffle::app {

void run(Context& context) {
  const auto start = std::chrono::steady_clock::now();
  release(context);
  train(context, context.out / kReleaseFile);
  sample(context, context.out / kModelFile);
  evaluate::Settings& metrics = context.config.evaluate;
  if (context.config.data.test_features.empty()) {
    for (const std::string& name : metrics.leave_out_real()) {
      spdlog::info(
          "evaluate: \"{}\" is left out, as there is nothing to test on: data.test_features names no "
          "held-out real "
          "records",
          name);
    }
  }
  if (!metrics.metrics.empty())
    evaluate(context, context.out / evaluate::samples_file(context.config.sample.formats));
  // The time taken tells m, which is private under add/remove-one.
  const bool time_is_public = context.config.privacy.adjacency == privacy::Adjacency::kReplaceOne;
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  spdlog::info("run: done{}; everything is in {}", time_is_public ? fmt::format(" in {:.1f} s", seconds) : "",
               context.out.string());
}

}  // namespace muffle::app
