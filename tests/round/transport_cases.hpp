#pragma once

#include <functional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "muffle/round/transport.hpp"

namespace muffle::test {

/// One promise of a transport, or of rounds over it, checked by all sites together.
struct TransportCase {
  const char* name;
  void (*body)(round::Transport&);
};

const std::vector<TransportCase>& transport_cases();
/// Over every transport of the table that serves the job, one after the other.
void expect_kept(const TransportCase& promise, comm::HostComm& job);

inline void PrintTo(const TransportCase& c, std::ostream* out) { *out << c.name; }

/// A transport that hands on what another one carries, but for what a test changes.
class MeddledTransport : public round::Transport {
 public:
  explicit MeddledTransport(round::Transport& inner) : inner_(inner) {}
  /// (which message to all, what arrived) -> what this site believes to have arrived.
  std::function<void(int, std::vector<std::string>&)> on_receive;
  std::vector<std::vector<std::uint64_t>> sent;  ///< every vector given to sum_to_coordinator

  int site() const override { return inner_.site(); }
  int sites() const override { return inner_.sites(); }
  std::string from_coordinator(const std::string& message) override {
    return inner_.from_coordinator(message);
  }
  std::vector<std::string> to_coordinator(const std::string& message) override {
    return inner_.to_coordinator(message);
  }
  std::vector<std::string> to_all(const std::string& message) override {
    std::vector<std::string> all = inner_.to_all(message);
    if (on_receive) on_receive(messages_, all);
    ++messages_;
    return all;
  }
  std::vector<std::uint64_t> sum_to_coordinator(std::vector<std::uint64_t>&& values) override {
    sent.push_back(values);
    return inner_.sum_to_coordinator(std::move(values));
  }
  void check_lost(std::string_view doing) override { inner_.check_lost(doing); }

 private:
  round::Transport& inner_;
  int messages_ = 0;
};

/// Only the hub: what a transport of files or HTTPS would offer, so that all else goes through the
/// coordinator.
class HubTransport final : public MeddledTransport {
 public:
  using MeddledTransport::MeddledTransport;
  std::vector<std::string> to_all(const std::string& message) override { return Transport::to_all(message); }
};

}  // namespace muffle::test
