#include "muffle/synth/sampler.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <png.h>
#include <sys/resource.h>

#include <atomic>
#include <cmath>
#include <csignal>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>

#include "muffle/core/files.hpp"
#include "muffle/core/hash.hpp"
#include "muffle/data/idx.hpp"
#include "muffle/synth/export.hpp"
#include "sampler_fixture.hpp"
#include "support/expect_error.hpp"
#include "support/temporary_folder.hpp"
#include "support/thread_comm.hpp"

namespace muffle::synth {
namespace {

using test::SamplerModel;

/// Five whole tiles and a part of one: with four ranks some draw two tiles, some one.
constexpr std::uint64_t kCount = 5 * kTileRecords + 130;

class Sampler : public ::testing::Test {
 protected:
  Sampler() {
    test::write_sampler_model(images_, SamplerModel::kImages);
    test::write_sampler_model(plane_, SamplerModel::kPlane);
    spec_.count = kCount;
  }

  std::string sample_alone(const std::filesystem::path& model, const std::filesystem::path& folder,
                           int threads = 1) {
    const auto comm = comm::single_process();
    return sample(*comm, model, folder, spec_, "settings", threads);
  }
  nlohmann::json description() const { return nlohmann::json::parse(read_file(out_ / "samples.json")); }

  test::TemporaryFolder folder_;
  const std::filesystem::path images_ = folder_ / "images.mfl", plane_ = folder_ / "plane.mfl",
                              out_ = folder_ / "out";
  SampleSpec spec_;
};

TEST_F(Sampler, TheSameFilesForAnyNumberOfRanksAndThreads) {
  spec_.formats = {"npz", "idx"};
  const std::string alone = sample_alone(images_, out_);
  const std::string text = read_file(out_ / "samples.json");
  EXPECT_EQ(alone, sha256_file_hex((out_ / "samples.npz").string()));
  for (const int threads : {2, 3, 11}) {
    EXPECT_EQ(sample_alone(images_, folder_ / "threads", threads), alone) << threads << " threads";
  }
  for (int ranks = 1; ranks <= 4; ++ranks) {
    const auto out = folder_ / ("ranks" + std::to_string(ranks));
    test::run_thread_ranks(ranks, [&](comm::HostComm& comm) {
      EXPECT_EQ(sample(comm, images_, out, spec_, "settings", 1 + comm.rank() % 2), alone)
          << ranks << " ranks";
    });
    EXPECT_EQ(read_file(out / "samples.json"), text) << ranks << " ranks";
  }
}

TEST_F(Sampler, FloatRecordsDoNotDependOnRanksEither) {
  const std::string alone = sample_alone(plane_, out_);
  test::run_thread_ranks(3, [&](comm::HostComm& comm) {
    EXPECT_EQ(sample(comm, plane_, folder_ / "ranks", spec_, "settings", 1), alone);
  });
}

TEST_F(Sampler, ClosedFormModelsDoNotDependOnRanksAndThreadsEither) {
  // 400 columns: a matrix library that splits its sums splits such ones (those of more than 320 terms).
  for (const SamplerModel which :
       {SamplerModel::kMomentImages, SamplerModel::kMomentColumns, SamplerModel::kMomentPlane}) {
    const auto model = folder_ / "moments.mfl";
    test::write_sampler_model(model, which);
    const std::string alone = sample_alone(model, out_);
    EXPECT_EQ(sample_alone(model, folder_ / "threads", 3), alone);
    test::run_thread_ranks(3, [&](comm::HostComm& comm) {
      EXPECT_EQ(sample(comm, model, folder_ / "ranks", spec_, "settings", 1 + comm.rank() % 2), alone);
    });
    EXPECT_EQ(std::filesystem::exists(out_ / "samples.png"), which != SamplerModel::kMomentColumns);
    const Records records = read_npz(out_ / "samples.npz");
    EXPECT_EQ(records.count(), kCount);
  }
}

/// So large that root gathers a round in parts.
TEST_F(Sampler, LargeRecordsDoNotDependOnRanksEither) {
  const auto model = folder_ / "large.mfl";
  test::write_sampler_model(model, SamplerModel::kLargeImages);
  spec_.formats = {"idx"};
  spec_.count = 17 * kTileRecords + 3;
  const std::string alone = sample_alone(model, out_, 2);
  test::run_thread_ranks(3, [&](comm::HostComm& comm) {
    EXPECT_EQ(sample(comm, model, folder_ / "ranks", spec_, "settings", 1), alone);
  });
}

TEST_F(Sampler, MoreRanksThanTiles) {
  spec_.count = 7;
  const std::string alone = sample_alone(images_, out_);
  test::run_thread_ranks(4, [&](comm::HostComm& comm) {
    EXPECT_EQ(sample(comm, images_, folder_ / "ranks", spec_, "settings", 1), alone);
  });
}

TEST_F(Sampler, ImagesAreTheGeneratorsOutputsRounded) {
  sample_alone(images_, out_);
  const Records records = read_npz(out_ / "samples.npz");
  ASSERT_EQ(records.count(), kCount);
  const auto expected = test::reference_outputs(images_, spec_.seed, records.labels);
  ASSERT_EQ(records.bytes.size(), expected.size());
  std::size_t off = 0;
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const double byte = 255.0 * static_cast<double>(expected[i]);
    // Record by record or in tiles, LibTorch's results differ in the last bits; that can tip a half.
    ASSERT_NEAR(records.bytes[i], byte, 0.5 + 1e-3) << "number " << i;
    if (records.bytes[i] != std::floor(byte + 0.5)) ++off;
  }
  EXPECT_LT(off, expected.size() / 1000);
  EXPECT_NE(std::count(records.bytes.begin(), records.bytes.end(), records.bytes[0]),
            static_cast<std::ptrdiff_t>(records.bytes.size()));
}

TEST_F(Sampler, OtherRecordsAreScaledBack) {
  sample_alone(plane_, out_);
  const Records records = read_npz(out_ / "samples.npz");
  const auto expected = test::reference_outputs(plane_, spec_.seed, records.labels);
  ASSERT_EQ(records.floats.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    ASSERT_NEAR(records.floats[i], -1.0 + 6.0 * static_cast<double>(expected[i]), 1e-4) << "number " << i;
    ASSERT_GE(records.floats[i], -1.0f);
    ASSERT_LE(records.floats[i], 5.0f);
  }
  EXPECT_EQ(description()["element"], "float32");
  EXPECT_FALSE(description()["is_private"]);
}

TEST_F(Sampler, SeedsDiffer) {
  const std::string one = sample_alone(images_, out_);
  spec_.seed = 2;
  EXPECT_NE(sample_alone(images_, out_), one);
}

TEST_F(Sampler, UniformLabelsAreEvenAndNotSorted) {
  sample_alone(images_, out_);
  const Records records = read_npz(out_ / "samples.npz");
  std::vector<std::size_t> all(3, 0), early(3, 0);
  for (std::size_t i = 0; i < records.count(); ++i) {
    ++all[records.labels[i]];
    if (i < 100) ++early[records.labels[i]];
  }
  for (std::size_t c = 0; c < 3; ++c) {
    EXPECT_NEAR(static_cast<double>(all[c]), static_cast<double>(kCount) / 3.0, 1.0) << "class " << c;
    EXPECT_GT(early[c], 20u) << "class " << c;
    EXPECT_EQ(description()["class_counts"][c], all[c]);
  }
}

TEST_F(Sampler, LabelsByTheReleasedShares) {
  spec_.uniform_labels = false;
  sample_alone(images_, out_);
  EXPECT_EQ(description()["class_counts"], nlohmann::json({kCount / 2, kCount / 2, 0}));
  EXPECT_EQ(description()["labels"], "released-counts");
}

TEST_F(Sampler, SharesOfCountsThatWereNotReleasedAreRefused) {
  spec_.uniform_labels = false;
  test::expect_error(ExitCode::kConfig, {"released-counts", "without class counts"},
                     [&] { sample_alone(plane_, out_); });
}

TEST_F(Sampler, FormatsAgreeAndAreDescribed) {
  spec_.count = 40;
  spec_.formats = {"npz", "idx", "png"};
  sample_alone(images_, out_);
  const Records records = read_npz(out_ / "samples.npz");
  data::IdxReader images(out_ / "samples-images.idx"), labels(out_ / "samples-labels.idx");
  EXPECT_EQ(images.header().dims, (std::vector<std::uint64_t>{40, 8, 8}));
  std::vector<std::uint8_t> bytes(records.bytes.size()), ys(40);
  images.read(std::as_writable_bytes(std::span(bytes)));
  labels.read(std::as_writable_bytes(std::span(ys)));
  EXPECT_EQ(bytes, records.bytes);
  EXPECT_EQ(ys, records.labels);
  std::size_t pngs = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(out_ / "png")) {
    pngs += entry.path().extension() == ".png" ? 1 : 0;
  }
  EXPECT_EQ(pngs, 40u);

