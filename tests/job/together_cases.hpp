#pragma once

#include <functional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "muffle/job/together.hpp"

namespace muffle::test {

/// One promise of Together, or of rounds over it, checked by all parties.
struct TogetherCase {
  const char* name;
  void (*body)(job::Together&);
};

const std::vector<TogetherCase>& together_cases();
/// Over every kind of the table that serves the job, one after the other.
void expect_kept(const TogetherCase& promise, comm::HostComm& job);

inline void PrintTo(const TogetherCase& c, std::ostream* out) { *out << c.name; }

/// Hands on what another one carries, but for what a test changes.
class MeddledTogether : public job::Together {
 public:
  explicit MeddledTogether(job::Together& inner) : inner_(inner) {}
  /// (which message to all, what arrived) -> what this site believes to have arrived.
  std::function<void(int, std::vector<std::string>&)> on_receive;
  std::vector<std::vector<std::uint64_t>> sent;  ///< every vector given to sum_to_coordinator

  int party() const override { return inner_.party(); }
  int parties() const override { return inner_.parties(); }
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
  job::Together& inner_;
  int messages_ = 0;
};

/// Only the hub: what every kind has to offer, so that all else goes through the
/// coordinator.
class HubTogether final : public MeddledTogether {
 public:
  using MeddledTogether::MeddledTogether;
  std::vector<std::string> to_all(const std::string& message) override { return Together::to_all(message); }
};

}  // namespace muffle::test
