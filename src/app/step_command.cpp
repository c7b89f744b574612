// muffle site step and run, muffle coordinator step: what a party does next in its rounds, by itself.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <ostream>
#include <set>
#include <thread>

#include "muffle/app/commands.hpp"
#include "muffle/core/error.hpp"
#include "muffle/http/settings.hpp"
#include "party_steps.hpp"
#include "site_sums.hpp"

namespace muffle::app {
namespace {

using release::ProposedRound;

release::AbandonCode code_of(const PartyCommand& command) {
  const auto codes = release::abandon_codes();
  return static_cast<release::AbandonCode>(std::ranges::find(codes, command.code) - codes.begin());
}

Outcome coordinator_step(const PartyCommand& command) {
  const site::KeyStore store = site::KeyStore::open(command.folder);
  const auto exchange = exchange_of(command, load_party(command.folder, false));
  Outcome out;
  const auto each = [&](const ProposedRound& round) {
    if (round.coordinator != store.key().public_key()) return;
    const round::CoordinatorJob job{
        store.key(), store.folder(), {seconds_now, kLockDeadline, {}}, MUFFLE_VERSION};
    out.attempt(round, "as the coordinator", [&] {
      return command.verb == "coordinator abandon"
                 ? round::abandon_round(round, *exchange, job, code_of(command))
                 : round::coordinator_step(round, *exchange, job);
    });
  };
  if (!command.round.empty() || command.verb == "coordinator abandon") {
    each(round::find_round(*exchange, command.round));
  } else {
    for (const round::Proposals::Entry& entry : round::read_proposals(*exchange).rounds) each(entry.round);
  }
  return out;
}

/// Of a party whose exchange is a server: carries messages there and back. A network that is down for a while
/// ends nothing, nor does a message that one side does not take. @returns what is to be said of it
std::string carry(const PartyCommand& command, comm::HostComm& comm) {
  if (!command.exchange.empty() || !round::is_far(load_party(command.folder, true).exchange())) return {};
  bool network = true;  // or the job itself ends
  try {
    round::Synced synced = carry_messages(command, true, [&] {
      network = false;
      comm.check_peers("carrying messages");
      network = true;
    });
    require_own_words(synced);
    synced.fetched.clear();
    synced.sent.clear();
    return in_words(synced);
  } catch (const CommError& e) {
    if (!network) throw;
    return fmt::format("the exchange was not reached: {}\n", e.what());
  }
}

/// Between two steps. @throws StoppedError  the site was told to stop.
void sleep_for(double seconds, comm::HostComm& comm) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
  while (std::chrono::steady_clock::now() < end) {
    comm.check_peers("waiting for the others of a round");
    const std::chrono::duration<double> left = end - std::chrono::steady_clock::now();
    std::this_thread::sleep_for(
        std::min<std::chrono::duration<double>>(left, std::chrono::milliseconds(200)));
  }
}

/// Says what was done; throws what stopped a round.
void tell(const Outcome& outcome, std::ostream& out) {
  out << (outcome.text.empty() ? "There is no round of this party in the exchange.\n" : outcome.text)
      << std::flush;
  if (outcome.error) throw *outcome.error;
  if (outcome.lost)
    throw CommError(
        "A round makes no release any more, or none with this party: see above. What was charged stays "
        "charged.");
}

/// Until no round is waited for any more: each ends by itself, and by its own deadlines.
void run(const PartyCommand& command, const std::function<Outcome()>& step, comm::HostComm& comm,
         std::ostream& out) {
  std::set<crypto::RoundId> waited;
  std::string said;
  for (;;) {
    std::string carried = carry(command, comm);
    Outcome outcome = step();
    if (const std::string after = carry(command, comm); after != carried) carried += after;
    waited.insert(outcome.waiting.begin(), outcome.waiting.end());
    if (outcome.waiting.empty()) {
      out << carried;
      outcome.lost = outcome.lost || std::ranges::any_of(outcome.gone, [&](const crypto::RoundId& id) {
                       return waited.contains(id);
                     });
      return tell(outcome, out);
    }
    if (carried + outcome.text != said) out << carried << outcome.text << std::flush;
    said = carried + outcome.text;
    const std::uint64_t now = seconds_now();
    const auto left = static_cast<double>(outcome.next_deadline >= now ? outcome.next_deadline - now + 1 : 1);
    sleep_for(std::min(command.every_s, left), comm);
  }
}

}  // namespace

void coordinator_step_command(const PartyCommand& command, std::ostream& out) {
  Outcome outcome = coordinator_step(command);
  if (command.verb == "coordinator abandon") outcome.lost = false;  // it is what was asked for
  tell(outcome, out);
}

void site_step(const PartyCommand& command, const SiteMachine& machine, std::ostream& out) {
  comm::HostComm& comm = machine.comm;
  (void)settings_of_job(comm, command.folder);  // what is wrong with them is said at once
  job::SiteRanks ranks(
      comm, [&](const release::ReleasePlan& plan) { return sum_part(machine, command.folder, plan); });
  ranks.run("muffle " + command.verb, [&] {
    // With the settings of now: who lowers a limit while `run` waits has lowered it.
    const auto step = [&] {
      return PartySteps(command, load_party(command.folder, true), comm, ranks).step(command.round);
    };
    if (command.verb == "site step") return tell(step(), out);
    require(command.verb == "site run", "no such verb of a site: this is a bug in muffle.");
    run(command, step, comm, out);
  });
}

}  // namespace muffle::app
