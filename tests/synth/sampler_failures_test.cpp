// Samplings that fail, or are killed, and what is left in the folder.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <atomic>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <map>
#include <string>

#include "muffle/core/files.hpp"
#include "sampler_case.hpp"
#include "support/expect_error.hpp"
#include "support/thread_comm.hpp"

namespace muffle::synth {
namespace {

using test::SamplerModel;

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
    for (const auto& entry : std::filesystem::recursive_directory_iterator(out_ / "samples-png"))
      pngs += entry.is_regular_file() ? 1 : 0;
    EXPECT_EQ(pngs, 7u);
    EXPECT_EQ(test::read_records(out_ / "samples.npz", {1, 8, 8}).count(), 7u);
    EXPECT_FALSE(std::filesystem::exists(working_));
  }
  const std::filesystem::path working_ = out_ / ".samples.tmp";
};

TEST_F(SamplerKilled, WhileNewFilesCameToBe) {
  std::filesystem::copy(out_ / "samples-png", working_ / "samples-png",
                        std::filesystem::copy_options::recursive);
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
  std::filesystem::rename(out_ / "samples-png", working_ / "samples-png");
  std::filesystem::create_directories(out_ / "samples-png");
  test::expect_error(ExitCode::kIo, {"in the way"}, [&] { sample_alone(images_, out_); });
}

/// Every rank must throw the same kind of error, and none may wait for another. What was in the folder stays.
class SamplerErrors : public Sampler {
 protected:
  void all_ranks_refuse(ExitCode code, std::initializer_list<std::string> parts,
                        const std::filesystem::path& model, const std::filesystem::path& out) {
    const auto before = everything_in(out);
    std::atomic<int> refused = 0;
    test::run_thread_ranks(3, [&](comm::HostComm& comm) {
      test::expect_error(code, parts, [&] { sample(comm, model, out, spec_, kFormats, "settings", 1); });
      ++refused;
    });
    EXPECT_EQ(refused, 3);
    EXPECT_EQ(everything_in(out), before);
  }
  static std::map<std::string, std::string> everything_in(const std::filesystem::path& folder) {
    std::map<std::string, std::string> all;
    std::error_code none;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder, none))
      all[entry.path().string()] = entry.is_regular_file() ? read_file(entry.path()) : "";
    return all;
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

TEST_F(SamplerErrors, Settings) {
  spec_.count = 0;
  spec_.formats = {"jpeg"};
  all_ranks_refuse(ExitCode::kConfig, {"sample.count", "\"jpeg\"", "png"}, images_, out_);
  spec_.count = 10;
  spec_.formats = {};
  all_ranks_refuse(ExitCode::kConfig, {"sample.formats is empty"}, images_, out_);
  spec_.formats = {"png"};
  all_ranks_refuse(ExitCode::kConfig, {"\"png\"", "shape 2"}, plane_, out_);
}

/// With samples in the folder already, all of which must outlive a sampling that fails.
class SamplerKeeps : public SamplerErrors {
 protected:
  SamplerKeeps() {
    spec_.count = 40;
    spec_.formats = {"npz", "idx", "png"};
    sample_alone(images_, out_);
  }
};

TEST_F(SamplerKeeps, WhenTheModelOverflows) {
  const auto model = folder_ / "overflowing.mfl";
  test::write_sampler_model(model, SamplerModel::kOverflowing);
  spec_.formats = {"npz", "idx"};
  spec_.count = kCount;
  all_ranks_refuse(ExitCode::kInvariant, {"not finite", "train.learning_rate"}, model, out_);
}

TEST_F(SamplerKeeps, WhenMoreIsAskedForThanAnybodyMeans) {
  spec_.count = std::uint64_t{1} << 40;
  all_ranks_refuse(ExitCode::kConfig, {"sample.count", "above 1 TB", "sample.seed"}, images_, out_);
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
  all_ranks_refuse(ExitCode::kIo, {"no room", "out'"}, images_, out_);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  ::signal(SIGXFSZ, ignored);
}

}  // namespace
}  // namespace muffle::synth
