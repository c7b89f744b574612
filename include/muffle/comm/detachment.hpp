#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "muffle/comm/host_comm.hpp"

namespace muffle::comm {

/// Some ranks of a job work by themselves for as long as they like, such as those with GPUs that train; the
/// others, such as those that only hold records, wait for them. No wait is without a deadline, and the job
/// ends as one: all ranks meet about once a second (a heartbeat), where those that work say that they go on,
/// and all say whether they were told to stop. Without ranks that wait nothing of this happens, and the work
/// runs on `all` itself.
class Detachment {
 public:
  /// Collective over `all`, which outlives this. @param works  by rank; the same on all ranks, at least one.
  Detachment(HostComm& all, const std::vector<bool>& works);
  ~Detachment();
  Detachment& operator=(Detachment&&) = delete;

  /// On ranks that work, after every step of the work, the same number of times on each; and, where something
  /// long comes before the next one, `at_once`, which meets whatever the pace of the steps was: at least once
  /// a deadline. @returns whether some rank that waits was told to stop; the same on all ranks that work. It
  /// then is for the work to stop in order. Throws as `all`'s collectives do.
  struct Heartbeat {
    std::function<bool(bool)> beat;  ///< empty: nobody waits
    bool operator()(bool at_once = false) const { return beat && beat(at_once); }
  };

  /// Collective over `all`. Ranks that work run `work` on their own communicator; the others wait. An error
  /// that the working ranks agreed on (Error::agreed) is thrown by all ranks, with the same exit code; any
  /// other ends the job: it leaves this function on its rank alone, and the process ends by HostComm::abort.
  /// Once an instance.
  /// @param doing  "training": for messages.
  void run(const std::string& doing, const std::function<void(HostComm&, const Heartbeat&)>& work);

  bool works() const { return mine_ != nullptr; }
  /// Rank in `all` of the first rank that works: root of their communicator.
  int first() const { return first_; }

 private:
  struct Meeting;
  bool beat(bool at_once);
  void wait_for_the_others();

  HostComm& all_;
  HostComm* mine_ = nullptr;         ///< null on ranks that wait
  std::unique_ptr<HostComm> group_;  ///< null without ranks that wait
  int first_ = 0;
  bool split_ = false;
  std::int64_t until_next_ = 1;  ///< steps to the next meeting, the same on all ranks that work
  std::int64_t steps_ = 0;
  std::chrono::steady_clock::time_point met_at_;
};

}  // namespace muffle::comm
