#pragma once

#include <functional>

namespace muffle {

/// Called between the parts of long work, so that whoever waits sees life; may be empty. What it throws ends
/// the work.
using Heartbeat = std::function<void()>;

inline void beat(const Heartbeat& heartbeat) {
  if (heartbeat) heartbeat();
}

}  // namespace muffle
