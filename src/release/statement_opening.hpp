#pragma once

#include <string>
#include <vector>

#include "muffle/privacy/ledger.hpp"
#include "muffle/release/artifact.hpp"

namespace muffle::release {

/// The first half page of privacy.txt, for whoever has to answer for the records: who is protected against
/// whom, what epsilon says in words, what was spent in all, what to remember. No formula. Lines of at most
/// 100 characters.
/// @param remember  sentences of the last part
/// @param ledger  its charges are added up, this release's among them; null: the text says where they are
std::string statement_opening(const Artifact& artifact, const std::vector<std::string>& remember,
                              const privacy::LedgerState* ledger);

}  // namespace muffle::release
