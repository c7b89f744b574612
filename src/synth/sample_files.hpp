#pragma once

#include <filesystem>
#include <string>

#include "draw_tile.hpp"
#include "muffle/synth/export.hpp"

namespace muffle::synth {

/// Checks count and formats against what the model makes. @throws ConfigError with every problem found.
void check_sample_spec(const SampleSpec& spec, const data::Schema& schema);

/// Creates the folder and removes what an earlier sampling left in it, samples.json first. @throws IoError.
void prepare_sample_folder(const std::filesystem::path& folder);

/// Writes the records in every format, the picture, and samples.json last. @returns what sample() returns.
/// @throws IoError.
std::string write_sample_files(const std::filesystem::path& folder, const Records& records, const Draw& draw,
                               const std::string& model_hash, const std::string& sample_hash);

}  // namespace muffle::synth
