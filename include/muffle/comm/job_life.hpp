#pragma once

#include <string_view>

#include "muffle/core/error.hpp"

namespace muffle::comm {

/// How a job goes on, and how it ends. Local.
class JobLife {
 public:
  virtual ~JobLife() = default;
  /// For long work between collectives, once a batch, inside agree(). Local and cheap; never waits while all
  /// is well. It is this rank's sign of life, for which the others' deadlines wait: whoever does the work
  /// calls it as the work gets on, one thread at a time, and never a thread that only keeps time.
  /// @param doing  what this rank is at, for the message: "embedding the records".
  /// @throws CommError     a peer is known to be lost, so that the rank can say so before it is killed too.
  /// @throws StoppedError  this rank, or one that could tell it, was told to stop (comm/termination.hpp). The
  /// communicator lives on, and the other ranks will hear of it too: agree() ends all of them with exit
  /// code 75.
  virtual void check_peers(std::string_view doing);
  /// The same for lost peers alone: a request to stop is left for later. @throws CommError.
  virtual void check_lost(std::string_view) {}
  /// Ends every rank of the job with this exit code; does not return. Called by main alone.
  [[noreturn]] virtual void abort(ExitCode code) = 0;
};

}  // namespace muffle::comm
