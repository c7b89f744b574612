#pragma once

#include <string>

#include "muffle/model/model_file.hpp"

namespace muffle::interop {

// A model's arrays and what its file says of them, in files that other programs read
// (docs/reference/artifact-format.md, "Exported models"). Bytes of the whole file. Public: post-processing.

/// NumPy's archive: NAME.npy for each array, uncompressed, and `description`, the header as UTF-8 bytes.
/// @throws IoError  no memory for it.
std::string npz_bytes(const model::ModelParts& parts);

/// https://huggingface.co/docs/safetensors: the header is the text `muffle` of its metadata.
std::string safetensors_bytes(const model::ModelParts& parts);

}  // namespace muffle::interop
