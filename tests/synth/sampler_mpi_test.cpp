#include <gtest/gtest.h>

#include "muffle/core/files.hpp"
#include "muffle/synth/sampler.hpp"
#include "sampler_fixture.hpp"
#include "support/mpi_world.hpp"
#include "support/records.hpp"
#include "support/temporary_folder.hpp"

namespace muffle::synth {
namespace {

/// Each rank has a folder of its own, as on machines that share no disk: only root's holds the model.
TEST(SamplerMpi, TheSameBytesAsOneProcess) {
  comm::HostComm& world = test::world();
  const test::TemporaryFolder folder;
  SampleSpec spec;
  spec.count = 4 * kTileRecords + 77;
  for (const auto which :
       {test::SamplerModel::kImages, test::SamplerModel::kPlane, test::SamplerModel::kMomentImages,
        test::SamplerModel::kMomentColumns, test::SamplerModel::kMomentPlane, test::SamplerModel::kTable}) {
    if (world.is_root()) test::write_sampler_model(folder / "model.mfl", which);
    const std::string hash =
        sample(world, folder / "model.mfl", folder / "out", spec, test::formats_and(), "settings", 1);
    EXPECT_EQ(std::filesystem::exists(folder / "out"), world.is_root());
    if (!world.is_root()) continue;
    const auto alone = comm::single_process();
    EXPECT_EQ(
        sample(*alone, folder / "model.mfl", folder / "alone", spec, test::formats_and(), "settings", 2),
        hash);
    EXPECT_EQ(read_file(folder / "out" / "samples.npz"), read_file(folder / "alone" / "samples.npz"));
    EXPECT_EQ(read_file(folder / "out" / "samples.json"), read_file(folder / "alone" / "samples.json"));
  }
}

}  // namespace
}  // namespace muffle::synth
