#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "muffle/comm/host_comm.hpp"
#include "muffle/core/files.hpp"
#include "muffle/synth/pictures.hpp"
#include "muffle/synth/sampler.hpp"
#include "sampler_fixture.hpp"
#include "support/records.hpp"
#include "support/temporary_folder.hpp"

namespace muffle::synth {

/// Five whole tiles and a part of one: with four ranks some draw two tiles, some one.
inline constexpr std::uint64_t kCount = 5 * kTileRecords + 130;

/// All formats that there are.
inline const std::vector<const schema::RecordFormat*> kFormats = test::formats_and();

/// A model of images and one of points in the plane, to be sampled into a folder.
class Sampler : public ::testing::Test {
 protected:
  Sampler() {
    test::write_sampler_model(images_, test::SamplerModel::kImages);
    test::write_sampler_model(plane_, test::SamplerModel::kPlane);
    spec_.count = kCount;
  }

  std::string sample_alone(const std::filesystem::path& model, const std::filesystem::path& folder,
                           int threads = 1) {
    const auto comm = comm::single_process();
    return sample(*comm, model, folder, spec_, kFormats, "settings", threads);
  }
  nlohmann::json description() const { return nlohmann::json::parse(read_file(out_ / "samples.json")); }

  test::TemporaryFolder folder_;
  const std::filesystem::path images_ = folder_ / "images.mfl", plane_ = folder_ / "plane.mfl",
                              out_ = folder_ / "out";
  SampleSpec spec_;
};

}  // namespace muffle::synth
