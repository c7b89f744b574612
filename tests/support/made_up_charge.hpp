#pragma once

#include <string>
#include <utility>

#include "muffle/release/charged_document.hpp"

namespace muffle::release {

/// A charge that nobody was charged for.
struct TestAccess {
  static Charge charge(std::string run = "a release") {
    return {std::string(32, 'c'), std::move(run), "records"};
  }
};

}  // namespace muffle::release
