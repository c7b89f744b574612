// The files that a sampling leaves.
#include <gtest/gtest.h>
#include <png.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "muffle/core/files.hpp"
#include "muffle/core/hash.hpp"
#include "muffle/synth/listed_samples.hpp"
#include "sampler_case.hpp"
#include "support/expect_error.hpp"

namespace muffle::synth {
namespace {

TEST_F(Sampler, FormatsAgreeAndAreDescribed) {
  spec_.count = 40;
  spec_.formats = {"npz", "idx", "png"};
  sample_alone(images_, out_);
  const auto npz = test::read_records(out_ / "samples.npz", {1, 8, 8}),
             idx = test::read_records(out_ / "samples-images.idx", {1, 8, 8});
  EXPECT_EQ(npz.count(), 40u);
  EXPECT_EQ(idx.bytes, npz.bytes);
  EXPECT_EQ(idx.labels, npz.labels);
  std::size_t pngs = 0;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(out_ / "samples-png")) {
    pngs += entry.path().extension() == ".png" ? 1 : 0;
  }
  EXPECT_EQ(pngs, 40u);

  const auto json = description();
  EXPECT_EQ(json["format"], "muffle-samples");
  EXPECT_EQ(json["version"], 1);
  EXPECT_EQ(json["count"], 40);
  EXPECT_EQ(json["shape"], nlohmann::json({1, 8, 8}));
  EXPECT_EQ(json["hi"], 255) << "of the bytes that are stored";
  EXPECT_EQ(json["sample_hash"], "settings");
  EXPECT_EQ(json["model_hash"], sha256_file_hex(PublicFile(images_)));
  EXPECT_EQ(json["release_hash"], "release");
  EXPECT_TRUE(json["is_private"]);
  ASSERT_EQ(json["files"].size(), 4u);
  for (const auto& [name, hash] : json["files"].items())
    EXPECT_EQ(hash, sha256_file_hex(PublicFile(out_ / name)));
}

TEST_F(Sampler, KnowsItsOwnSamplesByteForByte) {
  spec_.count = 40;
  EXPECT_FALSE(listed_samples(out_ / "samples.npz")) << "nothing describes it";
  const std::string hash = sample_alone(images_, out_);
  const auto listed = listed_samples(out_ / "samples.npz");
  ASSERT_TRUE(listed);
  EXPECT_EQ(listed->hash, hash);
  EXPECT_EQ(listed->file.path, out_ / "samples.npz");
  // What somebody put beside them or in their place may be records.
  write_file_atomically(out_ / "records.npz", read_file(out_ / "samples.npz"));
  EXPECT_FALSE(listed_samples(out_ / "records.npz"));
  write_file_atomically(out_ / "samples.npz", std::string_view("records"));
  EXPECT_FALSE(listed_samples(out_ / "samples.npz"));
  for (const char* text :
       {"", "{", "[]", R"({"format": "muffle-samples"})", R"({"format": "x", "files": {}})"}) {
    write_file_atomically(out_ / "samples.json", std::string_view(text));
    EXPECT_FALSE(listed_samples(out_ / "samples.npz")) << text;
  }
}

TEST_F(Sampler, ReturnsTheHashOfWhatWasWritten) {
  spec_.count = 40;
  spec_.formats = {"idx"};
  const std::string idx = sample_alone(images_, out_);
  EXPECT_EQ(idx, sha256_file_hex(PublicFile(out_ / "samples-images.idx")));
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
  const auto records = test::read_records(out_ / "samples.npz", {1, 8, 8});
  const auto first = static_cast<std::size_t>(std::find(records.labels.begin(), records.labels.end(), 1) -
                                              records.labels.begin());
  EXPECT_EQ(pixels[10 * picture.width], records.bytes[first * 64])
      << "row 1 begins with the first of class 1";
}

TEST_F(Sampler, FilesOfAnEarlierRunGoAway) {
  spec_.count = 40;
  spec_.formats = {"idx", "png"};
  sample_alone(images_, out_);
  spec_.formats = {"npz"};
  sample_alone(images_, out_);
  EXPECT_FALSE(std::filesystem::exists(out_ / "samples-images.idx"));
  EXPECT_FALSE(std::filesystem::exists(out_ / "samples-png"));
  EXPECT_TRUE(std::filesystem::exists(out_ / "samples.npz"));
}

TEST_F(Sampler, OtherPeoplesFilesStay) {
  std::filesystem::create_directories(out_ / "samples-png");
  std::ofstream(out_ / "samples-png" / "holiday.png") << "mine";
  spec_.count = 40;
  sample_alone(images_, out_);
  sample_alone(images_, out_);
  EXPECT_EQ(read_file(out_ / "samples-png" / "holiday.png"), "mine");
  spec_.formats = {"png"};
  test::expect_error(ExitCode::kIo,
                     {"'" + (out_ / "samples-png").string() + "' is in the way", "sample.formats"},
                     [&] { sample_alone(images_, out_); });
  EXPECT_EQ(read_file(out_ / "samples-png" / "holiday.png"), "mine");
  EXPECT_TRUE(std::filesystem::exists(out_ / "samples.npz"));
}

}  // namespace
}  // namespace muffle::synth
