#include "muffle/comm/nccl_group.hpp"

#include <cuda_runtime_api.h>
#include <fmt/format.h>
#include <nccl.h>

#include <exception>
#include <filesystem>
#include <utility>

#include "../core/cuda_check.hpp"
#include "gpu_stopwatch.hpp"
#include "muffle/core/watchdog.hpp"
#include "nccl_setup.hpp"
#include "poll.hpp"

namespace muffle::comm {
namespace {

/// Of the pauses between looks at the GPU: a step takes milliseconds, and is not to wait for its host.
constexpr std::chrono::microseconds kLongestPause{50};

/// For the watchdog: NCCL's calls that end a communicator have no deadline.
const std::filesystem::path kCommunicator = "NCCL's communicator";

}  // namespace

NcclOptions watched_by(HostComm& host, int device, std::chrono::milliseconds deadline) {
  NcclOptions options;
  options.device = device;
  options.deadline = deadline;
  options.heartbeat = [&host] { host.check_lost("waiting for the GPUs"); };
  options.call_roll = [&host](std::chrono::milliseconds within) { host.roll_call(within); };
  return options;
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
  Heartbeat heartbeat;
  std::function<void()> before_end;
  std::function<void(std::chrono::milliseconds)> call_roll;
  bool late = false;  ///< a wait has passed its deadline
  GpuStopwatch sums, broadcasts;

  ~State() {
    abort();
    if (ready != nullptr) static_cast<void>(cudaEventDestroy(ready));
    if (side != nullptr) static_cast<void>(cudaStreamDestroy(side));
  }

  /// A communicator does not end before the CUDA graphs that its operations were captured into.
  void release_graphs() noexcept {
    const WatchedStep step("releasing the graphs of", kCommunicator);
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

  /// Fails for a reason that may lie with another rank, once that one had the chance to come to the roll
  /// call: the others may wait in NCCL until `until` as well.
  [[noreturn]] void fail_elsewhere(std::string_view operation, const std::string& reason,
                                   Clock::time_point until) {
    died_in = operation;
    abort();
    if (!call_roll) fail(operation, reason + ": a rank is lost, hangs, or is still busy elsewhere");
    try {
      const auto left = std::max(Clock::duration::zero(), until - Clock::now());
      call_roll(std::chrono::duration_cast<std::chrono::milliseconds>(left) + deadline / 2);
    } catch (const CommError& e) {
      CommError missing(fmt::format("NCCL: {} on rank {} of {} (host {}, GPU {}): {}. {}", operation, rank,
                                    size, host, device, reason, e.what()));
      if (e.quiet()) missing.mark_quiet();
      throw missing;
    }
    fail(operation, reason + ", though every rank is there: a GPU, or the network between them, is stuck");
  }

  [[noreturn]] void fail_late(std::string_view operation, Clock::time_point until) {
    late = true;
    fail_elsewhere(operation,
                   fmt::format("not done within {:.1f} s", static_cast<double>(deadline.count()) / 1000),
                   until);
  }

  /// By what NCCL met, which may be that another rank has given up.
  [[noreturn]] void fail(std::string_view operation, ncclResult_t result, Clock::time_point until) {
    const std::string reason = text(result);
    if (result == ncclRemoteError) fail_elsewhere(operation, reason, until);
    fail(operation, reason);
  }

  std::string text(ncclResult_t result) const {
    return fmt::format("{} ({})", ncclGetErrorString(result), ncclGetLastError(comm));
  }

  /// Waits until the non-blocking call whose result this is has taken effect.
  void await_effect(ncclResult_t result, std::string_view operation) {
    const auto until = Clock::now() + deadline;
    for (Backoff backoff(kLongestPause); result == ncclInProgress; backoff.pause()) {
      if (const ncclResult_t asked = ncclCommGetAsyncError(comm, &result); asked != ncclSuccess)
        result = asked;
      if (result == ncclInProgress && Clock::now() >= until) fail_late(operation, until);
      if (result == ncclInProgress && backoff.sleeping()) listen(operation);
    }
    if (result != ncclSuccess) fail(operation, result, until);
  }

  /// What happens on the other ranks may end the wait.
  void listen(std::string_view operation) {
    if (!heartbeat) return;
    try {
      heartbeat();
    } catch (...) {
      died_in = operation;
      abort();
      throw;
    }
  }

  void connect(const ncclUniqueId& id) {
    use_device(device);
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    const ncclResult_t result = ncclCommInitRankConfig(&comm, size, id, rank, &config);
    if (comm == nullptr) fail("setting up", text(result == ncclSuccess ? ncclInternalError : result));
    await_effect(result, "setting up");
    // One that does not wait for the default stream by itself, nor that for it.
    check_cuda(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
    check_cuda(cudaEventCreateWithFlags(&ready, cudaEventDisableTiming), "cudaEventCreateWithFlags");
  }

  bool capturing(cudaStream_t stream) const {
    use_device(device);
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    check_cuda(cudaStreamIsCapturing(stream, &status), "cudaStreamIsCapturing");
    return status != cudaStreamCaptureStatusNone;
  }

  /// Enqueues one collective on `stream`, and takes its time unless it goes into a CUDA graph.
  template <typename Start>
  void enqueue_timed(std::string_view operation, GpuStopwatch& watch, cudaStream_t stream,
                     const Start& start) {
    require_alive(operation);
    const bool timed = !capturing(stream);
    if (timed) watch.start(stream);
    enqueue(operation, start);
    if (timed) watch.stop(stream);
  }

  void require_alive(std::string_view operation) const {
    if (comm != nullptr) return;
    throw CommError(fmt::format("NCCL: {} on rank {}: this group {}", operation, rank,
                                died_in.empty() ? "has been finished" : "died earlier, in " + died_in));
  }

  /// Enqueues one collective; errors of earlier ones surface here.
  template <typename Start>
  void enqueue(std::string_view operation, const Start& start) {
    require_alive(operation);
    use_device(device);
    await_effect(start(), operation);
  }

  void begin_all_reduce_sum(void* data, std::size_t count, ncclDataType_t type, void* stream) {
    use_device(device);
    check_cuda(cudaEventRecord(ready, static_cast<cudaStream_t>(stream)), "cudaEventRecord");
    check_cuda(cudaStreamWaitEvent(side, ready, 0), "cudaStreamWaitEvent");
    all_reduce_sum(data, count, type, side);
  }

  void all_reduce_sum(void* data, std::size_t count, ncclDataType_t type, void* stream) {
    const auto on = static_cast<cudaStream_t>(stream);
    enqueue_timed("all_reduce_sum", sums, on,
                  [&] { return ncclAllReduce(data, data, count, type, ncclSum, comm, on); });
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
  state->heartbeat = options.heartbeat;

  state->device = choose_gpu(host, options.device);
  const ncclUniqueId id = share_unique_id(host);
  std::exception_ptr problem;
  try {
    state->connect(id);
  } catch (...) {
    problem = std::current_exception();
  }
  try {
    // A rank that does not come at all is named here. Those that waited for it in NCCL have waited already.
    if (state->late) {
      host.roll_call(options.deadline / 2);
    } else {
      host.barrier();
    }
  } catch (const Error&) {
    if (problem && !state->late) std::rethrow_exception(problem);  // which says more than a lost connection
    throw;
  }
  agree(host, "setting up NCCL", true, [&] {
    if (problem) std::rethrow_exception(problem);
  });
  state->call_roll = options.call_roll;
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
  use_device(state_->device);
  check_cuda(cudaEventRecord(state_->ready, state_->side), "cudaEventRecord");
  check_cuda(cudaStreamWaitEvent(static_cast<cudaStream_t>(stream), state_->ready, 0), "cudaStreamWaitEvent");
}

void NcclGroup::broadcast(void* data, std::size_t bytes, int root, void* stream) {
  require(root >= 0 && root < size(), fmt::format("broadcast: there is no rank {} among {}", root, size()));
  const auto on = static_cast<cudaStream_t>(stream);
  state_->enqueue_timed("broadcast", state_->broadcasts, on,
                        [&] { return ncclBroadcast(data, data, bytes, ncclUint8, root, state_->comm, on); });
}

void NcclGroup::synchronize(void* stream) {
  State& state = *state_;
  state.enqueue("synchronize", [] { return ncclSuccess; });  // a dead group is refused
  const auto until = Clock::now() + state.deadline;
  for (Backoff backoff(kLongestPause);; backoff.pause()) {
    const cudaError_t done = cudaStreamQuery(static_cast<cudaStream_t>(stream));
    ncclResult_t health = ncclSuccess;
    const ncclResult_t asked = ncclCommGetAsyncError(state.comm, &health);
    if (asked != ncclSuccess) health = asked;
    if (health != ncclSuccess && health != ncclInProgress) state.fail("synchronize", health, until);
    if (done == cudaSuccess) {
      state.sums.read();
      state.broadcasts.read();
      return;
    }
    if (done != cudaErrorNotReady) {
      state.died_in = "synchronize";
      state.abort();
      check_cuda(done, fmt::format("work on GPU {} of rank {}", state.device, state.rank));
    }
    if (Clock::now() >= until) state.fail_late("synchronize", until);
    if (backoff.sleeping()) state.listen("synchronize");
  }
}

bool NcclGroup::capturing(void* stream) const { return state_->capturing(static_cast<cudaStream_t>(stream)); }

GpuTime NcclGroup::time_in_sums() const { return state_->sums.total(); }
GpuTime NcclGroup::time_in_broadcasts() const { return state_->broadcasts.total(); }

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