  const auto json = description();
  EXPECT_EQ(json["format"], "muffle-samples");
  EXPECT_EQ(json["version"], 1);
  EXPECT_EQ(json["count"], 40);
  EXPECT_EQ(json["shape"], nlohmann::json({1, 8, 8}));
  EXPECT_EQ(json["sample_hash"], "settings");
  EXPECT_EQ(json["model_hash"], sha256_file_hex(images_.string()));
  EXPECT_EQ(json["release_hash"], "release");
  EXPECT_TRUE(json["is_private"]);
  ASSERT_EQ(json["files"].size(), 4u);
  for (const auto& [name, hash] : json["files"].items())
    EXPECT_EQ(hash, sha256_file_hex((out_ / name).string()));
}

TEST_F(Sampler, ReturnsTheHashOfWhatWasWritten) {
  spec_.count = 40;
  spec_.formats = {"idx"};
  const std::string idx = sample_alone(images_, out_);
  EXPECT_EQ(idx, sha256_file_hex((out_ / "samples-images.idx").string()));
  EXPECT_FALSE(std::filesystem::exists(out_ / "samples.npz"));
  spec_.formats = {"png"};
  const std::string hash = sample_alone(images_, out_);
  EXPECT_EQ(hash, description()["records_hash"]);
}

TEST_F(Sampler, PictureOfImagesIsAGrid) {
  sample_alone(images_, out_);
  png_image picture{};
  picture.version = PNG_IMAGE_VERSION;
  ASSERT_TRUE(png_image_begin_read_from_file(&picture, (out_ / "samples.png").c_str())) << picture.message;
  EXPECT_EQ(picture.width, 10u * (8 + 2) - 2);
  EXPECT_EQ(picture.height, 3u * (8 + 2) - 2);
  picture.format = PNG_FORMAT_GRAY;
  std::vector<std::uint8_t> pixels(PNG_IMAGE_SIZE(picture));
  ASSERT_TRUE(png_image_finish_read(&picture, nullptr, pixels.data(), 0, nullptr)) << picture.message;
  const Records records = read_npz(out_ / "samples.npz");
  const auto first = static_cast<std::size_t>(std::find(records.labels.begin(), records.labels.end(), 1) -
                                              records.labels.begin());
  EXPECT_EQ(pixels[10 * picture.width], records.bytes[first * 64])
      << "row 1 begins with the first of class 1";
}

