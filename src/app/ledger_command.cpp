#include <fmt/format.h>

#include <iostream>

#include "muffle/app/commands.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/text.hpp"
#include "muffle/privacy/ledger.hpp"

namespace muffle::app {
namespace {

std::string set_budget(const LedgerCommand& command) {
  if (command.budget_epsilon.has_value() == command.no_budget)
    throw UsageError("`muffle ledger budget` needs either --epsilon, with --delta, or --none.");
  std::optional<privacy::Budget> budget;
  if (!command.no_budget)
    budget = privacy::Budget::from_epsilon(*command.budget_epsilon, command.budget_delta);
  privacy::Ledger opened =
      privacy::Ledger::open(command.file, command.data_id, std::nullopt, std::chrono::seconds(10));
  if (opened.state().budget != budget) opened.set_budget(budget);
  if (opened.created())
    std::cerr << fmt::format(
        "new ledger created at {}, nothing spent yet: if data set '{}' has a ledger already, delete this "
        "one, and name that\n",
        printable(command.file), command.data_id);
  return privacy::ledger_text(opened.state());
}

}  // namespace

std::string ledger(const LedgerCommand& command) {
  if (command.verb == "budget") return set_budget(command);
  const privacy::LedgerState state = privacy::read_ledger(command.file);
  if (!command.data_id.empty() && state.data_id != command.data_id)
    throw ProtocolError(
        fmt::format("The ledger '{}' belongs to data set '{}', not '{}': name the right file or data set.",
                    command.file, state.data_id, command.data_id));
  if (command.verb == "verify") {
    privacy::require_whole(state, command.file, command.head);
    return fmt::format("{}: {} lines, every one of them in the chain; head {}\n", command.file, state.lines,
                       state.head);
  }
  return command.format == "json" ? privacy::ledger_json(state, command.file) : privacy::ledger_text(state);
}

}  // namespace muffle::app
