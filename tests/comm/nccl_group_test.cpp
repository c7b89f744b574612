// NCCL on the GPUs of this machine; ranks are threads. Inputs are crafted so that sums are exact.
#include "muffle/comm/nccl_group.hpp"

#include <cuda_runtime_api.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <string>
#include <vector>

#include "support/thread_comm.hpp"

namespace muffle::comm {
namespace {

using testing::HasSubstr;

#define MUFFLE_NEEDS_GPUS(n)                                                                   \
  if (visible_gpus() < (n)) {                                                                  \
    GTEST_SKIP() << "needs " << (n) << " GPU(s), and CUDA sees " << visible_gpus() << " here"; \
  }

/// A copy of host data on the current device.
template <typename T>
class OnDevice {
 public:
  explicit OnDevice(const std::vector<T>& values) : size_(values.size()) {
    EXPECT_EQ(cudaMalloc(reinterpret_cast<void**>(&data_), std::max<std::size_t>(1, bytes())), cudaSuccess);
    EXPECT_EQ(cudaMemcpy(data_, values.data(), bytes(), cudaMemcpyHostToDevice), cudaSuccess);
  }
  ~OnDevice() { cudaFree(data_); }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

  T* data() { return data_; }
  std::size_t bytes() const { return size_ * sizeof(T); }
  std::vector<T> values() const {
    std::vector<T> result(size_);
    EXPECT_EQ(cudaMemcpy(result.data(), data_, bytes(), cudaMemcpyDeviceToHost), cudaSuccess);
    return result;
  }

 private:
  std::size_t size_;
  T* data_ = nullptr;
};

int small_value(int rank, std::size_t i) {
  return static_cast<int>((i * 37 + static_cast<std::size_t>(rank) * 101) % 2003) - 1000;
}

template <typename T>
void sums_are_exact(NcclGroup& group) {
  for (const std::size_t length : {std::size_t{0}, std::size_t{1}, std::size_t{1001}, std::size_t{1} << 20}) {
    std::vector<T> mine(length), expected(length, T(0));
    for (std::size_t i = 0; i < length; ++i) {
      mine[i] = static_cast<T>(small_value(group.rank(), i));  // negative numbers wrap in uint64
      for (int r = 0; r < group.size(); ++r) expected[i] += static_cast<T>(small_value(r, i));
    }
    OnDevice<T> device(mine);
    group.all_reduce_sum(device.data(), length, nullptr);
    group.synchronize(nullptr);
    EXPECT_EQ(device.values(), expected) << "length " << length;
  }
}

/// Sums that are begun behind other work on the stream see that work's result.
template <typename T>
void begun_sums_are_exact(NcclGroup& group) {
  constexpr std::size_t kLength = std::size_t{1} << 18;
  const std::vector<T> mine(kLength, static_cast<T>(group.rank() + 1));
  std::deque<OnDevice<T>> parts;  // which never moves them
  for (int i = 0; i < 4; ++i) {
    OnDevice<T>& part = parts.emplace_back(std::vector<T>(kLength, T(0)));
    EXPECT_EQ(cudaMemcpyAsync(part.data(), mine.data(), part.bytes(), cudaMemcpyHostToDevice, nullptr),
              cudaSuccess);
    group.begin_all_reduce_sum(part.data(), kLength, nullptr);
  }
  group.finish_sums(nullptr);
  group.synchronize(nullptr);
  const std::vector<T> expected(kLength, static_cast<T>(group.size() * (group.size() + 1) / 2));
  for (const auto& part : parts) EXPECT_EQ(part.values(), expected);
}

void check_group(HostComm& host) {
  const auto group = NcclGroup::create(host, {});
  EXPECT_EQ(group->rank(), host.rank());
  EXPECT_EQ(group->size(), host.size());
  ASSERT_EQ(cudaSetDevice(group->device()), cudaSuccess);
  sums_are_exact<float>(*group);
  sums_are_exact<double>(*group);
  sums_are_exact<std::uint64_t>(*group);
  begun_sums_are_exact<float>(*group);
  begun_sums_are_exact<double>(*group);
  for (int root = 0; root < group->size(); ++root) {
    OnDevice<int> numbers({group->rank(), 7 * group->rank() + 1, -group->rank()});
    group->broadcast(numbers.data(), numbers.bytes(), root, nullptr);
    group->synchronize(nullptr);
    EXPECT_EQ(numbers.values(), (std::vector<int>{root, 7 * root + 1, -root}));
  }
  EXPECT_THROW(group->broadcast(nullptr, 0, group->size(), nullptr), InvariantError);
  group->finish();
  EXPECT_THROW(group->synchronize(nullptr), CommError) << "a finished group is of no more use";
}

TEST(NcclGroup, OneRank) {
  MUFFLE_NEEDS_GPUS(1);
  check_group(*single_process());
}

TEST(NcclGroupOnTwoGpus, ARankForEveryGpu) {
  MUFFLE_NEEDS_GPUS(2);
  test::run_thread_ranks(std::min(visible_gpus(), 4), check_group, std::chrono::minutes(2));
}

TEST(NcclGroup, TwoRanksOnOneGpuAreRefusedOnBoth) {
  MUFFLE_NEEDS_GPUS(1);
  test::run_thread_ranks(2, [](HostComm& host) {
    NcclOptions options;
    options.device = 0;
    try {
      NcclGroup::create(host, options);
      ADD_FAILURE() << "not refused";
    } catch (const DeviceError& e) {
      EXPECT_THAT(e.what(), HasSubstr("ranks 0 and 1"));
      EXPECT_THAT(e.what(), HasSubstr("share one GPU"));
    }
  });
}

TEST(NcclGroup, AGpuThatIsNotThereIsAnErrorOnEveryRank) {
  test::run_thread_ranks(2, [](HostComm& host) {
    NcclOptions options;
    options.device = host.rank() == 1 ? 1000 : -1;
    try {
      NcclGroup::create(host, options);
      ADD_FAILURE() << "not refused";
    } catch (const DeviceError& e) {
      EXPECT_EQ(e.code(), ExitCode::kInternal);
      EXPECT_THAT(e.what(), HasSubstr(visible_gpus() == 0 ? "sees no GPU" : "was given GPU 1000"));
    }
  });
}

TEST(NcclGroup, ADeadlineOfNothingIsRefused) {
  NcclOptions options;
  options.deadline = std::chrono::milliseconds(0);
  EXPECT_THROW(NcclGroup::create(*single_process(), options), ConfigError);
}

}  // namespace
}  // namespace muffle::comm
