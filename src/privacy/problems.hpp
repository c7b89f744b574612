#pragma once

#include <fmt/format.h>

#include <source_location>
#include <string>

#include "muffle/core/error.hpp"
#include "muffle/core/settings.hpp"
#include "muffle/core/text.hpp"

namespace muffle::privacy {

/// Collects what is wrong, so that the user sees every problem at once.
class Problems : public settings::Problems {
 public:
  void unless_in(const settings::Range& range, const std::string& what, double value) {
    unless(range.has(value), fmt::format("{} is {}, not {}", what, exact_text(value), range.text()));
  }
  /// One paragraph: `what` failed, and every reason. @throws ConfigError if there is any.
  void throw_if_any(const std::string& what, std::source_location where = std::source_location::current()) {
    if (empty()) return;
    throw ConfigError(fmt::format("{}: {}. Correct the configuration; nothing was released.", what,
                                  fmt::join(take(), "; ")),
                      {}, where);
  }
};

}  // namespace muffle::privacy
