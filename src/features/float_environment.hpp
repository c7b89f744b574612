#pragma once

#include <cfenv>

namespace muffle::features {

/// The default floating-point environment while it lives, whatever mode a library left this thread in.
class DefaultFloatEnvironment {
 public:
  DefaultFloatEnvironment() {
    std::fegetenv(&saved_);
    std::fesetenv(FE_DFL_ENV);
  }
  ~DefaultFloatEnvironment() { std::fesetenv(&saved_); }
  DefaultFloatEnvironment& operator=(DefaultFloatEnvironment&&) = delete;

 private:
  std::fenv_t saved_;
};

}  // namespace muffle::features
