#pragma once

#include <functional>
#include <vector>

#include "muffle/core/heartbeat.hpp"

namespace muffle::evaluate {

/// Runs the tasks, `threads` at a time, in their order. Each is given a heartbeat to call, from its thread;
/// `heartbeat` is then called by one thread at a time. The first error, of a task or of the heartbeat, ends
/// all tasks at their next heartbeat and comes out of here: a lost peer is reported once and to one thread.
void run_side_by_side(const std::vector<std::function<void(const Heartbeat&)>>& tasks, int threads,
                      const Heartbeat& heartbeat);

}  // namespace muffle::evaluate
