// A key holder's act in a round, as its states; a file each.
//
//   looking --nothing yet--> sealing [--> asking who may still come] --> bound, opened, its round key erased
//      |  |                     |        [after the first round: whom it asks]
//      |  |                     `--others are asked to stand in for it--> erased
//      |  `--abandoned, or over--> erased
//      `--opened--> opened --> ending --no release yet--> [standing in] --> waits
//                                  `--released--> verifying --> a receipt [--> awaiting the next round]
//                                                      `--wrong--> a receipt that says so --> objecting
#pragma once

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "bound_message.hpp"
#include "muffle/release/round_release.hpp"
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
  /// The receipt for the round's end, of which there is none yet. @param found  of an abandonment: none
  void give_receipt(const release::SignedHeader& statement, std::optional<release::Found> found);
  /// That for an abandonment, unless it was given.
  void acknowledge_abandonment();

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

/// It has not opened yet, and others are not asked to stand in for it.
struct Sealing {
  static constexpr std::string_view kName = "sealing";
  explicit Sealing(const Act& act);
  std::vector<Wanted> wants() const { return seen.missing(); }
  Next receive(Act& act, Received&& received);

  Gathered seen;
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

/// What was published: the sum or, of the last round, the release.
struct Published {
  Published(const ProposedRound& round, RoundEnd&& end);

  static Sha256Digest hash_of(const std::vector<std::int64_t>& values);

  release::SignedHeader statement;
  std::vector<release::OpenedBy> opened{};  ///< by key holder, as it says
  std::string muffle_version{};             ///< of the muffle that made the release
  std::string problem{};                    ///< why it is none; empty: it may be one
  // Of a release.
  Sha256Digest numbers{};                     ///< hash_of() its values
  std::optional<release::Artifact> stated{};  ///< without them
};

/// Of a release of several rounds: reads those before the last.
struct ReadingEarlier {
  static constexpr std::string_view kName = "reading earlier rounds";
  std::vector<Wanted> wants() const { return wanted_of(earlier); }
  Next receive(Act& act, Received&& received);

  Published published;
  release::EarlierRounds earlier;
};

/// Adds the round up, from the contributions and openings that what was published says that it is made of,
/// one at a time. The journal is not held meanwhile.
struct Verifying {
  static constexpr std::string_view kName = "verifying";
  Verifying(const Act& act, Published&& said, std::vector<release::EndedRound>&& rounds);
  std::vector<Wanted> wants() const { return {parts.back().wanted}; }
  Next receive(Act& act, Received&& received);
  Next decide(Act& act);

  struct Part {
    enum class Kind { kRequest, kOpening, kStandIn, kContribution };
    Kind kind = Kind::kRequest;
    Wanted wanted{};
  };
  /// @throws ProtocolError  it is none of what was published.
  void add(const Act& act, Part::Kind kind, const release::Message& message);

  Published published;
  std::vector<release::EndedRound> earlier;
  std::unique_ptr<Sealed> sealed;
  std::set<Sha256Digest> needed{};  ///< ids of messages that are still to be added
  std::vector<Part> parts{};        ///< to look at, the last first
  std::optional<release::AskedRound> request{};
};

/// What was published is not what the messages add up to, and its receipt says so.
struct Objecting {
  static constexpr std::string_view kName = "objecting";
  Objecting(const Act& act, std::string reason) : own(act.receipt.wants()), why(std::move(reason)) {}
  std::vector<Wanted> wants() const { return {own}; }
  Next receive(Act& act, Received&& received);

  Wanted own;
  std::string why;
};

using State = std::variant<Looking, Sealing, AfterTheFirst, Asking, Opened, Ending, StandingIn,
                           ReadingEarlier, Verifying, Objecting, AwaitingNext, Through>;
struct Next {
  std::optional<State> state{};
};

/// By their place in the proposal.
std::vector<std::size_t> all_sites(const ProposedRound& round);
/// Asks those sites that the seal leaves out, if their word matters.
Next ask(Act& act, std::vector<std::size_t>&& asked);
/// Binds, opens and binds what it sends. @throws ConfigError  its round key is gone.
Next open(Act& act);
/// Of one that has opened, before there is a release: whether it may have to stand in for others.
Next await_release(Act& act);
/// And if not: waits, until the round's last day.
Next wait(Act& act);
/// What was published is there: unless it has given its receipt, it adds the round up first.
Next verify(Act& act, Published&& published);
/// Not all of what it is made of is here: waits for it, until the round's last day, since a receipt is given
/// once.
Next wait_for_the_rest(Act& act, const release::SignedHeader& statement);
/// Gives its receipt, which is no objection.
Next give_receipt(Act& act, const release::SignedHeader& statement, release::Found found);
/// Adds up what was published, of these earlier rounds and this one.
Next add_up(Act& act, Published&& published, std::vector<release::EndedRound>&& earlier);
/// Whether its bytes may differ from what this muffle makes of the same messages.
bool made_by_another_muffle(const Act& act, const Published& published);
/// Its receipt says that it is not what it should be.
Next object(Act& act, const release::SignedHeader& statement, std::string why);
/// Its receipt says that it was not compared bit for bit.
Next cannot_compare(Act& act, const Published& published);
/// After its receipt.
Next go_on(Act& act);

}  // namespace muffle::round::holder
