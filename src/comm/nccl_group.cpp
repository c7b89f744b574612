#include "muffle/comm/nccl_group.hpp"

#include <cuda_runtime_api.h>
#include <fmt/format.h>
#include <nccl.h>

#include <cstring>
#include <filesystem>
#include <map>
#include <utility>

#include "../core/cuda_check.hpp"
#include "muffle/core/watchdog.hpp"
#include "poll.hpp"

namespace muffle::comm {
namespace {

/// Of the pauses between looks at the GPU: a step takes milliseconds, and is not to wait for its host.
constexpr std::chrono::microseconds kLongestPause{50};

/// For the watchdog: NCCL's calls that end a communicator have no deadline.
const std::filesystem::path kCommunicator = "NCCL's communicator";

int choose_device(const HostComm& host, const NcclOptions& options) {
  const int gpus = visible_gpus();
  if (gpus == 0) {
    throw DeviceError(
        fmt::format("rank {} (host {}) sees no GPU. Look at nvidia-smi and CUDA_VISIBLE_DEVICES there, or "
                    "train on CPUs",
                    host.rank(), host.host()));
  }
  const int device = options.device < 0 ? host.local_rank() % gpus : options.device;
  if (device >= gpus) {
    throw DeviceError(fmt::format("rank {} (host {}) was given GPU {}, but sees only {}", host.rank(),
                                  host.host(), device, gpus));
  }
  return device;
}

/// The GPU's identity, whatever number each process knows it by.
std::string identity_of(int device) {
  cudaDeviceProp properties{};
  check_cuda(cudaGetDeviceProperties(&properties, device),
             fmt::format("asking for GPU {}'s properties", device));
  return {properties.uuid.bytes, sizeof properties.uuid.bytes};
}

/// The same verdict on every rank, from the same facts.
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

/// Root's unique id, or its failure, on every rank.
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
  if (message.size() != 1 + sizeof id.internal || message[0] != '+') {
    throw CommError(
        "NCCL made no unique id on rank 0: " + message.substr(std::min<std::size_t>(1, message.size())) +
        ". Check NCCL_SOCKET_IFNAME and that the machine has a network interface");
  }
  std::memcpy(id.internal, message.data() + 1, sizeof id.internal);
  return id;
}

}  // namespace

int visible_gpus() noexcept {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) {
    static_cast<void>(cudaGetLastError());
    return 0;
  }
  return std::max(count, 0);
}

struct NcclGroup::State {
  ncclComm_t comm = nullptr;
  int rank = 0;
  int size = 1;
  int device = 0;
  std::string host;
  std::chrono::milliseconds deadline{0};
  std::string died_in;
  cudaStream_t side = nullptr;  ///< for sums that run beside other work
  cudaEvent_t ready = nullptr;  ///< what the next of them has to wait for, or what waits for them
  std::function<void()> meanwhile, before_end;

  ~State() {
    abort();
    if (ready != nullptr) static_cast<void>(cudaEventDestroy(ready));
    if (side != nullptr) static_cast<void>(cudaStreamDestroy(side));
  }

  /// A communicator does not end before the CUDA graphs that its operations were captured into.
  void release_graphs() noexcept {
    try {
      if (before_end) before_end();
    } catch (...) {  // it is tried all the same: the watchdog sees to it that it ends
    }
  }

  void abort() noexcept {
    if (comm == nullptr) return;
    release_graphs();
    const WatchedStep step("aborting", kCommunicator);
    static_cast<void>(ncclCommAbort(std::exchange(comm, nullptr)));
  }

  [[noreturn]] void fail(std::string_view operation, const std::string& reason) {
    died_in = operation;
    abort();
    throw CommError(
        fmt::format("NCCL: {} on rank {} of {} (host {}, GPU {}): {}. The communicator is aborted; the first "
                    "error in the other ranks' logs tells the cause. NCCL_DEBUG=INFO says more",
                    operation, rank, size, host, device, reason));
  }

  std::string text(ncclResult_t result) const {
    return fmt::format("{} ({})", ncclGetErrorString(result), ncclGetLastError(comm));
  }

  /// Waits until the non-blocking call whose result this is has taken effect.
  void settle(ncclResult_t result, std::string_view operation) {
    const auto until = Clock::now() + deadline;
    for (Backoff backoff(kLongestPause); result == ncclInProgress; backoff.pause()) {
      if (const ncclResult_t asked = ncclCommGetAsyncError(comm, &result); asked != ncclSuccess)
        result = asked;
      if (result == ncclInProgress && Clock::now() >= until) fail(operation, late());
      if (result == ncclInProgress && backoff.sleeping()) listen(operation);
    }
    if (result != ncclSuccess) fail(operation, text(result));
  }

  /// What happens on the other ranks may end the wait.
  void listen(std::string_view operation) {
    if (!meanwhile) return;
    try {
      meanwhile();
    } catch (...) {
      died_in = operation;
      abort();
      throw;
    }
  }

  std::string late() const {
    return fmt::format("not done within {:.1f} s: a rank is lost, hangs, or is still busy elsewhere",
                       static_cast<double>(deadline.count()) / 1000);
  }

