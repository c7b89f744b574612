// What the plan says of memory against what the stages take. Not built under the sanitizers, which keep freed
// memory.
#include <gtest/gtest.h>

#include <string>

#include "muffle/app/config.hpp"
#include "muffle/comm/host_comm.hpp"
#include "muffle/core/files.hpp"
#include "muffle/core/philox.hpp"
#include "muffle/release/artifact.hpp"
#include "muffle/train/trainer.hpp"
#include "support/planned_release.hpp"
#include "support/resident_memory.hpp"
#include "support/temporary_folder.hpp"

namespace muffle::app {
namespace {

/// Columns in 20 classes: few enough to be fitted soon, and enough that their moments outweigh all else.
Config config_of(std::size_t columns, const std::string& file) {
  ConfigSources sources;
  sources.file = std::string(MUFFLE_CONFIGS) + "/" + file;
  sources.set = {"data.shape=[" + std::to_string(columns) + "]",
                 "data.classes=20",
                 "data.records=2000",
                 "map.moments.lift=\"vector\"",
                 "privacy.epsilon=100.0",
                 "sample.sharpen=0.0"};
  if (file == "fashion-mnist-init.toml") {
    sources.set.insert(sources.set.end(),
                       {"model.generator=\"fully-connected\"", "model.hidden=[16]", "map.rff.count=64",
                        "map.proxy.count=64", "train.steps=3", "train.batch=100"});
  }
  return load_config(sources, {.release = true, .train = true});
}

/// Of uniform records, without noise: it would change no size.
void write_release(const std::filesystem::path& path, const Config& config) {
  const std::size_t dims = config.data.schema.dims(), n = config.data.records;
  const CounterStream random(1, Stream::kTest);
  std::vector<float> x;
  std::vector<std::int32_t> y;
  for (std::size_t i = 0; i < n; ++i) y.push_back(static_cast<std::int32_t>(i % config.data.schema.classes));
  for (std::size_t i = 0; i < n * dims; ++i) x.push_back(static_cast<float>(random.uniform(i)));
  write_file_atomically(path, release::artifact_bytes(test::planned_release(
                                  config.data.schema, config.features.resolved(config.data.schema), x, y)));
}

class PlanMemory : public ::testing::Test {
 protected:
  /// Bytes that a small job takes for good, and then what the one that counts takes beside the plan's figure.
  template <class Stage>
  double measured(const std::string& file, const Stage& stage) {
    for (const std::size_t columns : {8, 8, 250}) {
      config_ = config_of(columns, file);
      write_release(release_, config_);
      last_ = 1024.0 * static_cast<double>(test::rise_kb([&] { stage(config_); }));
    }
    return last_;
  }

  train::Cost cost() const {
    return train::cost(config_.plan, config_.model.chosen(), config_.train, /*ranks=*/1);
  }

  test::TemporaryFolder folder_;
  const std::filesystem::path release_ = folder_ / "release.mfl", model_ = folder_ / "model.mfl";
  const std::unique_ptr<comm::HostComm> comm_ = comm::single_process();
  Config config_;
  double last_ = 0;
};

TEST_F(PlanMemory, OfTheClosedForm) {
  const double got = measured("fashion-mnist-moments.toml", [&](const Config& c) {
    train::fit_closed_form(*comm_, release_, model_, *c.model.chosen().closed_form(), "hash");
  });
  const auto planned = static_cast<double>(cost().fit_root);
  EXPECT_LT(got, 1.05 * planned) << "the plan says too little";
  EXPECT_GT(got, 0.7 * planned) << "the plan says too much";
}

TEST_F(PlanMemory, OfATrainingFromTheClosedForm) {
  const double got = measured("fashion-mnist-init.toml", [&](const Config& c) {
    train::train(*comm_, read_file(release_), "release", model_, *c.model.chosen().network(), c.train, "hash",
                 1);
  });
  const auto planned = static_cast<double>(cost().memory);
  EXPECT_LT(got, 1.05 * planned) << "the plan says too little";
  EXPECT_GT(got, 0.6 * planned) << "the plan says too much";
}

}  // namespace
}  // namespace muffle::app
