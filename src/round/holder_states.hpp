// A key holder's act in a round, as its states; a file each.
//
//   looking --nothing yet--> sealing [--> asking who may still come] --> bound, opened, its round key erased
//      |  |                              [after the first round: whom it asks]
//      |  `--abandoned, or over--> erased
//      `--opened--> opened --> ending --no release yet--> [standing in] --> waits
//                                  `--released--> a receipt [--> awaiting the next round]
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "bound_message.hpp"
#include "muffle/round/parties.hpp"
#include "role_machine.hpp"
#include "role_parts.hpp"
#include "round_end.hpp"

namespace muffle::round::holder {

/// What the states share.
struct Act {
  /// Opens the key holder's books, and erases what must not be kept any longer, whatever anybody sends.
  /// @throws ConfigError  the key is none of the round's. @throws CommError, IoError, ProtocolError.
  Act(const ProposedRound& round, const HolderJob& job);

  bool is_over() const { return job.clock.now() > round.proposal.open_until; }
  void erase_key();
  void erase_shares();
  /// Notes the seal once it is there. @throws ProtocolError  it is none, or a second one.
  void take_seal(Received&& received);
  /// The receipt for the round's end; what is there of it was looked at. @returns whether it is a new one
  bool give_receipt(const release::SignedHeader& statement);

  /// A later round's place in its release, which is opened once, whatever proposals there are for it. In the
  /// journal it stands where a round key does.
  crypto::ExchangePoint place() const;

  const ProposedRound& round;
  const HolderJob& job;
  const release::HolderKey& own;
  release::Journal journal;
  BoundMessage opening, stand_in, receipt;
  std::optional<release::SealedRound> seal{};
  std::optional<release::SignedHeader> abandonment{};  ///< what gives the round up, if anything does
  StepReport report{};
  Letters out{};
};

struct Next;

/// Whether the round goes on, and what this key holder has said in it.
struct Looking {
  static constexpr std::string_view kName = "looking";
  explicit Looking(const Act& act);
  std::vector<Wanted> wants() const { return seen.missing(); }
  Next receive(Act& act, Received&& received);

  Gathered seen;
};

/// It has not opened yet.
struct Sealing {
  static constexpr std::string_view kName = "sealing";
  explicit Sealing(const Act& act);
  std::vector<Wanted> wants() const { return {sealed}; }
  Next receive(Act& act, Received&& received);

  Wanted sealed;
};

/// Of a later round: which sites the first one's seal counts. Who was not in that has no part in the others.
struct AfterTheFirst {
  static constexpr std::string_view kName = "after the first round";
  explicit AfterTheFirst(const Act& act);
  std::vector<Wanted> wants() const { return seen.missing(); }
  Next receive(Act& act, Received&& received);

  Gathered seen;
};

/// Whether those whom the seal leaves out have declined.
struct Asking {
  static constexpr std::string_view kName = "asking who may still come";
  Asking(const Act& act, std::vector<std::size_t>&& left_out);
  std::vector<Wanted> wants() const { return seen.missing(); }
  Next receive(Act& act, Received&& received);

  std::vector<std::size_t> left_out;  ///< sites, by their place in the proposal
  Gathered seen;
};

/// Its opening is bound.
struct Opened {
  static constexpr std::string_view kName = "opened";
  Opened(const Act& act, const Sha256Digest& seal_of_opening);
  std::vector<Wanted> wants() const { return {sealed}; }
  Next receive(Act& act, Received&& received);

  Wanted sealed;
  Sha256Digest answers;  ///< id() of the seal that it has opened
};

/// What the round ends with.
struct Ending {
  static constexpr std::string_view kName = "ending";
  std::vector<Wanted> wants() const { return end.wants(); }
  Next receive(Act& act, Received&& received);

  RoundEnd end;
};

/// The coordinator may ask for stand-ins.
struct StandingIn {
  static constexpr std::string_view kName = "standing in";
  explicit StandingIn(const Act& act);
  std::vector<Wanted> wants() const;
  Next receive(Act& act, Received&& received);
  /// Of those who are said to be missing.
  static bool has_opened(Act& act, std::size_t holder, Received&& received);
  Next answer(Act& act) const;

  Wanted asked;
  std::optional<release::AskedRound> request{};
  std::size_t looked_at = 0;  ///< openings of those who are said to be missing
  std::vector<std::size_t> opened{};
};

/// The round has its sum.
struct AwaitingNext {
  static constexpr std::string_view kName = "awaiting the next round";
  std::vector<Wanted> wants() const { return proposal.wants(); }
  Next receive(Act& act, Received&& received);

  release::SignedHeader statement;  ///< of the sum
  NextProposal proposal;
};

using State =
    std::variant<Looking, Sealing, AfterTheFirst, Asking, Opened, Ending, StandingIn, AwaitingNext, Through>;
struct Next {
  std::optional<State> state{};
};

/// Asks those sites that the seal leaves out, if their word matters.
Next ask(Act& act, std::vector<std::size_t>&& asked);
/// Binds, opens and binds what it sends. @throws ConfigError  its round key is gone.
Next open(Act& act);
/// Of one that has opened, before there is a release: whether it may have to stand in for others.
Next await_release(Act& act);
/// And if not: waits, until the round's last day.
Next wait(Act& act);

}  // namespace muffle::round::holder
