#include <fmt/format.h>

#include <stdexcept>
#include <unordered_map>

#include "ledger_entry.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/core/round_up.hpp"

namespace muffle::privacy {
namespace {

struct Apply {
  LedgerState& state;
  std::unordered_map<std::string, std::size_t>& places;  // of the charges in state
  const ledger::Entry& entry;

  void operator()(const ledger::BudgetLine& line) const { state.budget = line.budget; }
  void operator()(const ledger::IntentLine& line) const {
    demand(places.emplace(line.charge, state.charges.size()).second, "a second INTENT of the same charge");
    state.charges.push_back({line.charge, line.terms, entry.time, entry.host, std::nullopt, std::nullopt});
    spend(line.terms.mu, line.terms.unit);
    if (!line.terms.secure_noise) ++state.insecure;
  }
  void operator()(const ledger::ArtifactLine& line) const {
    const auto place = places.find(line.charge);
    demand(place != places.end(), "a PENDING or COMMIT without an INTENT before it");
    ChargeRecord& charge = state.charges[place->second];
    if (!line.committed) {
      demand(!charge.pending, "a second PENDING of the same charge");
      charge.pending = line.artifact;
      return;
    }
    demand(!charge.artifact, "a second COMMIT of the same charge");
    demand(charge.pending == line.artifact, "a COMMIT of another artifact than the charge's PENDING names");
    charge.artifact = line.artifact;
  }
  void operator()(const ledger::RoundLine& line) const {
    const auto place = places.find(line.charge);
    demand(place != places.end(), "a ROUND without an INTENT before it");
    ChargeRecord& charge = state.charges[place->second];
    demand(!charge.pending, "a ROUND after the PENDING of its charge");
    charge.summed.push_back(line.summed);
    if (!line.kept) {
      demand(line.round == charge.rounds_drawn + 1 && charge.rounds_kept == charge.rounds_drawn,
             "a ROUND whose noise is drawn out of turn");
      charge.rounds_drawn = line.round;
      return;
    }
    demand(line.round == charge.rounds_drawn && charge.rounds_kept + 1 == line.round,
           "a ROUND that is kept out of turn");
    charge.rounds_kept = line.round;
    charge.kept.push_back(*line.kept);
  }
  void operator()(const ledger::ReleasedLine& line) const {
    const auto place = places.find(line.charge);
    demand(place != places.end(), "a RELEASED without an INTENT before it");
    ChargeRecord& charge = state.charges[place->second];
    demand(charge.artifact && !charge.released,
           "a RELEASED before the COMMIT of its charge, or a second one");
    charge.released = line.release;
  }
  void operator()(const ledger::RepairLine& line) const {
    ++state.repairs;
    if (line.unit) spend(line.mu, *line.unit);
  }
  void spend(double mu, const PrivacyUnit& unit) const {
    demand(!state.unit || *state.unit == unit, "a charge in another unit of privacy than those before it");
    state.unit = unit;
    state.spent_squares = add_up(state.spent_squares, multiply_up(mu, mu));
  }
};

}  // namespace

double LedgerState::spent_mu() const { return sqrt_up(spent_squares); }

const ChargeRecord* LedgerState::find_charge(std::string_view id) const {
  for (const ChargeRecord& charge : charges) {
    if (charge.id == id) return &charge;
  }
  return nullptr;
}

std::vector<const ChargeRecord*> LedgerState::charges_for(std::string_view run) const {
  std::vector<const ChargeRecord*> out;
  for (const ChargeRecord& charge : charges) {
    if (charge.terms.run == run) out.push_back(&charge);
  }
  return out;
}

LedgerState parse_ledger(std::string_view bytes, const std::string& name) {
  if (bytes.starts_with(R"({"format":"muffle-ledger","version":1,)")) {
    throw ProtocolError(fmt::format(
        "The ledger '{}' is of version 1, which does not say whom its charges protect (adjacency, records "
        "per person), so nothing can be added to them. Keep the file; begin a new ledger under another name, "
        "with `muffle ledger budget`, and leave out of its budget what the old one spent: mu_new^2 = mu^2 - "
        "mu_spent^2. Nothing was charged or drawn.",
        name));
  }
  LedgerState state;
  std::unordered_map<std::string, std::size_t> places;
  try {
    read_chain(bytes, state, [&](std::string_view line) {
      const ledger::Entry entry = ledger::parse(line);
      require_continues(state, entry.sequence, entry.previous);
      if (state.lines == 0) {
        demand(std::holds_alternative<ledger::BudgetLine>(entry.content), "a first line that is no BUDGET");
        demand(is_data_id(entry.data_id), "a data-set id that is not one");
        state.data_id = entry.data_id;
      }
      demand(entry.data_id == state.data_id, "a line of another data set");
      std::visit(Apply{state, places, entry}, entry.content);
    });
  } catch (const std::invalid_argument& problem) {
    throw ProtocolError(fmt::format(
        "The ledger '{}' is damaged: line {} is {}. What was spent cannot be told any more, so nothing is "
        "released on it. Restore the file from a backup that ends with the newest line known (its SHA-256 is "
        "the head that `muffle ledger show` prints), and find out who changed it.",
        name, state.lines + 1, problem.what()));
  }
  return state;
}

LedgerState read_ledger(const std::filesystem::path& path) {
  return parse_ledger(read_file(path, kMaxBook), path.string());
}

bool is_data_id(std::string_view text) {
  constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
  return !text.empty() && text.size() <= 128 && text[0] != '.' && text[0] != '-' &&
         text.find_first_not_of(kLetters) == std::string_view::npos;
}

}  // namespace muffle::privacy
