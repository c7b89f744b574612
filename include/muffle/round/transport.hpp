#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "muffle/comm/host_comm.hpp"

namespace muffle::round {

/// How the messages of one round get from the sites to the coordinator, which is site 0, and back. The sites
/// call the same methods in the same order. Every wait has a deadline; past it, or when a site is lost,
/// CommError is thrown, which names who is missing as far as is known, and nothing can be sent afterwards.
/// Not thread-safe.
class Transport {
 public:
  virtual ~Transport() = default;
  virtual int site() const = 0;
  virtual int sites() const = 0;
  bool coordinates() const { return site() == 0; }

  /// The coordinator's message, at every site; what the others give does not travel.
  virtual std::string from_coordinator(const std::string& message) = 0;
  /// Every site's message, by site, at the coordinator; nothing elsewhere.
  virtual std::vector<std::string> to_coordinator(const std::string& message) = 0;
  /// Every site's message, by site, at every site: through the coordinator, unless there is a shorter way.
  virtual std::vector<std::string> to_all(const std::string& message);
  /// The sum modulo 2^64 of all sites' vectors, of equal lengths, at the coordinator; empty elsewhere. Once a
  /// round. `values` is wiped, also when an exception passes by. Privacy: whoever carries a summand sees it,
  /// unless it is masked.
  virtual std::vector<std::uint64_t> sum_to_coordinator(std::vector<std::uint64_t>&& values) = 0;
  /// For long work between messages, where a request to stop is left for later. Local. @throws CommError  a
  /// site is known to be lost.
  virtual void check_lost(std::string_view doing) { static_cast<void>(doing); }
  /// What it has cost this site so far. Public.
  virtual std::vector<comm::CollectiveUse> use() const { return {}; }

  /// The sites' verdict on a step: comm::agree() by this transport's messages. On which machine a site runs,
  /// the others are not told.
  void agree(const std::string& what, bool share_message, const std::function<void()>& step);
  /// The coordinator's answer, at every site.
  bool coordinator_says(bool yes);
};

/// A heartbeat that says what the site is at: this site's sign of life in long work, inside
/// Transport::agree() (comm::JobLife::check_peers). It is not part of the transport: whoever is not to be
/// stopped is not given one.
/// @throws CommError  a site is lost. @throws StoppedError  some site was told to stop.
using NamedHeartbeat = std::function<void(std::string_view doing)>;

/// One line of the table of transports.
struct TransportKind {
  std::string_view name;
  /// Whether it serves a job whose processes are joined like this.
  bool (*serves)(const comm::HostComm& job);
  /// @param job  outlives what is made.
  std::unique_ptr<Transport> (*make)(comm::HostComm& job);
};

/// All kinds, in the order in which they are asked.
std::span<const TransportKind> transport_kinds();

/// What a round of this job goes through: the first kind that serves it.
std::unique_ptr<Transport> make_transport(comm::HostComm& job);

}  // namespace muffle::round
