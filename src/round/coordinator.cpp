#include <fmt/format.h>

#include <numeric>

#include "coordinator_states.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/release/message_names.hpp"
#include "muffle/release/round_release.hpp"

namespace muffle::round {
namespace coordinator {

using release::Message;
using release::MessageKind;

Act::Act(const ProposedRound& proposed, const CoordinatorJob& given,
         const std::optional<release::AbandonCode>& code)
    : round(proposed),
      job(given),
      gives_up(code),
      journal(open_journal(given.folder, given.key, given.clock)),
      seal(proposed, journal, given.key, given.folder, MessageKind::kSeal, release::seal_name(proposed.id),
           0),
      request(proposed, journal, given.key, given.folder, MessageKind::kStandInRequest,
              release::stand_in_request_name(proposed.id), 0),
      statement(
          proposed, journal, given.key, given.folder,
          proposed.last() ? MessageKind::kRelease : MessageKind::kSum,
          proposed.last() ? release::release_statement_name(proposed.id) : release::sum_name(proposed.id),
          proposed.last() ? 0 : proposed.length),
      abandonment(proposed, journal, given.key, given.folder, MessageKind::kAbandonment,
                  release::abandonment_name(proposed.id), 0) {
  if (job.key.public_key() != round.coordinator)
    throw ConfigError(fmt::format("the key of '{}' is not that of the round's coordinator.", job.key.name()));
  ensure_writable_folder(outbox(job.folder));
}

void Act::give_up(release::AbandonCode code, const std::string& why) {
  out.push_back(
      abandonment.bind(release::message_bytes(release::sign(release::abandonment_of(round, code), job.key))));
  report.lost = true;
  report.done.push_back(
      fmt::format("the round is abandoned: {}. What sites were charged stays charged", why));
}

std::vector<std::size_t> Act::awaited() const {
  if (!earlier.empty()) return earlier.front().seal.sites;
  std::vector<std::size_t> all(round.proposal.sites.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  return all;
}

void Act::await(const std::string& what, std::uint64_t until) {
  if (job.clock.now() <= until) {
    report.waits.push_back(fmt::format("{}, until {}", what, time_text(until)));
    return;
  }
  report.lost = true;
  report.done.push_back(
      fmt::format("{} were wanted until {}, and have not come: the round makes no release. Give it up, so "
                  "that all know (`muffle coordinator abandon --code missing`)",
                  what, time_text(until)));
}

Wanted Act::wanted_contribution(std::size_t site) const {
  return wanted(release::contribution_name(round.id, round.proposal.sites[site].key), round.length);
}

std::optional<Message> Act::contribution(std::size_t site, Received&& received) {
  std::optional<Message> out_of_it;
  or_aside(std::string(received.name), [&] {
    std::optional<Message> message = message_of(std::move(received));
    if (!message) return;
    if (release::check_contribution(round, message->header) != site)
      throw ProtocolError("it is another site's contribution.");
    if (!earlier.empty())
      release::require_goes_on(
          earlier.front(), site,
          release::read_contribution(message->header, round.proposal.holders.size(), round.shares_keys()));
    out_of_it = std::move(message);
  });
  return out_of_it;
}

std::vector<std::string> Act::names_of(const std::vector<std::size_t>& holders) const {
  std::vector<std::string> names;
  for (const std::size_t h : holders) names.push_back(round.proposal.holders[h].holder.name);
  return names;
}

Wanted Act::wanted_stand_in(std::size_t holder) const {
  return wanted(release::stand_in_name(round.id, round.proposal.holders[holder].holder.key));
}

std::filesystem::path Act::release_file() const {
  return outbox(job.folder) / release::release_name(round.id);
}

}  // namespace coordinator

std::unique_ptr<Role> make_coordinator(const ProposedRound& round, const CoordinatorJob& job,
                                       const std::optional<release::AbandonCode>& gives_up) {
  return std::make_unique<RoleMachine<coordinator::Act, coordinator::State>>(round, job, gives_up);
}

}  // namespace muffle::round
