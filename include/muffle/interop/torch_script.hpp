#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "muffle/model/model_file.hpp"

namespace muffle::interop {

/// A network as a TorchScript module, the bytes of its file: what PyTorch's torch.jit.load and LibTorch read
/// (docs/how-to/python.md). Its parameters and buffers have the model file's names. Methods:
///   sample(count, labels = None, seed = 1)   records in [0, 1] (count x d) and their labels
///   labels(count, seed, released_counts)     those of `muffle sample`
///   codes(seed, first, n), draw(code, labels)
///   stored(records)                          as sample files have them: uint8 of images, else in [lo, hi]
/// Random numbers are CounterStream's, bit for bit; so are records, on the same processor with the same
/// LibTorch on one thread, for they are drawn in the same tiles. Finishing (SampleSpec: strays, sharpening,
/// ...) and a table's constraints are not in it.
/// @param header  of the model's file, which the module has as `description`, JSON
/// @throws ConfigError  a closed form: no network.
std::string torch_script_bytes(const model::Model& model, const nlohmann::json& header);

}  // namespace muffle::interop
