#pragma once

#include <chrono>
#include <string>
#include <vector>

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
  PeerWatch(const PeerWatch&) = delete;
  PeerWatch& operator=(const PeerWatch&) = delete;

  /// True if this rank's process was seen to have ended. Asks the kernel about all at most every 20 ms.
  bool has_ended(int rank);
  bool any_has_ended();

  /// Is this the machine's highest rank, and is there another? Then it is for this one to outlive the others.
  bool is_last() const { return is_last_; }
  /// Waits until all of them have ended, at most this long. @returns the ranks that have not.
  std::vector<int> wait_for_all(std::chrono::milliseconds most);
  /// SIGKILL to those that still run.
  void end_all() noexcept;

 private:
  void look();

  struct Peer {
    int rank;
    int descriptor;  ///< -1 once it has ended
  };
  std::vector<Peer> running_;
  std::vector<bool> ended_;
  long long next_look_ms_ = 0;
  bool is_last_ = false;
};

}  // namespace muffle::comm
