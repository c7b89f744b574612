#pragma once

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace muffle {

/// While it lives, the thread that made it takes denormal floats for zeros and makes none. x86 computes with
/// such numbers several times slower, so that a time would tell of what is computed. Elsewhere (and on
/// processors that are not slowed by them) it does nothing.
class FlushDenormals {
 public:
#if defined(__SSE2__)
  FlushDenormals() : before_(_mm_getcsr()) { _mm_setcsr(before_ | kFlushToZero | kDenormalsAreZero); }
  ~FlushDenormals() { _mm_setcsr(before_); }
#else
  FlushDenormals() = default;
  ~FlushDenormals() = default;
#endif
  FlushDenormals& operator=(FlushDenormals&&) = delete;

 private:
#if defined(__SSE2__)
  static constexpr unsigned kFlushToZero = 0x8000, kDenormalsAreZero = 0x0040;
  unsigned before_;
#endif
};

}  // namespace muffle