TEST_F(Sampler, PictureOfPointsIsAScatterPlot) {
  sample_alone(plane_, out_);
  png_image picture{};
  picture.version = PNG_IMAGE_VERSION;
  ASSERT_TRUE(png_image_begin_read_from_file(&picture, (out_ / "samples.png").c_str())) << picture.message;
  png_image_free(&picture);
}

TEST_F(Sampler, FilesOfAnEarlierRunGoAway) {
  spec_.count = 40;
  spec_.formats = {"idx", "png"};
  sample_alone(images_, out_);
  spec_.formats = {"npz"};
  sample_alone(images_, out_);
  EXPECT_FALSE(std::filesystem::exists(out_ / "samples-images.idx"));
  EXPECT_FALSE(std::filesystem::exists(out_ / "png"));
  EXPECT_TRUE(std::filesystem::exists(out_ / "samples.npz"));
}

TEST_F(Sampler, OtherPeoplesFilesStay) {
  std::filesystem::create_directories(out_ / "png");
  std::ofstream(out_ / "png" / "holiday.png") << "mine";
  spec_.count = 40;
  sample_alone(images_, out_);
  sample_alone(images_, out_);
  EXPECT_EQ(read_file(out_ / "png" / "holiday.png"), "mine");
  spec_.formats = {"png"};
  test::expect_error(ExitCode::kIo, {"'" + (out_ / "png").string() + "' is in the way", "sample.formats"},
                     [&] { sample_alone(images_, out_); });
  EXPECT_EQ(read_file(out_ / "png" / "holiday.png"), "mine");
  EXPECT_TRUE(std::filesystem::exists(out_ / "samples.npz"));
}

