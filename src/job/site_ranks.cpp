#include "muffle/job/site_ranks.hpp"

#include <fmt/format.h>

#include <exception>
#include <string>
#include <utility>

#include "muffle/release/plan_json.hpp"

namespace muffle::job {
namespace {

/// Root's word that its step has ended; else it sends the number of a round, a blank, and a plan.
constexpr const char* kDone = "done";

}  // namespace

SiteRanks::SiteRanks(comm::HostComm& comm, SumPart part) : comm_(comm), part_(std::move(part)) {}

void SiteRanks::run(const std::string& what, const std::function<void()>& step) {
  comm::agree(comm_, what, true, [&] {
    if (!comm_.is_root()) return serve();
    std::exception_ptr failed;
    try {
      step();
    } catch (...) {
      failed = std::current_exception();
    }
    try {
      (void)comm::broadcast_text(comm_, kDone);
    } catch (const CommError&) {
      if (!failed) throw;  // else the first error says more
    }
    if (failed) std::rethrow_exception(failed);
  });
}

void SiteRanks::serve() {
  for (;;) {
    const std::string text = comm::broadcast_text(comm_, "");
    if (text == kDone) return;
    try {
      const std::size_t blank = text.find(' ');
      const auto number = static_cast<std::size_t>(std::stoul(text.substr(0, blank)));
      (void)sum_together(release::parse_plan(text.substr(blank + 1), "root's message"), number);
    } catch (const Error& e) {
      // Root has it, too, and may have further rounds. An error that not all know of ends the job.
      if (!e.agreed()) throw;
    }
  }
}

round::OwnSums SiteRanks::sum(const release::ReleasePlan& plan, std::size_t number) {
  if (comm_.size() > 1)
    (void)comm::broadcast_text(comm_, fmt::format("{} {}", number, release::plan_text(plan)));
  return sum_together(plan, number);
}

round::OwnSums SiteRanks::sum_together(const release::ReleasePlan& plan, std::size_t number) {
  round::OwnSums mine = part_(plan.rounds() > 1 ? plan.of_round(number) : plan);
  if (comm_.size() == 1) return mine;
  Wiped<std::uint64_t> part(std::move(mine.sums).take({}));
  Wiped<std::uint64_t> total(std::vector<std::uint64_t>(comm_.is_root() ? part.values.size() : 0));
  comm_.reduce_sum(part.values, total.values, 0);
  std::uint64_t records = 0;
  comm_.reduce_sum(std::span(&mine.records, 1), std::span(&records, comm_.is_root() ? 1 : 0), 0);
  return {embed::PartialSum(std::move(total.values), {}), records};
}

}  // namespace muffle::job
