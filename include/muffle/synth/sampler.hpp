#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "muffle/comm/host_comm.hpp"

namespace muffle::synth {

struct SampleSpec {
  std::uint64_t count = 60000;
  bool uniform_labels = true;  ///< false: by the released counts' shares
  std::uint64_t seed = 1;
  std::vector<std::string> formats{"npz"};  ///< of "npz", "idx", "png"
};

/// Draws records from a trained model and writes them under `folder` on root: samples.npz (keys x, y),
/// samples-images.idx / samples-labels.idx, png/<class>/<number>.png, samples.json (what, from which model,
/// hashes; written last, so its presence means that the rest is complete) and, for images, samples.png (10 x
/// 10 grid, one row a class; fewer rows with fewer classes), or for 2-D records a scatter plot samples.png.
/// Images are rounded to uint8; other records are scaled back to [lo, hi] as float32.
/// Collective: ranks draw fixed tiles of the index range in turn, so the files are the same for any number of
/// ranks.
/// @returns SHA-256 of samples.npz (or of the first format written).
std::string sample(comm::HostComm& comm, const std::filesystem::path& model_file,
                   const std::filesystem::path& folder, const SampleSpec& spec,
                   const std::string& sample_hash, int threads);

}  // namespace muffle::synth
