#include "muffle/comm/host_comm.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>

namespace muffle::comm {
namespace {

class SingleProcess final : public HostComm {
 public:
  SingleProcess() {
    std::array<char, 256> name{};
    if (gethostname(name.data(), name.size() - 1) == 0) host_ = name.data();
    if (host_.empty()) host_ = "localhost";
  }

  int rank() const override { return 0; }
  int size() const override { return 1; }
  int local_size() const override { return 1; }
  int local_rank() const override { return 0; }
  std::string host() const override { return host_; }

  void barrier() override {}
  void broadcast(std::span<std::byte>, int root) override { check_root(root); }
  void reduce_sum(std::span<const std::uint64_t> in, std::span<std::uint64_t> out, int root) override {
    check_root(root);
    require(in.size() == out.size(), "reduce_sum: the root's output must be as long as the input");
    std::copy(in.begin(), in.end(), out.begin());
  }
  void all_reduce_sum(std::span<float>) override {}
  void all_reduce_sum(std::span<double>) override {}
  void all_reduce_max(std::span<std::int64_t>) override {}
  std::vector<std::string> all_gather(const std::string& bytes) override { return {bytes}; }
  std::vector<std::string> gather(const std::string& bytes, int root) override {
    check_root(root);
    return {bytes};
  }

  std::unique_ptr<HostComm> split(bool member) override { return member ? single_process() : nullptr; }

  [[noreturn]] void abort(ExitCode code) override {
    std::fflush(nullptr);
    std::_Exit(static_cast<int>(code));
  }

  double seconds_in_collectives() const override { return 0; }

 private:
  static void check_root(int root) {
    require(root == 0, "a single process has no rank " + std::to_string(root));
  }

  std::string host_;
};

}  // namespace

std::vector<CollectiveUse> use_between(const std::vector<CollectiveUse>& earlier,
                                       const std::vector<CollectiveUse>& later) {
  std::vector<CollectiveUse> all;
  for (CollectiveUse use : later) {
    const auto before =
        std::find_if(earlier.begin(), earlier.end(), [&](const auto& e) { return e.name == use.name; });
    if (before != earlier.end()) {
      use.calls -= before->calls;
      use.seconds -= before->seconds;
      use.bytes -= before->bytes;
    }
    if (use.calls > 0) all.push_back(use);
  }
  return all;
}

std::string describe_use(const std::vector<CollectiveUse>& earlier, const std::vector<CollectiveUse>& later) {
  std::string text;
  for (const CollectiveUse& use : use_between(earlier, later)) {
    text += fmt::format("{}{} {} calls, {}, {:.4g} MB", text.empty() ? "" : "; ", use.name, use.calls,
                        use.timed ? fmt::format("{:.3g} s", use.seconds) : "time not measured",
                        static_cast<double>(use.bytes) / 1e6);
  }
  return text.empty() ? "no collectives" : text;
}

std::unique_ptr<HostComm> single_process() { return std::make_unique<SingleProcess>(); }

}  // namespace muffle::comm
