#include "muffle/train/moments_fit.hpp"

#include <spdlog/spdlog.h>

#include <chrono>

#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/core/hash.hpp"
#include "muffle/release/noisy_moments.hpp"
#include "muffle/model/moments_model.hpp"

namespace muffle::train {

std::string fit_moments(comm::HostComm& comm, const std::filesystem::path& release_file,
                        const std::filesystem::path& model_file, const model::GeneratorSpec& generator,
                        const std::string& train_hash) {
  std::string hash;
  comm::agree(
      comm, "fitting the closed form",
      [&] {
        if (!comm.is_root()) return;
        const auto start = std::chrono::steady_clock::now();
        const std::string bytes = read_file(release_file);
        const release::Artifact artifact = release::parse_artifact(bytes, release_file.string());
        model::ModelInfo info{
            generator,  release::class_share(artifact), to_hex(sha256(bytes)),
            train_hash, artifact.is_private,          release::noisy_counts(artifact).has_value()};
        info.spec.schema = artifact.schema;
        const auto alive = [&] { comm.check_peers("fitting the closed form"); };
        hash = model::save_moments_model(
            model_file, model::fit_moments_model(release::make_noisy_moments(artifact), info, alive));
        const double seconds =
            std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        spdlog::info("train: closed form in {:.1f} s", seconds);
      },
      /*share_message=*/true);
  return comm::broadcast_text(comm, hash);
}

}  // namespace muffle::train
