#pragma once

#include <string>
#include <vector>

#include "poll.hpp"

namespace muffle::comm {

/// Sees at once when a rank of this machine ends, through Linux's process descriptors: no message, no
/// deadline. Ranks on other machines or in other containers cannot be watched; nor can any where the kernel
/// refuses.
class PeerWatch {
 public:
  /// What a rank tells the others of itself, for their PeerWatch: the machine's boot, the process namespace
  /// and the process number. Never empty.
  static std::string introduction();

  /// @param introductions  every rank's, by rank; they are all alive now.
  PeerWatch(const std::vector<std::string>& introductions, int my_rank);
  ~PeerWatch();
  PeerWatch& operator=(PeerWatch&&) = delete;

  /// True if this rank's process was seen to have ended. Asks the kernel about all at most every 20 ms.
  bool has_ended(int rank);
  bool any_has_ended();

 private:
  void look();

  struct Peer {
    int rank;
    int descriptor;  ///< -1 once it has ended
  };
  std::vector<Peer> running_;
  std::vector<bool> ended_;
  Clock::time_point next_look_{};
};

}  // namespace muffle::comm
