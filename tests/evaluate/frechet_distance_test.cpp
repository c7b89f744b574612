// Frechet's distance in the outputs of a public network of the user's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <torch/script.h>
#include <torch/torch.h>

#include "evaluate/frechet.hpp"
#include "muffle/core/hash.hpp"
#include "muffle/core/kinds.hpp"
#include "muffle/core/philox.hpp"
#include "muffle/evaluate/metric.hpp"
#include "muffle/features/perceptual.hpp"
#include "muffle/networks/network.hpp"
#include "support/expect_error.hpp"
#include "support/networks.hpp"
#include "support/records.hpp"
#include "support/temporary_folder.hpp"

namespace muffle::evaluate {
namespace {

using ::testing::HasSubstr;

constexpr std::size_t kPixels = 10;  // the network's is 8

schema::Records noise_images(std::size_t n, std::uint32_t substream, unsigned brightest = 256) {
  const CounterStream stream(3, Stream::kTest, substream);
  schema::Records records;
  records.shape = {3, kPixels, kPixels};
  for (std::size_t i = 0; i < n; ++i) {
    records.labels.push_back(static_cast<std::uint8_t>(i % 2));
    for (std::size_t p = 0; p < 3 * kPixels * kPixels; ++p)
      records.bytes.push_back(
          static_cast<std::uint8_t>(stream.below(i * 3 * kPixels * kPixels + p, brightest)));
  }
  return records;
}

class FrechetDistanceTest : public ::testing::Test {
 protected:
  FrechetDistanceTest() {
    test::write_records(folder_ / "train-images.idx", noise_images(90, 0));
    test::write_records(folder_ / "test-images.idx", noise_images(70, 1, 230));
    data_.dir = folder_.path().string();
    data_.features = "train-images.idx", data_.labels = "train-labels.idx";
    data_.test_features = "test-images.idx", data_.test_labels = "test-labels.idx";
    data_.schema = {.shape = {3, kPixels, kPixels}, .classes = 2, .hi = 255};
    data_.records = 90;
    set("network", test::small_network());
  }
  void set(const std::string& key, const std::string& value, bool list = false) {
    settings::Keys keys("evaluate");
    metric_->declare(keys);
    settings::Value v{.text = value, .shown = value};
    if (list) v = {.kind = settings::Value::Kind::kArray, .items = {v}, .shown = value};
    bool known = false;
    for (const settings::Key& k : keys.take()) {
      if (k.name != "evaluate.frechet_" + key) continue;
      EXPECT_EQ(k.set(v), "");
      known = true;
    }
    EXPECT_TRUE(known) << key;
  }
  std::string problem() const {
    settings::Problems problems;
    metric_->problems(data_, problems);
    std::string all;
    for (const std::string& text : problems.take()) all += text + "\n";
    return all;
  }
  Findings score(const schema::Records& made) {
    test::write_records(folder_ / "samples.npz", made);
    return metric_->score({folder_ / "samples.npz", data_.test(), data_, 2, {}});
  }
  nlohmann::json scored(const schema::Records& made) { return json_of(score(made), "frechet-distance"); }

