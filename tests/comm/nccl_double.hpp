#pragma once

#include <atomic>
#include <functional>
#include <memory>

namespace muffle::test {

/// What the doubles of CUDA and NCCL in nccl_double.cpp do and saw, without either; ranks may be threads. It
/// is held to what NCCL's sources say of the order in which things end.
struct NcclDouble {
  // As the test wishes.
  int gpus = 1;                          ///< each with a UUID of its own
  std::atomic<int> captured{0};          ///< CUDA graphs that hold captured operations of the communicator
  std::atomic<bool> work_ends{true};     ///< or the stream is never done
  std::atomic<bool> finalizes{true};     ///< or ncclCommInitRankConfig and ncclCommFinalize stay in progress
  std::atomic<bool> fails_later{false};  ///< an asynchronous error
  bool makes_ids = true;                 ///< or ncclGetUniqueId fails
  bool capturing = false;                ///< is every stream being captured into a graph?
  bool events_happen = true;             ///< or none of them yet
  std::function<void(int)> in_setup{};   ///< called with the rank
  std::function<void()> in_sum{};        ///< called as a sum is enqueued
  // As it went.
  std::atomic<int> aborted{0}, destroyed{0};
  std::atomic<int> graphs_at_end{0};  ///< at the abort or the destruction: NCCL would wait for these for ever
  std::atomic<int> events{0};         ///< that exist
  std::atomic<int> recorded{0};

  void reset() {
    std::destroy_at(this);
    std::construct_at(this);
  }
};

/// Between any two events.
constexpr float kMilliseconds = 2.5F;

NcclDouble& nccl_double();

}  // namespace muffle::test
