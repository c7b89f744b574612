// main() of tests with the label gpu. With fewer GPUs than MUFFLE_TEST_GPUS (1 unless set) the tests that
// need none still run, and the whole then counts as skipped (exit code 77): a machine without them can never
// report that they work.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const char* const asked = std::getenv("MUFFLE_TEST_GPUS");
  const int needed = asked == nullptr ? 1 : std::atoi(asked);
  int gpus = 0;
  const cudaError_t code = cudaGetDeviceCount(&gpus);
  if (code != cudaSuccess) gpus = 0;
  const int failed = RUN_ALL_TESTS();
  if (failed != 0) return failed;
  if (testing::UnitTest::GetInstance()->test_to_run_count() == 0) {
    std::printf("[gpu test] FAILED: no test has the name that was asked for\n");
    return 1;
  }
  if (gpus >= needed) return 0;
  std::printf("[gpu test] SKIPPED: needs %d GPU(s), and CUDA sees %d on this machine (%s)\n", needed, gpus,
              cudaGetErrorString(code));
  return 77;
}
