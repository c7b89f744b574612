#include "muffle/train/moments_fit.hpp"

#include <gtest/gtest.h>

#include <csignal>

#include "release/sample_artifact.hpp"
#include "muffle/comm/termination.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/core/hash.hpp"
#include "muffle/model/moments_model.hpp"
#include "support/expect_error.hpp"
#include "support/temporary_folder.hpp"
#include "support/thread_comm.hpp"

namespace muffle::train {
namespace {

class MomentsFit : public ::testing::Test {
 protected:
  MomentsFit() { spec_.kind = model::GeneratorKind::kMoments; }

  void release(bool moments, std::vector<std::int64_t> records = {}) {
    release::Artifact artifact =
        release::testing_artifact::sample_artifact({.rff = !moments, .moments = moments});
    const auto block = artifact.find("moments");
    for (std::size_t c = 0; block && c < records.size(); ++c)
      artifact.values[artifact.offset(*block) + c * artifact.features(*block)] *= records[c];
    release::write_artifact(release_, artifact);
  }
  /// Fits on `ranks` ranks. @returns the hash that all agree on.
  std::string fit(int ranks, const std::filesystem::path& file) {
    std::vector<std::string> hashes(static_cast<std::size_t>(ranks));
    test::run_thread_ranks(ranks, [&](comm::HostComm& comm) {
      hashes[static_cast<std::size_t>(comm.rank())] = fit_moments(comm, release_, file, spec_, "settings");
    });
    for (const std::string& hash : hashes) EXPECT_EQ(hash, hashes.front());
    return hashes.front();
  }

  test::TemporaryFolder folder_;
  const std::filesystem::path release_ = folder_ / "release.mfl", model_ = folder_ / "model.mfl";
  model::GeneratorSpec spec_;
};

TEST_F(MomentsFit, AnyNumberOfRanksWritesTheSameModel) {
  release(true);
  const std::string alone = fit(1, model_);
  EXPECT_EQ(alone, sha256_file_hex(model_.string()));
  EXPECT_EQ(fit(3, folder_ / "other.mfl"), alone);
  const model::ModelInfo info = model::load_model_info(model_);
  EXPECT_EQ(info.release_hash, sha256_file_hex(release_.string()));
  EXPECT_EQ(info.train_hash, "settings");
  EXPECT_TRUE(info.is_private);
}

TEST_F(MomentsFit, ClassSharesAreTheTraces) {
  release(true, {2, 1, 1});
  fit(1, model_);
  const auto share = model::load_model_info(model_).class_share;
  ASSERT_EQ(share.size(), 3u);
  EXPECT_NEAR(share[0], 0.5, 0.02);
  EXPECT_NEAR(share[1], 0.25, 0.02);
}

TEST_F(MomentsFit, EveryRankThrowsAlike) {
  release(false);
  test::run_thread_ranks(2, [&](comm::HostComm& comm) {
    EXPECT_THROW(fit_moments(comm, release_, model_, spec_, "settings"), ConfigError);
  });
  EXPECT_FALSE(std::filesystem::exists(model_));
}

// Root shows life between the steps of the fit, which may be long, and hears there that it is to stop.
TEST_F(MomentsFit, RootHearsTheOthersBetweenTheSteps) {
  release(true);
  comm::install_termination_handler();
  ASSERT_EQ(std::raise(SIGUSR1), 0);
  test::run_thread_ranks(2, [&](comm::HostComm& comm) {
    test::expect_error(ExitCode::kStopped, {"fitting the closed form"},
                       [&] { fit_moments(comm, release_, model_, spec_, "settings"); });
  });
  comm::clear_termination_request();
  EXPECT_FALSE(std::filesystem::exists(model_));
}

}  // namespace
}  // namespace muffle::train
