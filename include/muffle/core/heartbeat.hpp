#pragma once

#include <functional>

namespace muffle {

/// Called between the parts of long work, a sign of life; may be empty. What it throws ends the work.
using Heartbeat = std::function<void()>;

inline void beat(const Heartbeat& heartbeat) {
  if (heartbeat) heartbeat();
}

}  // namespace muffle
