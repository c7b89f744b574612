#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "poll.hpp"

// What waits decide, as functions of the time that they are given: nothing here looks at a clock.
namespace muffle::comm {

/// Who is missing from a collective, as rank 0 sees it.
struct Missing {
  std::vector<int> ranks;     ///< those that may be lost, or all if none is
  Clock::duration silence{};  ///< the longest among those that were not heard of since; at most the deadline
};

/// Rank 0's record of where and when each rank was last heard of.
class Attendance {
 public:
  Attendance(int size, Clock::duration deadline);

  /// `rank` said at `now` that it is in, or past, collective `number`.
  void note(int rank, std::int64_t number, Clock::time_point now);
  /// @param own  the collective that rank 0 has come to last  @param inside  rank 0 is still in it
  Missing missing_from(std::int64_t number, std::int64_t own, bool inside, Clock::time_point now) const;

 private:
  struct Heard {
    std::int64_t number = 0;
    std::optional<Clock::time_point> at;
  };
  Clock::duration deadline_;
  std::vector<Heard> heard_;
};

/// How a wait ended.
enum class Waited { kDone, kDeadline, kTermination, kPeerGone };

/// How long a wait may last.
struct Patience {
  Clock::time_point until;
  Clock::duration after_loss{};  ///< once a peer has gone: what is nearly done may still finish
  Clock::duration after_stop{};  ///< once this rank was told to stop: the others come soon
};

/// One wait. Asked now and then whether it is over.
class Wait {
 public:
  /// @returns  how it ended; nothing while it goes on.
  std::optional<Waited> over(Clock::time_point now, const Patience& patience, bool peer_gone,
                             bool told_to_stop);

 private:
  std::optional<Clock::time_point> lost_at_, told_at_;
};

/// When a rank that waits asks who is missing.
class Questions {
 public:
  /// @param started, deadline  of the wait  @param notice_after  the first question, at most a third of the
  /// deadline
  Questions(Clock::time_point started, Clock::duration deadline, Clock::duration notice_after);
  /// Whether one is due. @param until  when the wait gives up: the last question comes shortly before, so
  /// that what the error says is fresh.
  bool due(Clock::time_point now, Clock::time_point until);

 private:
  Clock::duration deadline_;
  Clock::time_point next_;
};

/// How often a rank asks, or shows life.
constexpr Clock::duration sign_interval(Clock::duration deadline) { return deadline / 6; }

}  // namespace muffle::comm
