#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "muffle/model/model_file.hpp"

namespace muffle::test {

enum class SamplerModel {
  kImages,             ///< convolutional, 1 x 8 x 8, 3 classes with shares 0.5, 0.5, 0
  kPlane,              ///< fully connected, 2 columns in [-1, 5], 5 classes
  kMomentImages,       ///< closed form, colour, 3 x 8 x 8, 2 classes
  kMomentColumns,      ///< closed form, 400 columns in [-1, 5], 2 classes
  kMomentPlane,        ///< closed form on a grid, 2 columns in [-1, 5], 2 classes
  kLargeImages,        ///< fully connected, 1 x 128 x 128, 5 classes
  kLargeMomentImages,  ///< closed form, 3 x 64 x 64, 2 classes
  kLargeConvolutions,  ///< convolutional with 16 and 8 channels, 1 x 32 x 32, 3 classes
  kTable,              ///< pair graph, 4 columns of a table, 2 classes
  kOverflowing,        ///< kPlane with weights that overflow float32
};

/// Writes an untrained (seeded) model, or one fitted to made-up moments. @returns what it says about itself.
model::ModelInfo write_sampler_model(const std::filesystem::path& path, SamplerModel which);

/// The generator's outputs in [0, 1] for these labels and the sampling codes of records 0..labels.size()-1,
/// computed record by record.
std::vector<float> reference_outputs(const std::filesystem::path& model, std::uint64_t seed,
                                     const std::vector<std::uint8_t>& labels);

}  // namespace muffle::test
