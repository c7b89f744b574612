#pragma once

#include <fmt/format.h>

#include <source_location>
#include <string>

#include "muffle/core/error.hpp"

namespace muffle::privacy {

/// Collects what is wrong, so that the user sees every problem at once.
class Problems {
 public:
  void add(const std::string& problem) { text_ += (text_.empty() ? "" : "; ") + problem; }
  bool any() const { return !text_.empty(); }
  /// One paragraph: `what` failed, and every reason. @throws ConfigError if there is any.
  void throw_if_any(const std::string& what,
                    std::source_location where = std::source_location::current()) const {
    if (any())
      throw ConfigError(fmt::format("{}: {}. Correct the configuration; nothing was released.", what, text_),
                        {}, where);
  }

 private:
  std::string text_;
};

}  // namespace muffle::privacy
