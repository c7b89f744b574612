#include "muffle/comm/detachment.hpp"

#include <algorithm>
#include <array>
#include <exception>

#include "muffle/comm/termination.hpp"
#include "poll.hpp"

namespace muffle::comm {

/// What the ranks tell each other when they meet: the maximum over all of each.
struct Detachment::Meeting {
  std::array<std::int64_t, 3> values{};
  std::int64_t& stop() { return values[0]; }   ///< 1: a rank that waits was told to stop
  std::int64_t& done() { return values[1]; }   ///< 1: the work has come to its end, good or bad
  std::int64_t& steps() { return values[2]; }  ///< until the next meeting, as root of those that work says
};

Detachment::Detachment(HostComm& all, const std::vector<bool>& works) : all_(all) {
  require(works.size() == static_cast<std::size_t>(all.size()), "a detachment needs a word for every rank");
  const auto first = std::find(works.begin(), works.end(), true);
  require(first != works.end(), "a detachment without ranks");
  first_ = static_cast<int>(first - works.begin());
  split_ = std::find(works.begin(), works.end(), false) != works.end();
  const bool mine = works[static_cast<std::size_t>(all.rank())];
  if (split_) group_ = all.split(mine);
  if (mine) mine_ = split_ ? group_.get() : &all_;
}

Detachment::~Detachment() = default;

bool Detachment::beat(bool at_once) {
  if (++steps_ < until_next_ && !at_once) return false;
  Meeting m;
  if (mine_->is_root()) {
    // So many steps as would have fitted into the time at the pace since the last meeting; never many more
    // than last time, as steps may become slower.
    constexpr double kHeartbeat_s = 1.0;
    const auto now = std::chrono::steady_clock::now();
    const double pace_s = seconds_between(met_at_, now) / static_cast<double>(steps_);
    const double fit = std::min(kHeartbeat_s / std::max(pace_s, 1e-6), 4.0 * static_cast<double>(steps_));
    m.steps() = std::max<std::int64_t>(1, static_cast<std::int64_t>(fit));
    met_at_ = now;
  }
  all_.all_reduce_max(m.values);
  until_next_ = m.steps();
  steps_ = 0;
  return m.stop() != 0;
}

void Detachment::wait_for_the_others() {
  for (;;) {
    Meeting m;
    m.stop() = termination_requested() ? 1 : 0;
    // The wish to stop is told at the next meeting: it is not to cut short the wait for it, nor for those
    // that write a checkpoint.
    const TerminationHold hold;
    all_.all_reduce_max(m.values);
    if (m.done() != 0) return;
  }
}

void Detachment::run(const std::string& doing, const std::function<void(HostComm&, const Heartbeat&)>& work) {
  if (!split_) {
    work(all_, {});
    return;
  }
  std::exception_ptr outcome;
  if (mine_ == nullptr) {
    wait_for_the_others();
  } else {
    met_at_ = std::chrono::steady_clock::now();
    try {
      work(*mine_, {[this](bool at_once) { return beat(at_once); }});
    } catch (const Error& e) {
      if (!e.agreed()) throw;  // the others that work do not know of it: they must not be waited for
      outcome = std::current_exception();
    }
    Meeting m;
    m.done() = 1;
    all_.all_reduce_max(m.values);
  }
  const TerminationHold hold;  // that one rank was told to stop is known to all
  agree(all_, doing, true, [&] {
    if (outcome) std::rethrow_exception(outcome);
  });
}

}  // namespace muffle::comm
