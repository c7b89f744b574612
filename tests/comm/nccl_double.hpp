#pragma once

#include <atomic>

namespace muffle::test {

/// What the doubles of CUDA and NCCL in nccl_double.cpp do and saw: one communicator on one GPU, without
/// either. It is held to what NCCL's sources say of the order in which things end.
struct NcclDouble {
  // As the test wishes.
  int captured = 0;          ///< CUDA graphs that hold captured operations of the communicator
  bool work_ends = true;     ///< or the stream is never done
  bool finalizes = true;     ///< or ncclCommFinalize stays in progress
  bool fails_later = false;  ///< an asynchronous error
  // As it went.
  int aborted = 0, destroyed = 0;
  int graphs_at_end = 0;  ///< at the abort or the destruction: NCCL would wait for these for ever
};

NcclDouble& nccl_double();

}  // namespace muffle::test
