#pragma once

#include <gmock/gmock.h>

#include <initializer_list>
#include <string>

#include "muffle/core/error.hpp"

namespace muffle::test {

/// Expects `action` to throw an Error of this exit code whose message has all these parts. @returns the
/// message.
template <class Action>
std::string expect_error(ExitCode code, std::initializer_list<std::string> parts, Action&& action) {
  try {
    action();
  } catch (const Error& error) {
    const std::string message = error.what();
    EXPECT_EQ(error.code(), code) << message;
    for (const std::string& part : parts) EXPECT_THAT(message, ::testing::HasSubstr(part));
    return message;
  } catch (const std::exception& error) {
    ADD_FAILURE() << "threw something that is not a muffle::Error: " << error.what();
    return {};
  }
  ADD_FAILURE() << "nothing was thrown; expected an error of exit code " << static_cast<int>(code);
  return {};
}

}  // namespace muffle::test