/// A process may be killed anywhere: what it left is never mixed with the next samples.
class SamplerKilled : public Sampler {
 protected:
  SamplerKilled() {
    spec_.count = 40;
    spec_.formats = {"npz", "png"};
    sample_alone(images_, out_);
    std::filesystem::create_directories(working_);
    spec_.count = 7;
  }
  void expect_seven() {
    sample_alone(images_, out_);
    std::size_t pngs = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(out_ / "png"))
      pngs += entry.is_regular_file() ? 1 : 0;
    EXPECT_EQ(pngs, 7u);
    EXPECT_EQ(read_npz(out_ / "samples.npz").count(), 7u);
    EXPECT_FALSE(std::filesystem::exists(working_));
  }
  const std::filesystem::path working_ = out_ / ".samples.tmp";
};

TEST_F(SamplerKilled, WhileNewFilesCameToBe) {
  std::filesystem::copy(out_ / "png", working_ / "png", std::filesystem::copy_options::recursive);
  std::ofstream(working_ / "samples-images.idx") << "half";
  expect_seven();
}

TEST_F(SamplerKilled, WhileEarlierFilesWereRemoved) {
  std::filesystem::rename(out_ / "samples.json", working_ / "replaced.json");
  expect_seven();
}

TEST_F(SamplerKilled, BeforeTheDescriptionFollowedTheFiles) {
  std::filesystem::rename(out_ / "samples.json", working_ / "samples.json");
  expect_seven();
}

TEST_F(SamplerKilled, WithSomebodyElsesPngs) {
  std::filesystem::rename(out_ / "samples.json", working_ / "samples.json");
  std::filesystem::rename(out_ / "png", working_ / "png");
  std::filesystem::create_directories(out_ / "png");
  test::expect_error(ExitCode::kIo, {"in the way"}, [&] { sample_alone(images_, out_); });
}

/// Every rank must throw the same kind of error, and none may wait for another.
class SamplerErrors : public Sampler {
 protected:
  void all_ranks_refuse(ExitCode code, std::initializer_list<std::string> parts,
                        const std::filesystem::path& model, const std::filesystem::path& out) {
    std::atomic<int> refused = 0;
    test::run_thread_ranks(3, [&](comm::HostComm& comm) {
      test::expect_error(code, parts, [&] { sample(comm, model, out, spec_, "settings", 1); });
      ++refused;
    });
    EXPECT_EQ(refused, 3);
    EXPECT_FALSE(std::filesystem::exists(out / "samples.json"));
  }
};

