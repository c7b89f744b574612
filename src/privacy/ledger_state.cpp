#include <fmt/format.h>

#include <stdexcept>
#include <unordered_map>

#include "ledger_entry.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/core/hash.hpp"
#include "muffle/core/round_up.hpp"

namespace muffle::privacy {
namespace {

using ledger::demand;

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
    charge.kept = *line.kept;
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

/// Where the verified lines must end: behind the last newline, or before a last line with a hole in it. A
/// crash can leave the file's new length without all of its new bytes; those read as NUL, which no line has.
std::size_t end_of_whole_lines(std::string_view bytes) {
  const auto last = bytes.rfind('\n');
  if (last == std::string_view::npos) return 0;
  if (last + 1 != bytes.size()) return last + 1;
  const std::size_t begin = bytes.substr(0, last).rfind('\n') + 1;  // npos + 1 = 0
  return bytes.find('\0', begin) == std::string_view::npos ? bytes.size() : begin;
}

}  // namespace

double LedgerState::spent_mu() const { return sqrt_up(spent_squares); }

const ChargeRecord* LedgerState::find_charge(std::string_view id) const {
  for (const ChargeRecord& charge : charges) {
    if (charge.id == id) return &charge;
  }
  return nullptr;
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
  const std::size_t end = end_of_whole_lines(bytes);
  std::size_t at = 0;
  try {
    while (at < end) {
      const std::size_t newline = bytes.find('\n', at);
      const std::string_view line = bytes.substr(at, newline - at);
      const ledger::Entry entry = ledger::parse(line);
      demand(entry.previous == state.head,
             "a line that does not continue the one before it: the chain is broken");
      demand(entry.sequence == state.lines, "a line that is out of sequence");
      if (state.lines == 0) {
        demand(std::holds_alternative<ledger::BudgetLine>(entry.content), "a first line that is no BUDGET");
        demand(is_data_id(entry.data_id), "a data-set id that is not one");
        state.data_id = entry.data_id;
      }
      demand(entry.data_id == state.data_id, "a line of another data set");
      std::visit(Apply{state, places, entry}, entry.content);
      state.head = to_hex(sha256(PublicBytes(line)));
      ++state.lines;
      at = newline + 1;
    }
    // A ledger is created together with its first line.
    demand(state.lines > 0, "no whole line at all");
  } catch (const std::invalid_argument& problem) {
    throw ProtocolError(fmt::format(
        "The ledger '{}' is damaged: line {} is {}. What was spent cannot be told any more, so nothing is "
        "released on it. Restore the file from a backup that ends with the newest line known (its SHA-256 is "
        "the head that `muffle ledger show` prints), and find out who changed it.",
        name, state.lines + 1, problem.what()));
  }
  state.good_bytes = end;
  state.torn = std::string(bytes.substr(end));
  return state;
}

LedgerState read_ledger(const std::filesystem::path& path) {
  return parse_ledger(read_file(path, ledger::kMaxFile), path.string());
}

bool is_data_id(std::string_view text) {
  constexpr std::string_view kLetters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
  return !text.empty() && text.size() <= 128 && text[0] != '.' && text[0] != '-' &&
         text.find_first_not_of(kLetters) == std::string_view::npos;
}

}  // namespace muffle::privacy