  const test::TemporaryFolder folder_;
  const std::unique_ptr<Metric> metric_ = find_kind(metric_kinds(), "frechet-distance", "metric").make();
  data::Settings data_;
};

/// By PyTorch's own functions and plain sums: bilinear to 8 x 8, the second output's means or all of it.
Spread plain_spread(const schema::Records& records, bool pooled) {
  torch::jit::Module network = torch::jit::load(test::small_network());
  const auto n = static_cast<std::int64_t>(records.labels.size());
  torch::Tensor x = torch::empty({n, 3, kPixels, kPixels});
  for (std::int64_t i = 0; i < x.numel(); ++i)
    x.data_ptr<float>()[i] = static_cast<float>(records.bytes[static_cast<std::size_t>(i)]) / 255.0f;
  namespace F = torch::nn::functional;
  x = F::interpolate(x, F::InterpolateFuncOptions()
                            .size(std::vector<std::int64_t>{8, 8})
                            .mode(torch::kBilinear)
                            .align_corners(false));
  const auto by_channel = [](float a, float b, float c) {
    return torch::tensor({a, b, c}).view({1, 3, 1, 1});
  };
  x = (x - by_channel(0.5f, 0.4f, 0.3f)) / by_channel(0.3f, 0.25f, 0.2f);
  torch::Tensor y = network.forward({x}).toTensorVector()[1];
  y = (pooled ? y.mean({2, 3}) : y.flatten(1)).to(torch::kFloat64).contiguous();
  const Eigen::Map<const Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>> rows(
      y.data_ptr<double>(), n, y.size(1));
  Spread out{rows.colwise().mean(), Eigen::MatrixXd::Zero(y.size(1), y.size(1))};
  for (std::int64_t i = 0; i < n; ++i) {
    const Eigen::VectorXd off = rows.row(i).transpose() - out.mean;
    out.covariance += off * off.transpose() / static_cast<double>(n - 1);
  }
  return out;
}

TEST_F(FrechetDistanceTest, IsThatOfPlainSumsOverTheNamedOutput) {
  set("layers", "second", /*list=*/true);
  for (const bool pooled : {true, false}) {
    set("pool", pooled ? "channel" : "none");
    const schema::Records made = noise_images(150, 2, 200);
    const Spread synthetic = plain_spread(made, pooled),
                 test = plain_spread(noise_images(70, 1, 230), pooled);
    const FrechetDistance training(plain_spread(noise_images(90, 0), pooled));
    const nlohmann::json found = scored(made);
    const auto expect_near = [](const nlohmann::json& number, double expected) {
      EXPECT_GT(expected, 0.0);
      EXPECT_NEAR(number.get<double>(), expected, 0.006 * expected);  // three digits
    };
    expect_near(found.at("frechet_distance").at("synthetic"), FrechetDistance(test).to(synthetic));
    expect_near(found.at("frechet_distance_to_training").at("synthetic"), training.to(synthetic));
    expect_near(found.at("frechet_distance_to_training").at("test"), training.to(test));
  }
}

TEST_F(FrechetDistanceTest, SaysWhatAnotherProgramNeedsToMakeTheSameNumber) {
  set("layers", "second", /*list=*/true);
  const Findings found = score(noise_images(150, 2));
  const std::string hash = sha256_file_hex(PublicFile(test::small_network()));
  const nlohmann::json by = json_of(found, "frechet-distance").at("frechet_distance").at("by");
  EXPECT_EQ(by.at("network").at("sha256"), hash);
  EXPECT_EQ(by.at("layers").size(), 1u);
  EXPECT_EQ(by.at("resize"), "bilinear");
  EXPECT_EQ(by.at("pool"), "channel");
  EXPECT_EQ(by.at("samples"), 150);
  EXPECT_EQ(by.at("input").at("mean"), (nlohmann::json{0.5, 0.4, 0.3}));
  EXPECT_THAT(text_of(found), HasSubstr(hash));
  EXPECT_THAT(text_of(found), HasSubstr("5 numbers an image (means over places) in second"));
  EXPECT_THAT(text_of(found), HasSubstr("8 x 8 pixels, from 10 x 10 (bilinear"));
  EXPECT_THAT(text_of(found), HasSubstr("rgb order, (1 x - [0.5, 0.4, 0.3]) / [0.3, 0.25, 0.2]"));
  EXPECT_THAT(text_of(found), HasSubstr("150 synthetic images"));
}

TEST_F(FrechetDistanceTest, NeedsNoLabelsAndGoesWithoutTheReleasesOwnRecords) {
  metric_->leave_out_own();
  EXPECT_FALSE(metric_->reads_own_records());
  EXPECT_EQ(metric_->real_records(data_.test(), data_).size(), 1u);
  data_.features = data_.labels = data_.test_labels = "";
  data_.schema.classes = 1;
  EXPECT_EQ(problem(), "");
  schema::Records made = noise_images(20, 2);
  made.labels.assign(20, 0);
  const nlohmann::json found = scored(made);
  EXPECT_TRUE(found.at("frechet_distance").contains("synthetic"));
  EXPECT_FALSE(found.contains("frechet_distance_to_training"));
}

TEST_F(FrechetDistanceTest, WhatItCannotLookAtIsSaidBeforeAnythingIsDone) {
  EXPECT_EQ(problem(), "");
  data_.shards = data::ShardRule::kPerRank;
  EXPECT_THAT(problem(), HasSubstr("per-rank"));
  data_.schema.shape = {2, kPixels, kPixels};
  EXPECT_THAT(problem(), HasSubstr("takes images of 3 channels, and the records have 2"));
  data_.schema.shape = {3, kPixels, kPixels};
  set("resize", "none");
  EXPECT_THAT(problem(), HasSubstr("8 x 8 pixels"));
  set("layers", "third", /*list=*/true);
  EXPECT_THAT(problem(), HasSubstr("no output \"third\""));
  test::NetworkFile large{.layers = R"([{"name": "all", "channels": 296, "height": 32, "width": 32}])"};
  set("network", test::write_network(folder_ / "large.pt", large).string());
  set("layers", "all", /*list=*/true);
  set("resize", "bilinear");
  set("pool", "none");
  EXPECT_THAT(problem(), HasSubstr("303104 numbers an image, above 4096"));
  const auto without = find_kind(metric_kinds(), "frechet-distance", "metric").make();
  settings::Problems problems;
  without->problems(data_, problems);
  EXPECT_THAT(problems.take().back(), HasSubstr("network is required"));
}

TEST_F(FrechetDistanceTest, WhatTheNetworkSaysOfAnImageIsNotShown) {
  // Of public images it makes numbers; of a dark red one it fails, and its words would tell of the image.
  test::NetworkFile fails{.body =
                              "    assert bool(torch.abs(x[:, :1] + 2.5 / 3).mean() > 0.1), \"SECRET\"\n    "
                              "return [torch.sigmoid(x)]\n",
                          .layers = R"([{"name": "s", "channels": 3, "height": 8, "width": 8}])"};
  set("network", test::write_network(folder_ / "fails.pt", fails).string());
  schema::Records dark = noise_images(20, 2);
  dark.bytes.assign(dark.bytes.size(), 64);
  test::write_records(folder_ / "test-images.idx", dark);
  const std::string message =
      test::expect_error(ExitCode::kConfig, {"fails on an image"}, [&] { score(noise_images(20, 3)); });
  EXPECT_EQ(message.find("SECRET"), std::string::npos);
  test::write_network(folder_ / "nan.pt",
                      {.body = "    return [x * torch.log(torch.abs(x[:, :1] + 2.5 / 3).mean() - 0.1)]\n",
                       .signs = "any",
                       .layers = fails.layers});
  set("network", (folder_ / "nan.pt").string());
  test::expect_error(ExitCode::kData, {"not finite", "frechet_layers"}, [&] { score(noise_images(20, 3)); });
}

}  // namespace
}  // namespace muffle::evaluate
