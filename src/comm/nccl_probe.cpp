#include "muffle/comm/nccl_probe.hpp"

#include <cuda_runtime_api.h>
#include <fmt/format.h>
#include <nccl.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <exception>
#include <memory>

#include "../core/cuda_check.hpp"
#include "muffle/comm/nccl_group.hpp"

namespace muffle::comm {
namespace {

struct FreeOnDevice {
  void operator()(std::uint64_t* p) const { static_cast<void>(cudaFree(p)); }
};

/// Integers: the sums are exact, so a wrong one is a fault and never rounding.
void sum_known_integers(NcclGroup& group, const HostComm& host) {
  constexpr std::size_t kCount = std::size_t{1} << 20;
  use_device(group.device());
  std::uint64_t* raw = nullptr;
  check_cuda(cudaMalloc(reinterpret_cast<void**>(&raw), kCount * sizeof *raw), "cudaMalloc of 8 MiB");
  const std::unique_ptr<std::uint64_t, FreeOnDevice> owned(raw);
  std::vector<std::uint64_t> numbers(kCount);
  const auto ranks = static_cast<std::uint64_t>(group.size());
  for (std::size_t i = 0; i < kCount; ++i)
    numbers[i] = (static_cast<std::uint64_t>(group.rank()) + 1) * (i + 1);
  check_cuda(cudaMemcpy(raw, numbers.data(), kCount * sizeof *raw, cudaMemcpyHostToDevice), "cudaMemcpy");
  group.all_reduce_sum(raw, kCount, nullptr);
  group.synchronize(nullptr);
  check_cuda(cudaMemcpy(numbers.data(), raw, kCount * sizeof *raw, cudaMemcpyDeviceToHost), "cudaMemcpy");
  for (std::size_t i = 0; i < kCount; ++i) {
    require(numbers[i] == ranks * (ranks + 1) / 2 * (i + 1),
            fmt::format("NCCL's sum of known integers is wrong at position {} on rank {} (host {})", i,
                        group.rank(), host.host()));
  }
}

}  // namespace

std::vector<std::string> gpu_uuids() noexcept {
  std::vector<std::string> out;
  for (int i = 0; i < visible_gpus(); ++i) {
    cudaDeviceProp properties{};
    if (cudaGetDeviceProperties(&properties, i) != cudaSuccess) {
      static_cast<void>(cudaGetLastError());
      break;
    }
    std::string text = "GPU-";
    for (const char byte : properties.uuid.bytes)
      text += fmt::format("{:02x}", static_cast<unsigned>(static_cast<unsigned char>(byte)));
    out.push_back(text);
  }
  return out;
}

std::string nccl_version() {
  int version = 0;
  static_cast<void>(ncclGetVersion(&version));
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

std::string probe_nccl(HostComm& host, int device, double deadline_s) {
  using Clock = std::chrono::steady_clock;
  const auto deadline = std::chrono::milliseconds(static_cast<long long>(deadline_s * 1000 / 2));
  NcclOptions options;  // without a roll call: it comes below, on the ranks whose sums went well too
  options.device = device;
  options.deadline = deadline;
  bool lost = false;  // then nobody is left to meet, and the loss is told at once
  options.heartbeat = [&] {
    try {
      host.check_lost("trying NCCL");
    } catch (...) {
      lost = true;
      throw;
    }
  };
  const auto group = NcclGroup::create(host, options);
  const auto give_up = Clock::now() + deadline + deadline / 2;
  std::exception_ptr problem;
  try {
    sum_known_integers(*group, host);
    group->finish();
  } catch (...) {
    problem = std::current_exception();
  }
  if (lost) std::rethrow_exception(problem);
  host.roll_call(
      std::max(deadline / 4, std::chrono::duration_cast<std::chrono::milliseconds>(give_up - Clock::now())));
  agree(host, "summing over the GPUs", true, [&] {
    if (problem) std::rethrow_exception(problem);
  });
  return nccl_version();
}

}  // namespace muffle::comm
