// main() of tests with the label gpu. Without a GPU the tests that need none still run, and the whole then
// counts as skipped (exit code 77): a machine without one can never report that the GPU works.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstdio>

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  int gpus = 0;
  const cudaError_t code = cudaGetDeviceCount(&gpus);
  if (code != cudaSuccess) gpus = 0;
  const int failed = RUN_ALL_TESTS();
  if (failed != 0 || gpus > 0) return failed;
  std::printf("[gpu test] SKIPPED: CUDA sees no GPU on this machine (%s)\n", cudaGetErrorString(code));
  return 77;
}