TEST_F(SamplerErrors, UnwritableFolder) {
  const auto file = folder_ / "a-file";
  std::ofstream(file) << "not a folder";
  all_ranks_refuse(ExitCode::kIo, {"a-file"}, images_, file / "out");
}

TEST_F(SamplerErrors, NoModel) {
  all_ranks_refuse(ExitCode::kIo, {"nowhere.mfl"}, folder_ / "nowhere.mfl", out_);
}

TEST_F(SamplerErrors, DamagedModel) {
  std::string bytes = read_file(images_);
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
  std::ofstream(images_, std::ios::binary) << bytes;
  all_ranks_refuse(ExitCode::kProtocol, {"images.mfl"}, images_, out_);
}

TEST_F(SamplerErrors, ModelThatOverflows) {
  const auto model = folder_ / "overflowing.mfl";
  test::write_sampler_model(model, SamplerModel::kOverflowing);
  all_ranks_refuse(ExitCode::kInvariant, {"not finite", "train.learning_rate"}, model, out_);
}

/// With samples in the folder already, all of which must outlive a sampling that fails.
class SamplerKeeps : public Sampler {
 protected:
  SamplerKeeps() {
    spec_.count = 40;
    spec_.formats = {"npz", "idx", "png"};
    sample_alone(images_, out_);
    before_ = everything();
  }
  std::map<std::string, std::string> everything() const {
    std::map<std::string, std::string> all;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(out_))
      all[entry.path().string()] = entry.is_regular_file() ? read_file(entry.path()) : "";
    return all;
  }
  void expect_kept_after(ExitCode code, std::initializer_list<std::string> parts,
                         const std::filesystem::path& model) {
    test::run_thread_ranks(2, [&](comm::HostComm& comm) {
      test::expect_error(code, parts, [&] { sample(comm, model, out_, spec_, "settings", 1); });
    });
    EXPECT_EQ(everything(), before_);
  }
  std::map<std::string, std::string> before_;
};

TEST_F(SamplerKeeps, WhenTheModelOverflows) {
  const auto model = folder_ / "overflowing.mfl";
  test::write_sampler_model(model, SamplerModel::kOverflowing);
  spec_.formats = {"npz", "idx"};
  spec_.count = kCount;
  expect_kept_after(ExitCode::kInvariant, {"not finite"}, model);
}

TEST_F(SamplerKeeps, WhenMoreIsAskedForThanAnybodyMeans) {
  spec_.count = std::uint64_t{1} << 40;
  expect_kept_after(ExitCode::kConfig, {"sample.count is 1099511627776", "above 1 TB", "sample.seed"},
                    images_);
}

TEST_F(SamplerKeeps, WhenThereIsNoRoom) {
  // A file may grow to 1 MB, and no further; the samples take 64 bytes each.
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  rlimit small = before;
  small.rlim_cur = 1 << 20;
  const auto ignored = ::signal(SIGXFSZ, SIG_IGN);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  spec_.count = 20'000;
  expect_kept_after(ExitCode::kIo, {"no room", "out'"}, images_);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  ::signal(SIGXFSZ, ignored);
}

TEST_F(SamplerErrors, Settings) {
  spec_.count = 0;
  spec_.formats = {"jpeg"};
  all_ranks_refuse(ExitCode::kConfig, {"sample.count", "'jpeg'", "npz, idx and png"}, images_, out_);
  spec_.count = 10;
  spec_.formats = {};
  all_ranks_refuse(ExitCode::kConfig, {"sample.formats is empty"}, images_, out_);
  spec_.formats = {"png"};
  all_ranks_refuse(ExitCode::kConfig, {"shape 2", "use npz or idx"}, plane_, out_);
}

}  // namespace
}  // namespace muffle::synth
