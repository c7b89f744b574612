#pragma once

#include <mpi.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "attendance.hpp"
#include "muffle/core/error.hpp"
#include "peer_watch.hpp"
#include "poll.hpp"

namespace muffle::comm {

/// Every MPI return code goes through here. @throws CommError with MPI's own text.
inline void check_mpi(int code, std::string_view operation) {
  if (code == MPI_SUCCESS) return;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  std::string reason = "unknown error";
  if (MPI_Error_string(code, text.data(), &length) == MPI_SUCCESS) {
    reason.assign(text.data(), static_cast<std::size_t>(length));
  }
  throw CommError(
      "MPI reports that " + std::string(operation) + " failed: " + reason +
      ". A peer or the network between the ranks is lost, or the ranks called it with different lengths; "
      "the other ranks' logs say which");
}

/// Finds out who has not come to a collective, and whether they are at work, by small point-to-point messages
/// on a communicator of its own:
///   question  rank -> 0   "I have been waiting in collective n for a while: who is missing, and how silent?"
///   answer    0 -> rank   the ranks that rank 0 has not heard from there; it is rank 0's own sign of life
///   at work   rank -> 0   "I am between collectives, and get on"
/// and, when the job is about to end, who has failed and who is lost:
///   failing   rank -> all "I give up in collective n, because others do not come"
///   stop      rank -> 0, 0 -> all   "I was told to stop"
///   farewell  rank -> all "I end the job with this exit code; the reason is mine, and I have told it"
/// Nothing is sent while collectives are quick, and nothing blocks but find_out(), for its grace.
class RollCall {
 public:
  /// @param peers  used for nothing else; kept until MPI_Finalize. @param rank  this one's there.
  /// @param introductions  PeerWatch::introduction() of every rank.
  /// @param deadline  how long a rank may be silent.
  RollCall(MPI_Comm peers, int rank, std::vector<std::string> hosts,
           const std::vector<std::string>& introductions, std::chrono::milliseconds deadline);
  ~RollCall();
  RollCall& operator=(RollCall&&) = delete;

  /// This rank enters collective `number`; rank 0 reads what has come in meanwhile.
  void enter(std::int64_t number);
  /// It has left the collective, and works.
  void leave();
  /// To be called now and then while waiting: rank 0 listens and answers.
  void serve();
  /// To be called by the thread that works, as it gets on: the others may go on waiting for this rank.
  void show_life();
  /// Asks rank 0 who is missing from the current collective. One question is under way at a time.
  void ask();
  /// Until when the missing ranks may be waited for, if no more is heard: a deadline after the last sign of
  /// life of the one that has been silent for longest. Nothing if no answer says that a rank is missing.
  std::optional<Clock::time_point> patience() const { return patience_; }
  /// What is known by now about the missing ranks of the current collective, for an error message.
  std::string describe_missing();

  /// This rank was told to stop: lets all ranks know through rank 0, once: then it returns true.
  bool spread_stop();
  /// Another rank has let this one know.
  bool stop_heard() const { return stop_heard_; }

  /// A rank has ended, or has said farewell: what this rank waits for may never come.
  bool somebody_is_gone();
  /// What a failing rank finds out about the others.
  struct Findings {
    std::vector<std::int64_t> ended;   ///< seen dead by PeerWatch, without a farewell
    std::vector<std::int64_t> silent;  ///< not heard from within the grace; they may be alive and busy
    std::optional<int> farewell;       ///< the rank that ends the job for a reason of its own
    int farewell_code = 0;
    std::optional<int> ender;  ///< a rank that fails as this one does, and ends the job for it
    int ender_code = 0;
    /// A rank before this one is failing too: it tells the user, so that one does.
    bool lower_rank_speaks = false;
  };
  /// Tells all ranks that this one fails, and listens until all is known or the grace is over. No error of
  /// MPI's ends it: the peers may be gone.
  Findings find_out(std::chrono::milliseconds grace) noexcept;
  /// Sends the farewell. Never throws and never waits.
  void say_farewell(int exit_code) noexcept;
  /// "rank 1 (host a), rank 2 (host b)".
  std::string names(const std::vector<std::int64_t>& ranks) const { return names(ranks, ranks.size()); }
  std::string name(std::int64_t rank) const;

 private:
  enum Tag : int { kAtWork = 1, kQuestion = 2, kAnswer = 3, kFailing = 4, kFarewell = 5, kStop = 6 };
  static constexpr std::size_t kNamesAtMost = 16;
  static constexpr std::size_t kFirstName = 3;
  /// A question or a sign of life is {number}; an answer is {number, how many are missing, the longest
  /// silence among them in ms, the first of them}: those that may be lost, or all if none is.
  using Message = std::array<std::int64_t, kFirstName + kNamesAtMost>;
  struct Outgoing {
    Message message{};
    MPI_Request request = MPI_REQUEST_NULL;
  };

  /// @param count  how many there are; `ranks` has kNamesAtMost of them at least, or all
  std::string names(std::span<const std::int64_t> ranks, std::size_t count) const;
  void send(int to, Tag tag, const Message& message);
  void drop_delivered();
  void send_to_all(Tag tag, const Message& message) noexcept;
  /// On rank 0: who is missing from collective `number`.
  Message missing_from(std::int64_t number) const;
  void take(const Message& answer);

  MPI_Comm peers_;
  std::vector<std::string> hosts_;
  int rank_ = 0;
  int size_ = 1;
  Clock::duration deadline_;
  std::int64_t current_ = 0;
  bool inside_ = false;
  Attendance attendance_;  // on rank 0
  std::optional<Message> answer_;
  std::optional<Clock::time_point> asked_at_;  // while no answer has come
  std::optional<Clock::time_point> patience_;
  Clock::time_point shown_at_{};
  PeerWatch watch_;
  bool stop_heard_ = false;
  bool stop_spread_ = false;
  std::vector<bool> failing_;                 // who said so
  std::vector<std::optional<int>> farewell_;  // each rank's exit code, if it said farewell
  std::list<Outgoing> outgoing_;              // a list: MPI holds pointers into it
};

}  // namespace muffle::comm
