#pragma once

#include <chrono>
#include <functional>

#include "muffle/comm/host_comm.hpp"

namespace muffle::test {

/// Runs `body` on n ranks that are threads of this process, each with its own HostComm, and waits for all of
/// them. A rank that waits longer than `deadline` in a collective throws CommError naming the missing ranks;
/// a rank whose body has ended can never come, so the others do not wait for it at all. Afterwards the group
/// is dead, as with MPI. Collectives called in different orders are found out too (CommError).
/// @throws whatever a rank threw first in time (the cause; the CommErrors of the ranks that it left alone
/// come later).
void run_thread_ranks(int n, const std::function<void(comm::HostComm&)>& body,
                      std::chrono::milliseconds deadline = std::chrono::minutes(2));

}  // namespace muffle::test
