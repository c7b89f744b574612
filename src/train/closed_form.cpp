#include "muffle/core/files.hpp"
#include "muffle/core/hash.hpp"
#include "muffle/core/progress.hpp"
#include "muffle/release/artifact.hpp"
#include "muffle/train/trainer.hpp"

namespace muffle::train {

void fit_closed_form(comm::HostComm& comm, const std::filesystem::path& release_file,
                     const std::filesystem::path& model_file, const model::ClosedFormSettings& generator,
                     const std::string& train_hash) {
  comm::agree(comm, "fitting the closed form", true, [&] {
    if (!comm.is_root()) return;
    const std::string bytes = read_file(release_file);
    const release::Artifact artifact = release::parse_artifact(bytes, release_file.string());
    const model::ModelInfo info{generator.clone(),
                                artifact.schema,
                                release::class_share(artifact),
                                to_hex(sha256(PublicBytes(bytes))),
                                train_hash,
                                artifact.is_private,
                                release::noisy_counts(artifact).has_value()};
    Progress progress("train: fitting the closed form", Progress::kNoTotal, "steps", true);
    std::uint64_t done = 0;
    const auto heartbeat = [&] {
      progress.update(++done);
      comm.check_peers("fitting the closed form");
    };
    model::save_model(model_file, info, generator.fit(artifact, heartbeat));
  });
}

}  // namespace muffle::train
