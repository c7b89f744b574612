#include <gtest/gtest.h>

#include <csignal>

#include "muffle/comm/termination.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/core/hash.hpp"
#include "muffle/model/model_file.hpp"
#include "muffle/train/trainer.hpp"
#include "support/expect_error.hpp"
#include "support/planned_release.hpp"
#include "support/temporary_folder.hpp"
#include "support/thread_comm.hpp"

namespace muffle::train {
namespace {

class ClosedForm : public ::testing::Test {
 protected:
  /// @param records  how often each class's records are there
  void release(bool moments, std::vector<int> records = {1, 1, 1}) {
    const schema::Schema schema = test::schema_of({1, 2, 2}, 3);
    const CounterStream random(1, Stream::kTest);
    std::vector<float> x;
    std::vector<std::int32_t> y;
    for (std::uint64_t i = 0; i < 600; ++i) {
      for (int copy = 0; copy < records[i % 3]; ++copy) {
        for (std::uint64_t j = 0; j < 4; ++j) x.push_back(static_cast<float>(random.uniform(4 * i + j)));
        y.push_back(static_cast<std::int32_t>(i % 3));
      }
    }
    const auto map = moments ? test::make_moments({{"lift", "image"}, {"coefficients", "2"}}, schema)
                             : test::make_map("rff", {{"count", "8"}}, schema);
    write_file_atomically(
        release_, artifact_bytes(test::planned_release(schema, {test::named("only", map->clone())}, x, y)));
  }
  /// Fits on `ranks` ranks.
  void fit(int ranks, const std::filesystem::path& file) {
    test::run_thread_ranks(
        ranks, [&](comm::HostComm& comm) { fit_closed_form(comm, release_, file, settings_, "settings"); });
  }

  test::TemporaryFolder folder_;
  const std::filesystem::path release_ = folder_ / "release.mfl", model_ = folder_ / "model.mfl";
  std::unique_ptr<model::GeneratorSettings> generator_ = model::make_generator_settings("moments");
  const model::ClosedFormSettings& settings_ = *generator_->closed_form();
};

TEST_F(ClosedForm, AnyNumberOfRanksWritesTheSameModel) {
  release(true);
  fit(1, model_);
  fit(3, folder_ / "other.mfl");
  EXPECT_EQ(read_file(folder_ / "other.mfl"), read_file(model_));
  const model::ModelInfo info = model::load_model_info(model_);
  EXPECT_EQ(info.release_hash, sha256_file_hex(PublicFile(release_)));
  EXPECT_EQ(info.train_hash, "settings");
  EXPECT_FALSE(info.is_private);
}

TEST_F(ClosedForm, ClassSharesAreTheTraces) {
  release(true, {2, 1, 1});
  fit(1, model_);
  const auto share = model::load_model_info(model_).class_share;
  ASSERT_EQ(share.size(), 3u);
  EXPECT_NEAR(share[0], 0.5, 0.02);
  EXPECT_NEAR(share[1], 0.25, 0.02);
}

TEST_F(ClosedForm, EveryRankThrowsAlike) {
  release(false);
  test::run_thread_ranks(2, [&](comm::HostComm& comm) {
    EXPECT_THROW(fit_closed_form(comm, release_, model_, settings_, "settings"), ConfigError);
  });
  EXPECT_FALSE(std::filesystem::exists(model_));
}

// Root shows life between the steps of the fit, which may be long, and hears there that it is to stop.
TEST_F(ClosedForm, RootHearsTheOthersBetweenTheSteps) {
  release(true);
  comm::install_termination_handler();
  ASSERT_EQ(std::raise(SIGUSR1), 0);
  test::run_thread_ranks(2, [&](comm::HostComm& comm) {
    test::expect_error(ExitCode::kStopped, {"fitting the closed form"},
                       [&] { fit_closed_form(comm, release_, model_, settings_, "settings"); });
  });
  comm::clear_termination_request();
  EXPECT_FALSE(std::filesystem::exists(model_));
}

}  // namespace
}  // namespace muffle::train
