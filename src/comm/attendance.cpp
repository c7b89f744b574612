#include "attendance.hpp"

#include <algorithm>

namespace muffle::comm {

Attendance::Attendance(int size, Clock::duration deadline)
    : deadline_(deadline), heard_(static_cast<std::size_t>(size)) {}

void Attendance::note(int rank, std::int64_t number, Clock::time_point now) {
  Heard& heard = heard_.at(static_cast<std::size_t>(rank));
  heard = {std::max(heard.number, number), now};
}

Missing Attendance::missing_from(std::int64_t number, std::int64_t own, bool inside,
                                 Clock::time_point now) const {
  // Where rank 0 itself is held up in an earlier collective, the ranks that hold it up are the ones to name.
  const std::int64_t held_up_in = inside ? std::min(number, own) : number;
  Clock::duration longest{};
  std::vector<int> lost, missing;
  for (std::size_t r = 1; r < heard_.size(); ++r) {
    const Heard& heard = heard_[r];
    if (heard.number > held_up_in) continue;
    // A rank that waits asks, so that one that has come and fallen silent since is noticed too.
    const Clock::duration silence = heard.at ? now - *heard.at : deadline_;
    longest = std::max(longest, std::min(silence, deadline_));
    if (heard.number < held_up_in) missing.push_back(static_cast<int>(r));
    if (silence > deadline_ / 2) lost.push_back(static_cast<int>(r));
  }
  // It has not come either, but it is answering.
  if (own < number && missing.empty()) missing.push_back(0);
  return {lost.empty() ? missing : lost, longest};
}

std::optional<Waited> Wait::over(Clock::time_point now, const Patience& patience, bool peer_gone,
                                 bool told_to_stop) {
  if (now >= patience.until) return Waited::kDeadline;
  if (peer_gone && !lost_at_) lost_at_ = now;
  if (lost_at_ && now - *lost_at_ >= patience.after_loss) return Waited::kPeerGone;
  if (told_to_stop && !told_at_) told_at_ = now;
  if (told_at_ && now - *told_at_ >= patience.after_stop) return Waited::kTermination;
  return std::nullopt;
}

Questions::Questions(Clock::time_point started, Clock::duration deadline, Clock::duration notice_after)
    : deadline_(deadline), next_(started + std::min(notice_after, deadline / 3)) {}

bool Questions::due(Clock::time_point now, Clock::time_point until) {
  if (now < next_) return false;
  const auto last = until - std::min<Clock::duration>(std::chrono::seconds(1), deadline_ / 6);
  next_ = now + sign_interval(deadline_);
  if (last > now) next_ = std::min(next_, last);
  return true;
}

}  // namespace muffle::comm
