// The memory of sampling does not grow with the number of records: O(the tiles of one round). Not built under
// the sanitizers, which keep freed memory.
#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <string>

#include "muffle/core/files.hpp"
#include "muffle/model/model_file.hpp"
#include "muffle/synth/sampler.hpp"
#include "sampler_fixture.hpp"
#include "support/records.hpp"
#include "support/resident_memory.hpp"
#include "support/temporary_folder.hpp"
#include "support/thread_comm.hpp"
#include "support/tier.hpp"
#include "synth/draw_tile.hpp"

namespace muffle::synth {
namespace {

/// Of 8 bytes and a label: 36 MB in all. Keeping half of it would be seen; what is drawn at a time is 8 MB,
/// and held twice.
constexpr std::uint64_t kFew = 20 * kTileRecords, kMany = 8000 * kTileRecords;
constexpr long kAllowedKb = 17000;

Draw draw_of(const std::filesystem::path& model, SampleSpec spec) {
  Draw draw;
  model::Model read = model::parse_model(read_file(model), "model");
  draw.info = std::move(read.info);
  draw.sampler = std::move(read.sampler);
  draw.class_share = draw.info.class_share;
  draw.spec = std::move(spec);
  return draw;
}

/// Threads that together hold more than the limit wait for each other, and draw the same bytes.
TEST(SamplerMemory, OfManyThreadsSoManyDrawAsTheLimitHolds) {
  const test::TemporaryFolder folder;
  const ScopedThreads one_each(1);
  constexpr int kThreads = 6;
  test::keep_no_freed_memory();
  for (const auto which :
       test::slice({test::SamplerModel::kLargeImages, test::SamplerModel::kLargeMomentImages,
                    test::SamplerModel::kLargeConvolutions},
                   0)) {
    test::write_sampler_model(folder / "model.mfl", which);
    const Draw draw = draw_of(folder / "model.mfl", {.count = kThreads * kTileRecords, .stray = 0.02});
    const double limit = 2.5 * draw.working_bytes();
    EXPECT_EQ(drawing_threads(draw, kThreads, limit), 2u);
    EXPECT_EQ(drawing_threads(draw, 1, limit), 1u);
    EXPECT_EQ(drawing_threads(draw, kThreads, 0.1 * draw.working_bytes()), 1u) << "one draws, come what may";
    EXPECT_EQ(drawing_threads(draw, kThreads, 1e12), std::size_t{kThreads});
    EXPECT_EQ(drawing_threads(draw, 1 << 20),
              static_cast<std::size_t>(std::floor(0x1p31 / draw.working_bytes())));

    std::vector<std::uint64_t> tiles(kThreads);
    std::iota(tiles.begin(), tiles.end(), 0);
    const std::vector<std::string> few = draw_tiles(draw, {0}, 1, [] {});  // what stays for good is there now
    const long one = test::rise_kb([&] { draw_tile(draw, 0); });
    const double stated = draw.working_bytes() / 1024;
    EXPECT_LT(static_cast<double>(one), 1.1 * stated) << "what a tile is said to take is too little";
    EXPECT_GT(static_cast<double>(one), 0.25 * stated) << "what a tile is said to take is far too much";
    std::vector<std::string> some;
    const long rise = test::rise_kb([&] {
      some = draw_tiles(
          draw, tiles, kThreads, [] {}, limit);
    });
    const double stored = static_cast<double>(kThreads * some.front().size()) / 1024;
    EXPECT_LT(static_cast<double>(rise), 2.0 * static_cast<double>(one) + stored + kAllowedKb)
        << "two draw at a time";
    EXPECT_EQ(some, draw_tiles(
                        draw, tiles, kThreads, [] {}, 2 * limit))
        << "more threads change no byte";
    EXPECT_EQ(some.front(), few.front());
  }
}

TEST(SamplerMemory, DoesNotGrowWithTheCount) {
  const test::TemporaryFolder folder;
  test::keep_no_freed_memory();
  test::write_sampler_model(folder / "model.mfl", test::SamplerModel::kMomentPlane);
  const auto draw = [&](std::uint64_t count) {
    const SampleSpec spec{.count = count, .formats = {"npz", "idx"}};
    test::run_thread_ranks(2, [&](comm::HostComm& comm) {
      sample(comm, folder / "model.mfl", folder / "out", spec, test::formats_and(), "settings", 1);
    });
  };
  draw(kFew);
  test::forget_peak();
  const long before = test::resident_kb("VmRSS");
  ASSERT_GT(before, 1000);
  ASSERT_LT(test::resident_kb("VmHWM") - before, kAllowedKb);
  draw(kMany);
  EXPECT_LT(test::resident_kb("VmHWM") - before, kAllowedKb) << before << " kB before";
}

}  // namespace
}  // namespace muffle::synth
