#!/usr/bin/env bash
# Compiles the GPU side that needs no LibTorch with CUDA, and runs its tests: on a machine with nvcc and NCCL, GPU or not.
#   tests/cuda_check.sh            without nvcc: says so and ends well
#   BUILD=build/cpu tests/cuda_check.sh   with what is built there already; it is left configured as it was
# What trains on GPUs needs launch/cuda-libtorch.sh (docs/how-to/gpus.md).
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if ! PATH=$PATH:${CUDA_HOME:-/usr/local/cuda}/bin command -v nvcc >/dev/null; then
  echo "cuda_check: SKIPPED: no nvcc in PATH or ${CUDA_HOME:-/usr/local/cuda}/bin"
  exit 0
fi
start=$SECONDS
build=${BUILD:-build/cuda-check}
mkdir -p build
settings=(-DMUFFLE_WERROR=ON -DCMAKE_CUDA_ARCHITECTURES=80)
if [[ $build == build/cpu ]]; then
  trap 'cmake --preset cpu -DMUFFLE_CUDA=OFF >/dev/null' EXIT
else
  settings+=(-DCMAKE_BUILD_TYPE=Debug -DMUFFLE_PCH=OFF -DMUFFLE_BENCH=OFF)
fi
cmake --preset cuda -B "$build" "${settings[@]}" >build/configure-cuda-check.log 2>&1 || { cat build/configure-cuda-check.log >&2; exit 1; }
cmake --build "$build" --target features_gpu_test comm_gpu_test nccl_double_test
# The files that choose devices and try NCCL, without the rooms with LibTorch below them.
g++ -std=c++20 -fsyntax-only -Wall -Wextra -Werror -DMUFFLE_CUDA=1 -DSPDLOG_FMT_EXTERNAL -Iinclude src/app/devices.cpp src/cluster/doctor.cpp
# Exit code 77, "skipped", of those that would need a GPU.
ctest --test-dir "$build" -R '^(features_gpu_test|comm_gpu_test(\.two_gpus)?|nccl_double_test)$' --no-tests=error --output-on-failure
echo "cuda_check: compiled, linked and run in $((SECONDS - start)) s"
