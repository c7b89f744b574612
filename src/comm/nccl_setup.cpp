#include "nccl_setup.hpp"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <exception>
#include <map>
#include <memory>

#include "../core/cuda_check.hpp"

namespace muffle::comm {
namespace {

/// @throws DeviceError  there is no GPU, or none of that number.
int choose_device(const HostComm& host, int wanted) {
  const int gpus = visible_gpus();
  if (gpus == 0) {
    throw DeviceError(
        fmt::format("rank {} (host {}) sees no GPU. Look at nvidia-smi and CUDA_VISIBLE_DEVICES there, or "
                    "train on CPUs",
                    host.rank(), host.host()));
  }
  const int device = wanted < 0 ? host.local_rank() % gpus : wanted;
  if (device >= gpus) {
    throw DeviceError(fmt::format("rank {} (host {}) was given GPU {}, but sees only {}", host.rank(),
                                  host.host(), device, gpus));
  }
  return device;
}

/// The same verdict on every rank, from the same facts, by rank. @throws DeviceError  two have the same GPU.
void refuse_shared_gpus(const std::vector<std::string>& identities, const std::vector<std::string>& hosts) {
  std::map<std::string, std::size_t> owner;
  for (std::size_t rank = 0; rank < identities.size(); ++rank) {
    const auto [first, is_new] = owner.emplace(identities[rank], rank);
    if (is_new) continue;
    throw DeviceError(
        fmt::format("ranks {} and {} (host {}) would share one GPU. Start at most one rank per GPU, or give "
                    "each rank its own by CUDA_VISIBLE_DEVICES",
                    first->second, rank, hosts[rank]));
  }
}

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

int choose_gpu(HostComm& host, int wanted) {
  int device = 0;
  std::string identity;
  agree(host, "choosing a GPU", true, [&] {
    device = choose_device(host, wanted);
    const auto known = gpu_uuids();  // the same whatever number each process knows a GPU by
    if (static_cast<int>(known.size()) <= device)
      throw DeviceError(
          fmt::format("GPU {} of rank {} (host {}) does not tell its identity: see nvidia-smi there", device,
                      host.rank(), host.host()));
    identity = known[static_cast<std::size_t>(device)];
  });
  const auto identities = host.all_gather(identity);
  const auto hosts = host.all_gather(host.host());
  agree(host, "choosing a GPU for each rank", true, [&] { refuse_shared_gpus(identities, hosts); });
  return device;
}

ncclUniqueId share_unique_id(HostComm& host) {
  ncclUniqueId id{};
  std::string message;
  if (host.is_root()) {
    const ncclResult_t result = ncclGetUniqueId(&id);
    message = result == ncclSuccess
                  ? "+" + std::string(id.internal, sizeof id.internal)
                  : fmt::format("-{}: {}", ncclGetErrorString(result), ncclGetLastError(nullptr));
  }
  message = broadcast_text(host, message);
  agree(host, "making NCCL's unique id", true, [&] {
    if (message.size() == 1 + sizeof id.internal && message[0] == '+') return;
    throw CommError(
        "NCCL made no unique id on rank 0: " + message.substr(std::min<std::size_t>(1, message.size())) +
        ". Check NCCL_SOCKET_IFNAME and that the machine has a network interface");
  });
  std::memcpy(id.internal, message.data() + 1, sizeof id.internal);
  return id;
}

int visible_gpus() noexcept {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) {
    static_cast<void>(cudaGetLastError());
    return 0;
  }
  return std::max(count, 0);
}

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
  using Steady = std::chrono::steady_clock;
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
  const auto give_up = Steady::now() + deadline + deadline / 2;
  std::exception_ptr problem;
  try {
    sum_known_integers(*group, host);
    group->finish();
  } catch (...) {
    problem = std::current_exception();
  }
  if (lost) std::rethrow_exception(problem);
  host.roll_call(
      std::max(deadline / 4, std::chrono::duration_cast<std::chrono::milliseconds>(give_up - Steady::now())));
  agree(host, "summing over the GPUs", true, [&] {
    if (problem) std::rethrow_exception(problem);
  });
  return nccl_version();
}

}  // namespace muffle::comm
