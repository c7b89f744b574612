#pragma once

#ifdef MUFFLE_TORCH_CUDA
#include <c10/core/AutogradState.h>
#endif

namespace muffle::train {

/// While it lives, this thread's backward passes run on it alone. Of a pass on a GPU LibTorch would have a
/// thread of its own run all: then sums over ranks would start there, on another thread than all else of a
/// rank, and could not end a recording that began here; ranks that are threads of one process would wait for
/// each other on it for ever.
class BackwardHere {
#ifdef MUFFLE_TORCH_CUDA
 public:
  BackwardHere() { state().set_multithreading_enabled(false); }
  ~BackwardHere() { state().set_multithreading_enabled(before_); }
  BackwardHere& operator=(BackwardHere&&) = delete;

 private:
  static c10::AutogradState& state() { return c10::AutogradState::get_tls_state(); }
  bool before_ = state().get_multithreading_enabled();
#endif
};

}  // namespace muffle::train
