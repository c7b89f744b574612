// One process: the coordinator is the only party.
#include "muffle/job/together.hpp"

namespace muffle::job {
namespace {

class SingleTogether final : public Together {
 public:
  int party() const override { return 0; }
  int parties() const override { return 1; }
  std::string from_coordinator(const std::string& message) override { return message; }
  std::vector<std::string> to_coordinator(const std::string& message) override { return {message}; }
  std::vector<std::uint64_t> sum_to_coordinator(std::vector<std::uint64_t>&& values) override {
    return std::move(values);
  }
};

}  // namespace

const TogetherKind& single_together_kind() {
  static const TogetherKind kind{
      "single", [](const comm::HostComm& job) { return job.size() == 1; },
      [](comm::HostComm&) -> std::unique_ptr<Together> { return std::make_unique<SingleTogether>(); }};
  return kind;
}

}  // namespace muffle::job
