#pragma once

#include <functional>

namespace muffle {

/// Called between the parts of long work, a sign of life; may be empty. What it throws ends the work.
using Heartbeat = std::function<void()>;

inline void beat(const Heartbeat& heartbeat) {
  if (heartbeat) heartbeat();
}

/// A place in a long work that tests name, such as "train.step": it does nothing. Their builds of the command
/// put another function in its place (tests/support/faulty_system.cpp), which signals, kills or waits there.
void named_step(const char* name) noexcept;

}  // namespace muffle
