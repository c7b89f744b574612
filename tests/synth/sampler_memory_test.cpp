// The memory of sampling does not grow with the number of records: O(the tiles of one round). Not built under
// the sanitizers, which keep freed memory.
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "muffle/synth/sampler.hpp"
#include "sampler_fixture.hpp"
#include "support/temporary_folder.hpp"
#include "support/thread_comm.hpp"

namespace muffle::synth {
namespace {

/// Of 8 bytes and a label: 18 MB in all. Keeping half of it would be seen.
constexpr std::uint64_t kFew = 20 * kTileRecords, kMany = 4000 * kTileRecords;
constexpr long kAllowedKb = 8000;

/// Of this process's resident memory, kB.
long now_or_peak_kb(const std::string& which) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind(which + ":", 0) == 0) return std::stol(line.substr(which.size() + 1));
  }
  return -1;
}

TEST(SamplerMemory, DoesNotGrowWithTheCount) {
  const test::TemporaryFolder folder;
  test::write_sampler_model(folder / "model.mfl", test::SamplerModel::kMomentPlane);
  const auto draw = [&](std::uint64_t count) {
    SampleSpec spec;
    spec.count = count;
    spec.formats = {"npz", "idx"};
    test::run_thread_ranks(2, [&](comm::HostComm& comm) {
      sample(comm, folder / "model.mfl", folder / "out", spec, "settings", 1);
    });
  };
  draw(kFew);
  std::ofstream("/proc/self/clear_refs") << 5;  // the peak begins anew
  const long before = now_or_peak_kb("VmRSS");
  ASSERT_GT(before, 1000);
  ASSERT_LT(now_or_peak_kb("VmHWM") - before, kAllowedKb);
  draw(kMany);
  EXPECT_LT(now_or_peak_kb("VmHWM") - before, kAllowedKb) << before << " kB before";
}

}  // namespace
}  // namespace muffle::synth
