#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "muffle/core/error.hpp"

namespace muffle::testing_support {

/// Runs `body` and expects an Error of class E whose message names every one of `words` and is one paragraph.
template <class E, class Body>
void expect_error(Body body, ExitCode code, const std::vector<std::string>& words) {
  try {
    body();
  } catch (const E& e) {
    EXPECT_EQ(e.code(), code);
    const std::string message = e.what();
    for (const std::string& word : words)
      EXPECT_NE(message.find(word), std::string::npos) << word << " not in: " << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    return;
  } catch (const std::exception& e) {
    ADD_FAILURE() << "another exception: " << e.what();
    return;
  }
  ADD_FAILURE() << "nothing was thrown";
}

}  // namespace muffle::testing_support
