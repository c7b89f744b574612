#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "muffle/comm/host_comm.hpp"

namespace muffle::job {

/// The parties of one round who are all there at once, such as the ranks of a job, and what they do together:
/// the coordinator is party 0. All of them call the same methods in the same order. Every wait has a
/// deadline; past it, or when a party is lost, CommError is thrown, which names who is missing as far as is
/// known, and nothing can be sent afterwards. Parties that are never there at once have an Exchange. Not
/// thread-safe.
class Together {
 public:
  virtual ~Together() = default;
  virtual int party() const = 0;
  virtual int parties() const = 0;
  bool coordinates() const { return party() == 0; }

  /// The coordinator's message, at every party; what the others give does not travel.
  virtual std::string from_coordinator(const std::string& message) = 0;
  /// Every party's message, by party, at the coordinator; nothing elsewhere.
  virtual std::vector<std::string> to_coordinator(const std::string& message) = 0;
  /// Every party's message, by party, at every party: through the coordinator, unless there is a shorter way.
  virtual std::vector<std::string> to_all(const std::string& message);
  /// The sum modulo 2^64 of all parties' vectors, of equal lengths, at the coordinator; empty elsewhere. Once
  /// a round. `values` is wiped, also when an exception passes by. Privacy: whoever carries a summand sees
  /// it, unless it is masked.
  virtual std::vector<std::uint64_t> sum_to_coordinator(std::vector<std::uint64_t>&& values) = 0;
  /// For long work between messages, where a request to stop is left for later. Local. @throws CommError  a
  /// party is known to be lost.
  virtual void check_lost(std::string_view doing) { static_cast<void>(doing); }
  /// What it has cost this party so far. Public.
  virtual std::vector<comm::CollectiveUse> use() const { return {}; }

  /// The parties' verdict on a step: comm::agree() by these messages. On which machine a party runs, the
  /// others are not told.
  void agree(const std::string& what, bool share_message, const std::function<void()>& step);
  /// The coordinator's answer, at every party.
  bool coordinator_says(bool yes);
};

/// A heartbeat that says what the party is at: its sign of life in long work, inside Together::agree()
/// (comm::JobLife::check_peers). It is not part of Together: whoever is not to be stopped is not given one.
/// @throws CommError  a party is lost. @throws StoppedError  some party was told to stop.
using NamedHeartbeat = std::function<void(std::string_view doing)>;

/// One line of the table.
struct TogetherKind {
  std::string_view name;
  /// Whether it serves a job whose processes are joined like this.
  bool (*serves)(const comm::HostComm& job);
  /// @param job  outlives what is made.
  std::unique_ptr<Together> (*make)(comm::HostComm& job);
};

/// All kinds, in the order in which they are asked.
std::span<const TogetherKind> together_kinds();

/// What the rounds of this job go through: the first kind that serves it.
std::unique_ptr<Together> make_together(comm::HostComm& job);

}  // namespace muffle::job
