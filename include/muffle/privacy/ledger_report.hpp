#pragma once

#include <string>

#include "muffle/privacy/ledger.hpp"

namespace muffle::privacy {

/// What a ledger's lines add up to, for people: spent, budget, what remains, every charge.
std::string ledger_text(const LedgerState& state);
/// "format": "muffle-ledger-state" (docs/reference/artifact-format.md).
std::string ledger_json(const LedgerState& state, const std::string& file);

/// Of a ledger that read_ledger() has accepted: it ends with a whole line, and it still has the line whose
/// SHA-256 was noted earlier (`head`; empty: none was), or it was rolled back. @throws ProtocolError,
/// IoError.
void require_whole(const LedgerState& state, const std::string& file, const std::string& head);

}  // namespace muffle::privacy
