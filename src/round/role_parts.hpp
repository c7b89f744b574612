// What the roles of rounds between institutions have in common (muffle/round/role.hpp).
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "muffle/release/journal.hpp"
#include "muffle/release/later_rounds.hpp"
#include "muffle/round/apart.hpp"

namespace muffle::round {

/// A message of this name. @param numbers  that it has; 0: none
Wanted wanted(std::string name, std::uint64_t numbers = 0);
/// The names of all that is there.
Wanted wanted_names();

/// What is to be read next of the rounds before one; empty: all were.
std::vector<Wanted> wanted_of(const release::EarlierRounds& earlier);

/// The bytes that were received; none: it is not there.
/// @throws ProtocolError  what lies there is larger than such a message may be.
std::optional<std::string>& bytes_of(Received& received);

/// The message that was received, its signature checked; none: it is not there.
/// @throws ProtocolError  what lies there is none.
std::optional<release::Message> message_of(Received received);

/// What a state has to see before it goes on, in whatever order it comes.
class Gathered {
 public:
  explicit Gathered(std::vector<Wanted> wanted);
  std::vector<Wanted> missing() const;
  /// @returns whether all is there now.
  bool take(Received&& received);
  /// Of one that is there.
  Received& at(const std::string& name);

 private:
  std::vector<Wanted> wanted_;
  std::vector<std::optional<Received>> received_;
};

/// A seal, and what is added up under it; they stay where they are.
struct Sealed {
  Sealed(const ProposedRound& round, release::SealedRound sealed)
      : seal(std::move(sealed)), sum(round, seal) {}

  release::SealedRound seal;
  release::Summation sum;
};

/// Why the coordinator has given the round up; none: it has not. What only lies under that name is none.
std::optional<release::AbandonCode> abandoned(const ProposedRound& round, const Received& abandonment);

/// The party's journal, locked.
release::Journal open_journal(const std::filesystem::path& folder, const crypto::SiteKey& key,
                              const StepClock& clock);
/// Makes drafts(), for its owner alone. @throws IoError.
void ensure_drafts(const std::filesystem::path& party);

/// "2026-12-01 12:00 UTC".
std::string time_text(std::uint64_t seconds);
std::unique_ptr<privacy::EntropySource> entropy_of(const MakeEntropy& make);

}  // namespace muffle::round
