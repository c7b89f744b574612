// How a rank waits, and how it leaves a job that cannot go on: what it says of the others, how it ends.
#include <fmt/format.h>

#include <cstdio>

#include "mpi_comm.hpp"
#include "muffle/comm/termination.hpp"

namespace muffle::comm {
namespace {

constexpr std::string_view kWhatToDo =
    "Look at the end of that rank's log and at its machine (killed for memory, rebooted, cut off?), then run "
    "the same command again: finished stages are kept, and nothing half-written is used";

std::string why(Waited outcome) {
  return outcome == Waited::kTermination ? "told to stop (SIGTERM or SIGUSR1)"
                                         : "waiting for the others is of no use";
}

}  // namespace

Waited wait_for(MPI_Request& request, std::string_view operation, const Patience& patience,
                const std::function<bool(Clock::time_point)>& look_for_loss) {
  Backoff backoff;
  Wait wait;
  for (;;) {
    int done = 0;
    check_mpi(MPI_Test(&request, &done, MPI_STATUS_IGNORE), operation);
    if (done) return Waited::kDone;
    if (backoff.sleeping()) {
      const auto now = Clock::now();
      const bool peer_gone = look_for_loss && look_for_loss(now);
      if (const auto how = wait.over(now, patience, peer_gone, termination_requested())) return *how;
    }
    backoff.pause();
  }
}

void wait_or_throw(MPI_Request& request, std::string_view operation, std::chrono::milliseconds deadline,
                   std::chrono::milliseconds after_stop) {
  const Waited outcome = wait_for(request, operation, {Clock::now() + deadline, {}, after_stop});
  if (outcome == Waited::kDone) return;
  if (outcome == Waited::kDeadline) {
    throw CommError(
        fmt::format("{} did not finish within {:.1f} s: a rank has died, hangs or is still busy. Look for "
                    "the rank whose log ends first, or raise the deadline if the ranks are only slow",
                    operation, static_cast<double>(deadline.count()) / 1000));
  }
  throw CommError(
      fmt::format("{}: told to stop (SIGTERM) while waiting for the other ranks, most likely because one of "
                  "them failed: the first error in their logs is the cause",
                  operation));
}

void MpiComm::give_up(Waited outcome, const std::string& where, double waited_s) {
  RollCall::Findings found;
  std::string missing = "who is missing is not known";
  if (roll_call_) {
    // Rank 0 keeps the roll call, and looks before a launcher that ends the job wakes whoever was stopped.
    if (outcome == Waited::kDeadline || rank_ == 0) missing = roll_call_->describe_missing();
    found = roll_call_->find_out(options_.termination_grace);
  }
  die();
  const auto ended_by = [&](int rank, int code) {
    return fmt::format("{}: {} has ended the job with exit code {} ({}); its own message says why", where,
                       roll_call_->name(rank), code, describe(static_cast<ExitCode>(code)));
  };
  if (found.farewell) {
    Error error(static_cast<ExitCode>(found.farewell_code), ended_by(*found.farewell, found.farewell_code));
    throw error.mark_quiet();
  }
  std::string message;
  if (!found.ended.empty()) {
    message = fmt::format("lost {}: ended without a word, so it was killed or it crashed; noticed in {}. {}",
                          roll_call_->names(found.ended), where, kWhatToDo);
  } else if (outcome == Waited::kDeadline) {
    message = fmt::format(
        "{} did not finish within {:.1f} s; {}. Missing ranks have died, hang, or are still busy with "
        "something else: their logs say which. If they are only slow, raise the deadline "
        "(runtime.deadline_s)",
        where, waited_s, missing);
  } else if (!found.silent.empty()) {
    message = fmt::format("{}: {}; not heard from since: {}. {}", where, why(outcome),
                          roll_call_->names(found.silent), kWhatToDo);
  } else if (rank_ == 0) {
    message = fmt::format("{}: {}; {}. {}", where, why(outcome), missing, kWhatToDo);
  } else if (found.ender) {
    message = ended_by(*found.ender, found.ender_code);
  } else {
    message = fmt::format("{}: {}, and the others, which are there, did not come to it in time", where,
                          why(outcome));
  }
  CommError error(message);
  if (found.lower_rank_speaks) error.mark_quiet();
  throw error;
}

void MpiComm::check_lost(std::string_view doing) {
  if (!died_in_.empty() || !roll_call_) return;  // said already
  roll_call_->serve();
  if (!roll_call_->somebody_is_gone()) return;
  died_in_ = doing;
  give_up(Waited::kPeerGone, fmt::format("{} on rank {} of {} (host {})", doing, rank_, size_, host_), 0);
}

void MpiComm::check_peers(std::string_view doing) {
  if (!died_in_.empty()) return;  // said already
  check_lost(doing);              // first: mpirun's SIGTERM is a consequence of it
  if (roll_call_ && termination_requested()) roll_call_->spread_stop();
  if (roll_call_) roll_call_->show_life();
  if (termination_requested() || (roll_call_ && roll_call_->stop_heard()))
    throw StoppedError(stopped_while(doing));
}

void MpiComm::say_farewell(ExitCode code) noexcept {
  if (roll_call_) roll_call_->say_farewell(static_cast<int>(code));
  for (MpiComm* child : children_) child->say_farewell(code);
}

void MpiComm::abort(ExitCode code) {
  say_farewell(code);
  std::fflush(nullptr);
  MpiSession::abort(code);
}

}  // namespace muffle::comm
