#pragma once

#include <mpi.h>

#include <array>
#include <cstdint>
#include <list>
#include <optional>
#include <string>
#include <vector>

#include "mpi_check.hpp"

namespace muffle::comm {

/// Finds out who has not come to a collective, by small point-to-point messages on a communicator of its own:
///   notice    rank -> 0   "I have been waiting in collective n for a while"
///   question  rank -> 0   "my deadline is near: who is missing from collective n?"
///   answer    0 -> rank   the ranks that rank 0 has not heard from
/// Nothing here blocks, and nothing is sent while collectives are quick.
class RollCall {
 public:
  /// @param peers  a communicator used for nothing else; kept until MPI_Finalize.
  RollCall(MPI_Comm peers, std::vector<std::string> hosts);
  ~RollCall();
  RollCall(const RollCall&) = delete;
  RollCall& operator=(const RollCall&) = delete;

  /// This rank enters collective `number`; rank 0 reads what has come in meanwhile.
  void enter(std::int64_t number);
  /// To be called now and then while waiting: rank 0 listens and answers.
  void serve();
  /// Tells rank 0 that this rank waits in the current collective.
  void send_notice();
  /// Asks rank 0 who is missing.
  void send_question();
  /// What is known by now about the missing ranks of the current collective, for an error message.
  std::string describe_missing();

 private:
  enum Tag : int { kNotice = 1, kQuestion = 2, kAnswer = 3 };
  static constexpr int kNamesAtMost = 16;
  /// A notice or a question is {number}; an answer is {number, how many, the first of them}.
  using Message = std::array<std::int64_t, 2 + kNamesAtMost>;
  struct Outgoing {
    Message message{};
    MPI_Request request = MPI_REQUEST_NULL;
  };

  void send(int to, Tag tag, const Message& message);
  void drop_delivered();
  /// On rank 0, which has itself reached collective `number`.
  Message missing_from(std::int64_t number) const;
  std::string name(std::int64_t rank) const;

  MPI_Comm peers_;
  std::vector<std::string> hosts_;
  int rank_ = 0;
  int size_ = 1;
  std::int64_t current_ = 0;
  std::vector<std::int64_t> heard_;  // on rank 0: the latest collective each rank was heard from in
  std::optional<Message> answer_;
  std::list<Outgoing> outgoing_;  // a list: MPI holds pointers into it
};

}  // namespace muffle::comm
