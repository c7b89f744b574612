#pragma once

#include <cuda_runtime_api.h>

#include <string>

#include "muffle/core/error.hpp"

namespace muffle {

/// @throws DeviceError.
inline void check_cuda(cudaError_t code, const std::string& operation) {
  if (code == cudaSuccess) return;
  static_cast<void>(cudaGetLastError());  // or the next, unrelated call reports it again
  // nvcc 13 does not compile fmt 9's checked format strings.
  throw DeviceError(operation + " failed: " + cudaGetErrorString(code) + " (" + cudaGetErrorName(code) +
                    "). See that nvidia-smi lists the GPU on this machine, that its driver is not older than "
                    "the CUDA toolkit and that nothing else fills its memory, or compute on CPUs "
                    "(features.device and train.device = \"cpu\")");
}

/// Makes a device current for this thread, for good: a rank uses one GPU, and going back to the one before
/// would make a context on it (half a gigabyte of GPU 0 for each rank of a node).
inline void use_device(int device) {
  check_cuda(cudaSetDevice(device), "using GPU " + std::to_string(device));
}

}  // namespace muffle
