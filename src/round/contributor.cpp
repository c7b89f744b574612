#include <fmt/format.h>

#include "contributor_states.hpp"
#include "muffle/core/files.hpp"
#include "muffle/release/message_names.hpp"

namespace muffle::round {
namespace contributor {

Act::Act(const ProposedRound& proposed, const ContributorJob& own)
    : round(proposed),
      job(own),
      maker(proposed, own.key),
      name(release::contribution_name(proposed.id, own.key.public_key())) {
  ensure_writable_folder(outbox(job.folder));
  ensure_drafts(job.folder);
}

std::unique_ptr<ContributionBook> Act::book() const {
  return std::make_unique<ContributionBook>(round, job.key.public_key(), job.book, outbox(job.folder) / name,
                                            drafts(job.folder) / name, job.clock.heartbeat);
}

bool Act::is_abandoned(const Received& abandonment) {
  const auto code = abandoned(round, abandonment);
  if (!code) return false;
  report.lost = true;
  report.done.push_back(
      fmt::format("the coordinator has abandoned the round ({}); what was charged stays "
                  "charged",
                  name_of(*code)));
  return true;
}

void Act::wait_for(const char* what) {
  const std::string until = time_text(round.proposal.last_day());
  if (job.clock.now() <= round.proposal.last_day()) {
    report.waits.push_back(fmt::format("{}; the round ends {}", what, until));
    return;
  }
  report.lost = true;
  report.done.push_back(
      fmt::format("the round ended {}, and {} did not come; the charge stays spent", until, what));
}

}  // namespace contributor

std::unique_ptr<Role> make_contributor(const ProposedRound& round, const ContributorJob& job) {
  return std::make_unique<RoleMachine<contributor::Act, contributor::State>>(round, job);
}

}  // namespace muffle::round
