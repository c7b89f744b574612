#pragma once

#include <fmt/format.h>

#include <source_location>
#include <string>

#include "muffle/core/error.hpp"
#include "muffle/core/float_text.hpp"
#include "muffle/core/settings.hpp"

namespace muffle::privacy {

/// Collects what is wrong, so that the user sees every problem at once.
class Problems {
 public:
  void unless(bool good, const std::string& problem) {
    if (!good) text_ += (text_.empty() ? "" : "; ") + problem;
  }
  void unless_in(const settings::Range& range, const std::string& what, double value) {
    unless(range.has(value), fmt::format("{} is {}, not {}", what, exact_text(value), range.text()));
  }
  /// One paragraph: `what` failed, and every reason. @throws ConfigError if there is any.
  void throw_if_any(const std::string& what,
                    std::source_location where = std::source_location::current()) const {
    if (text_.empty()) return;
    throw ConfigError(fmt::format("{}: {}. Correct the configuration; nothing was released.", what, text_),
                      where);
  }

 private:
  std::string text_;
};

}  // namespace muffle::privacy
