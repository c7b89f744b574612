#pragma once

#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "muffle/comm/host_comm.hpp"

namespace muffle::test {

/// A communicator under observation, which lets a test meddle with gathered messages and signs of loss.
class SpyComm final : public comm::HostComm {
 public:
  explicit SpyComm(comm::HostComm& inner) : inner_(inner) {}

  /// (which gather, what this rank sends) -> what is sent instead.
  std::function<std::string(int, std::string)> on_send;
  std::function<void()> on_check_lost;

  int rank() const override { return inner_.rank(); }
  int size() const override { return inner_.size(); }
  int local_size() const override { return inner_.local_size(); }
  int local_rank() const override { return inner_.local_rank(); }
  std::string host() const override { return inner_.host(); }
  void barrier() override { inner_.barrier(); }
  void roll_call(std::chrono::milliseconds within) override { inner_.roll_call(within); }
  void check_lost(std::string_view doing) override {
    if (on_check_lost) on_check_lost();
    inner_.check_lost(doing);
  }
  void broadcast(std::span<std::byte> bytes, int root) override { inner_.broadcast(bytes, root); }
  void reduce_sum(std::span<const std::uint64_t> in, std::span<std::uint64_t> out, int root) override {
    inner_.reduce_sum(in, out, root);
  }
  void all_reduce_sum(std::span<float> values) override { inner_.all_reduce_sum(values); }
  void all_reduce_sum(std::span<double> values) override { inner_.all_reduce_sum(values); }
  void all_reduce_max(std::span<std::int64_t> values) override { inner_.all_reduce_max(values); }
  std::vector<std::string> all_gather(const std::string& bytes) override {
    const int which = gathers_++;
    return inner_.all_gather(on_send ? on_send(which, bytes) : bytes);
  }
  std::vector<std::string> gather(const std::string& bytes, int root) override {
    return inner_.gather(bytes, root);
  }
  std::unique_ptr<comm::HostComm> split(bool member) override { return inner_.split(member); }
  [[noreturn]] void abort(ExitCode code) override {
    inner_.abort(code);
    std::abort();  // GCC 12 does not see that the line above never returns
  }
  double seconds_in_collectives() const override { return inner_.seconds_in_collectives(); }

 private:
  comm::HostComm& inner_;
  int gathers_ = 0;
};

}  // namespace muffle::test
