#pragma once

#include <mpi.h>

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "attendance.hpp"
#include "mpi_roll_call.hpp"
#include "muffle/comm/host_comm.hpp"
#include "muffle/comm/mpi.hpp"
#include "poll.hpp"

namespace muffle::comm {

/// Polls `request` until it completes or the patience is over. `look_for_loss` is called between polls once
/// the short waits are over, and says whether a peer has gone. @throws CommError if MPI reports an error.
Waited wait_for(MPI_Request& request, std::string_view operation, const Patience& patience,
                const std::function<bool(Clock::time_point)>& look_for_loss = {});

/// wait_for() where nothing else is known (start and end of the session). @throws CommError unless done.
void wait_or_throw(MPI_Request& request, std::string_view operation, std::chrono::milliseconds deadline,
                   std::chrono::milliseconds after_stop);

/// HostComm over MPI's non-blocking collectives. Callers' data is copied through two staging buffers of at
/// most one message each: a collective that this rank has given up may still be completed by a late peer,
/// which must then not meet memory that has been freed and filled with something else.
class MpiComm final : public HostComm {
 public:
  /// Collective over the ranks of `ranks`, which is duplicated.
  MpiComm(MPI_Comm ranks, const MpiOptions& options);
  ~MpiComm() override;

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  int local_size() const override { return local_size_; }
  int local_rank() const override { return local_rank_; }
  std::string host() const override { return host_; }

  void barrier() override;
  void roll_call(std::chrono::milliseconds within) override;
  void broadcast(std::span<std::byte> bytes, int root) override;
  void reduce_sum(std::span<const std::uint64_t> in, std::span<std::uint64_t> out, int root) override;
  void all_reduce_sum(std::span<float> values) override;
  void all_reduce_sum(std::span<double> values) override;
  void all_reduce_max(std::span<std::int64_t> values) override;
  std::vector<std::string> all_gather(const std::string& bytes) override;
  std::vector<std::string> gather(const std::string& bytes, int root) override;
  void check_peers(std::string_view doing) override;
  void check_lost(std::string_view doing) override;
  std::unique_ptr<HostComm> split(bool member) override;
  [[noreturn]] void abort(ExitCode code) override;
  double seconds_in_collectives() const override { return seconds_; }
  std::vector<CollectiveUse> collective_use() const override;

 private:
  /// One public collective, from entry to return.
  class Collective;
  struct Staging {
    std::unique_ptr<std::byte[]> bytes;
    std::size_t capacity = 0;
    std::byte* reserve(std::size_t size);
    /// Zeroes the first `size` bytes.
    void wipe(std::size_t size);
  };
  friend struct TestAccess;  // defined in tests only

  void find_neighbours();
  void hide_segments(MPI_Comm local);
  /// Here and below: @param root  who receives; nobody: all do
  template <typename T>
  void reduce(std::span<const T> in, std::span<T> out, MPI_Datatype type, MPI_Op op, std::optional<int> root,
              std::string_view name);
  std::vector<std::string> gather_to(std::optional<int> root, const std::string& bytes,
                                     std::string_view name);
  void die();
  void say_farewell(ExitCode code) noexcept;
  /// Finds out who is missing and throws what this rank has to say about it. The communicator is dead.
  [[noreturn]] void give_up(Waited outcome, const std::string& where, double waited_s);

  MpiOptions options_;
  MPI_Comm comm_ = MPI_COMM_NULL;
  int rank_ = 0;
  int size_ = 1;
  int local_rank_ = 0;
  int local_size_ = 1;
  std::string host_;
  std::unique_ptr<RollCall> roll_call_;
  MpiComm* parent_ = nullptr;       ///< that this one was split from
  std::vector<MpiComm*> children_;  ///< split from this one, and alive
  Staging first_;
  Staging second_;
  std::int64_t collectives_ = 0;
  std::string died_in_;  // empty while alive
  double seconds_ = 0;
  std::map<std::string_view, CollectiveUse> use_;  ///< names are literals
};

}  // namespace muffle::comm
