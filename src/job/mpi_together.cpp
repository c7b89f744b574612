// Ranks of one job, joined by MPI's collectives (in tests by threads): the sum is one reduce.
#include "muffle/core/wipe.hpp"
#include "muffle/job/together.hpp"

namespace muffle::job {
namespace {

class MpiTogether final : public Together {
 public:
  explicit MpiTogether(comm::HostComm& job) : job_(job) {}
  int party() const override { return job_.rank(); }
  int parties() const override { return job_.size(); }
  std::string from_coordinator(const std::string& message) override {
    return comm::broadcast_text(job_, message);
  }
  std::vector<std::string> to_coordinator(const std::string& message) override {
    return job_.gather(message, 0);
  }
  std::vector<std::string> to_all(const std::string& message) override { return job_.all_gather(message); }
  std::vector<std::uint64_t> sum_to_coordinator(std::vector<std::uint64_t>&& values) override {
    std::vector<std::uint64_t> total;
    try {
      total.resize(coordinates() ? values.size() : 0);
      job_.reduce_sum(values, total, 0);
    } catch (...) {
      wipe(values);
      wipe(total);
      throw;
    }
    wipe(values);
    return total;
  }
  void check_lost(std::string_view doing) override { job_.check_lost(doing); }
  std::vector<comm::CollectiveUse> use() const override { return job_.collective_use(); }

 private:
  comm::HostComm& job_;
};

}  // namespace

const TogetherKind& mpi_together_kind() {
  static const TogetherKind kind{
      "mpi", [](const comm::HostComm& job) { return job.size() > 1; },
      [](comm::HostComm& job) -> std::unique_ptr<Together> { return std::make_unique<MpiTogether>(job); }};
  return kind;
}

}  // namespace muffle::job
