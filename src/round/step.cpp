#include "muffle/round/step.hpp"

#include "muffle/core/error.hpp"
#include "own_traces.hpp"

namespace muffle::round {

Received find(Exchange& exchange, const Wanted& wanted) {
  Received out{wanted.name};
  if (wanted.name.empty()) {
    out.names = exchange.list();
    return out;
  }
  try {
    out.bytes = exchange.get(wanted.name, wanted.most);
  } catch (const ProtocolError& e) {
    out.refused = e;  // whether that matters is the role's to say
  }
  return out;
}

StepReport drive(Role& role, Exchange& exchange) {
  for (std::vector<Wanted> wants = role.wants(); !wants.empty(); wants = role.wants()) {
    for (const Letter& letter : role.receive(find(exchange, wants.front())))
      exchange.put(letter.name, letter.bytes);
  }
  return role.report();
}

StepReport contributor_step(const ProposedRound& round, Exchange& exchange, const ContributorJob& job) {
  return drive(*make_contributor(round, job), exchange);
}

StepReport holder_step(const ProposedRound& round, Exchange& exchange, const HolderJob& job) {
  return drive(*make_holder(round, job), exchange);
}

StepReport coordinator_step(const ProposedRound& round, Exchange& exchange, const CoordinatorJob& job) {
  return drive(*make_coordinator(round, job), exchange);
}

StepReport abandon_round(const ProposedRound& round, Exchange& exchange, const CoordinatorJob& job,
                         release::AbandonCode code) {
  return drive(*make_coordinator(round, job, code), exchange);
}

bool ledger_knows(const ProposedRound& round, Exchange& exchange, const ContributorJob& job) {
  OwnTraces traces(round, job);
  drive(traces, exchange);
  return traces.are_known();
}

}  // namespace muffle::round
