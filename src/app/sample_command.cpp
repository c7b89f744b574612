#include <spdlog/spdlog.h>

#include <nlohmann/json.hpp>

#include "muffle/app/commands.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/core/hash.hpp"
#include "muffle/synth/sampler.hpp"
#include "stages.hpp"

namespace muffle::app {

bool output_matches(comm::HostComm& comm, const std::string& stage, const std::filesystem::path& file,
                    const std::function<bool()>& matches) {
  std::int64_t there = 0;
  if (comm.is_root() && std::filesystem::exists(file)) {
    try {
      there = matches() ? 1 : 0;
      if (there == 0) spdlog::info("{}: {} belongs to other settings; making it again", stage, file.string());
    } catch (const std::exception& e) {
      spdlog::warn("{}: making {} again, because it cannot be used: {}", stage, file.string(), e.what());
    }
  }
  comm.all_reduce_max(std::span(&there, 1));
  if (there != 0) spdlog::info("{}: {} is there already and matches", stage, file.string());
  return there != 0;
}

void sample(Context& context, const std::filesystem::path& model_file) {
  const std::string hash = stage_hash(context.config, Stage::kSample);
  const auto description = context.out / kSamplesJson;
  if (output_matches(context.comm, "sample", description, [&] {
        const auto json = nlohmann::json::parse(read_file(description));
        return json.at("sample_hash") == hash &&
               json.at("model_hash") == sha256_file_hex(model_file.string());
      })) {
    return;
  }
  synth::sample(context.comm, model_file, context.out, context.config.sample, hash, context.threads);
}

}  // namespace muffle::app
