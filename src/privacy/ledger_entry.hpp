#pragma once

#include <variant>

#include "muffle/privacy/ledger.hpp"

namespace muffle::privacy::ledger {

struct BudgetLine {
  std::optional<Budget> budget;
};
struct IntentLine {
  std::string charge;
  ChargeTerms terms;
};
/// PENDING: what the charge's job drew and is about to write; or COMMIT: that is on the disk.
struct ArtifactLine {
  std::string charge, artifact;
  bool committed = false;
};
/// RELEASED: the round that a contribution was charged for has this release.
struct ReleasedLine {
  std::string charge, release;
};
/// ROUND, of a release of several rounds: the numbers of the rounds up to this one are about to be kept in a
/// file with this hash or, without one, the noise of this round is about to be drawn. INTENT says so of the
/// first.
struct RoundLine {
  std::string charge;
  std::uint64_t round = 0;
  std::optional<std::string> kept;
  std::string summed{};  ///< ChargeRecord::summed; empty: an earlier muffle wrote the line
};
/// A torn last line was cut off. If it still showed a charge, that is kept as spent (mu > 0).
struct RepairLine {
  std::uint64_t cut_bytes = 0;
  std::string cut_sha256;
  double mu = 0.0;
  std::optional<PrivacyUnit> unit;  ///< there if mu > 0
};

struct Entry {
  std::uint64_t sequence = 0;
  std::string previous;  ///< SHA-256 of the line before, without its newline; 64 zeros for the first
  std::string data_id;
  std::string time, host;
  std::variant<BudgetLine, IntentLine, ArtifactLine, RepairLine, RoundLine, ReleasedLine> content;
};

/// 2: charges say their unit of privacy and are bound to their artifact. Files of version 1 are refused: what
/// they spent cannot be added to anything (parse_ledger).
inline constexpr int kVersion = 2;
/// The one way to write an entry: ASCII JSON, keys in a fixed order, its own SHA-256 last. No newline.
std::string render(const Entry& entry);

/// Inverse of render: accepts exactly what render writes and nothing else.
/// @throws std::invalid_argument saying what is wrong; parse_ledger adds file and line.
Entry parse(std::string_view line);

/// What an INTENT line of which only a beginning is left still shows: mu and unit alone are filled in.
std::optional<ChargeTerms> charge_of_fragment(std::string_view fragment);

bool valid_charge(double mu);

}  // namespace muffle::privacy::ledger
