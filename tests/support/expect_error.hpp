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

/// Expects an Error whose message has the parts of `open`, and whose local detail has those of `local`, which
/// are not in the message: what is private stays on the rank. @returns message and detail.
template <class Action>
std::string expect_local_detail(ExitCode code, std::initializer_list<std::string> open,
                                std::initializer_list<std::string> local, Action&& action) {
  std::string detail;
  const std::string message = expect_error(code, open, [&] {
    try {
      action();
    } catch (const Error& error) {
      detail = error.local_detail();
      throw;
    }
  });
  for (const std::string& part : local) {
    EXPECT_THAT(detail, ::testing::HasSubstr(part)) << "message: " << message;
    EXPECT_THAT(message, ::testing::Not(::testing::HasSubstr(part)));
  }
  return message + " " + detail;
}

}  // namespace muffle::test