  void connect(const ncclUniqueId& id) {
    const DeviceScope scope(device);
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    const ncclResult_t result = ncclCommInitRankConfig(&comm, size, id, rank, &config);
    if (comm == nullptr) fail("setting up", text(result == ncclSuccess ? ncclInternalError : result));
    settle(result, "setting up");
    // One that does not wait for the default stream by itself, nor that for it.
    check_cuda(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    check_cuda(cudaEventCreateWithFlags(&ready, cudaEventDisableTiming), "cudaEventCreateWithFlags");
  }

  /// Enqueues one collective; errors of earlier ones surface here.
  template <typename Start>
  void enqueue(std::string_view operation, const Start& start) {
    if (comm == nullptr) {
      throw CommError(fmt::format("NCCL: {} on rank {}: this group {}", operation, rank,
                                  died_in.empty() ? "has been finished" : "died earlier, in " + died_in));
    }
    const DeviceScope scope(device);
    settle(start(), operation);
  }

  void begin_all_reduce_sum(void* data, std::size_t count, ncclDataType_t type, void* stream) {
    {
      const DeviceScope scope(device);
      check_cuda(cudaEventRecord(ready, static_cast<cudaStream_t>(stream)), "cudaEventRecord");
      check_cuda(cudaStreamWaitEvent(side, ready, 0), "cudaStreamWaitEvent");
    }
    all_reduce_sum(data, count, type, side);
  }

  void all_reduce_sum(void* data, std::size_t count, ncclDataType_t type, void* stream) {
    enqueue("all_reduce_sum", [&] {
      return ncclAllReduce(data, data, count, type, ncclSum, comm, static_cast<cudaStream_t>(stream));
    });
  }
};

NcclGroup::NcclGroup(std::unique_ptr<State> state) : state_(std::move(state)) {}

NcclGroup::~NcclGroup() = default;

std::unique_ptr<NcclGroup> NcclGroup::create(HostComm& host, const NcclOptions& options) {
  if (options.deadline.count() <= 0) {
    throw ConfigError(fmt::format("NCCL's deadline is {} ms; it must be above 0", options.deadline.count()));
  }
  auto state = std::make_unique<State>();
  state->rank = host.rank();
  state->size = host.size();
  state->host = host.host();
  state->deadline = options.deadline;
  state->meanwhile = options.meanwhile;

  std::string identity;
  agree(
      host, "choosing a GPU",
      [&] {
        state->device = choose_device(host, options);
        identity = identity_of(state->device);
      },
      true);
  const auto identities = host.all_gather(identity);
  const auto hosts = host.all_gather(host.host());
  refuse_shared_gpus(identities, hosts);

  const ncclUniqueId id = share_unique_id(host);
  agree(
      host, "setting up NCCL", [&] { state->connect(id); }, true);
  return std::unique_ptr<NcclGroup>(new NcclGroup(std::move(state)));
}

int NcclGroup::rank() const { return state_->rank; }
int NcclGroup::size() const { return state_->size; }
int NcclGroup::device() const { return state_->device; }

void NcclGroup::all_reduce_sum(float* data, std::size_t count, void* stream) {
  state_->all_reduce_sum(data, count, ncclFloat32, stream);
}

void NcclGroup::all_reduce_sum(double* data, std::size_t count, void* stream) {
  state_->all_reduce_sum(data, count, ncclFloat64, stream);
}

void NcclGroup::all_reduce_sum(std::uint64_t* data, std::size_t count, void* stream) {
  state_->all_reduce_sum(data, count, ncclUint64, stream);
}

void NcclGroup::begin_all_reduce_sum(float* data, std::size_t count, void* stream) {
  state_->begin_all_reduce_sum(data, count, ncclFloat32, stream);
}

void NcclGroup::begin_all_reduce_sum(double* data, std::size_t count, void* stream) {
  state_->begin_all_reduce_sum(data, count, ncclFloat64, stream);
}

void NcclGroup::finish_sums(void* stream) {
  const DeviceScope scope(state_->device);
  check_cuda(cudaEventRecord(state_->ready, state_->side), "cudaEventRecord");
  check_cuda(cudaStreamWaitEvent(static_cast<cudaStream_t>(stream), state_->ready, 0), "cudaStreamWaitEvent");
}

void NcclGroup::broadcast(void* data, std::size_t bytes, int root, void* stream) {
  require(root >= 0 && root < size(), fmt::format("broadcast: there is no rank {} among {}", root, size()));
  state_->enqueue("broadcast", [&] {
    return ncclBroadcast(data, data, bytes, ncclUint8, root, state_->comm, static_cast<cudaStream_t>(stream));
  });
}

void NcclGroup::synchronize(void* stream) {
  State& state = *state_;
  state.enqueue("synchronize", [] { return ncclSuccess; });  // a dead group is refused
  const DeviceScope scope(state.device);
  const auto until = Clock::now() + state.deadline;
  for (Backoff backoff(kLongestPause);; backoff.pause()) {
    const cudaError_t done = cudaStreamQuery(static_cast<cudaStream_t>(stream));
    ncclResult_t health = ncclSuccess;
    const ncclResult_t asked = ncclCommGetAsyncError(state.comm, &health);
    if (asked != ncclSuccess) health = asked;
    if (health != ncclSuccess && health != ncclInProgress) state.fail("synchronize", state.text(health));
    if (done == cudaSuccess) return;
    if (done != cudaErrorNotReady) {
      state.died_in = "synchronize";
      state.abort();
      check_cuda(done, fmt::format("work on GPU {} of rank {}", state.device, state.rank));
    }
    if (Clock::now() >= until) state.fail("synchronize", state.late());
    if (backoff.sleeping()) state.listen("synchronize");
  }
}

void NcclGroup::before_end(std::function<void()> release) { state_->before_end = std::move(release); }

void NcclGroup::finish() {
  State& state = *state_;
  state.release_graphs();
  state.enqueue("finish", [&] { return ncclCommFinalize(state.comm); });
  const WatchedStep step("destroying", kCommunicator);
  const ncclResult_t result = ncclCommDestroy(std::exchange(state.comm, nullptr));
  if (result != ncclSuccess) state.fail("finish", ncclGetErrorString(result));
}

}  // namespace muffle::comm
