#include "muffle/train/flush_denormals.hpp"

#include <omp.h>

#include <algorithm>
#if defined(__SSE2__)
#include <xmmintrin.h>
#endif

namespace muffle::train {

#if defined(__SSE2__)

FlushDenormals::FlushDenormals(int threads)
    : before_(static_cast<std::size_t>(std::max(threads, 1)), _mm_getcsr()) {
  constexpr unsigned kFlushToZero = 0x8000, kDenormalsAreZero = 0x0040;
#pragma omp parallel num_threads(static_cast <int>(before_.size()))
  {
    const unsigned word = _mm_getcsr();
    before_[static_cast<std::size_t>(omp_get_thread_num())] = word;
    _mm_setcsr(word | kFlushToZero | kDenormalsAreZero);
  }
}

FlushDenormals::~FlushDenormals() {
#pragma omp parallel num_threads(static_cast <int>(before_.size()))
  _mm_setcsr(before_[static_cast<std::size_t>(omp_get_thread_num())]);
}

#else

FlushDenormals::FlushDenormals(int) {}
FlushDenormals::~FlushDenormals() = default;

#endif

}  // namespace muffle::train
