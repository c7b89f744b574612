// A site's act in a round, as its states; a file each.
//
//   looking --nothing yet--> consenting [--> going on] --records summed--> looking, once more, and the ledger
//       |                                                 stays locked --> consenting --> charged,
//       contributed
//       `--made--> [kept -->] sent --sealed--> ending --> noted in the ledger [--> awaiting the next round]
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "muffle/comm/termination.hpp"
#include "muffle/release/contribution_book.hpp"
#include "muffle/release/later_rounds.hpp"
#include "muffle/round/parties.hpp"
#include "role_machine.hpp"
#include "role_parts.hpp"
#include "round_end.hpp"

namespace muffle::round::contributor {

using release::ContributionBook;

/// What the states share.
struct Act {
  /// Opens the site's folder. @throws ConfigError  the site is not invited. @throws IoError.
  Act(const ProposedRound& round, const ContributorJob& job);

  /// With the ledger's lock.
  std::unique_ptr<ContributionBook> book() const;
  /// Says so. @param abandonment  what lies under its name
  bool is_abandoned(const Received& abandonment);
  /// Not for ever. A release that comes later is noted by a later act.
  void wait_for(const char* what);

  const ProposedRound& round;
  const ContributorJob& job;
  const round::Contributor maker;
  const std::string name;                        ///< of the contribution
  std::optional<std::uint64_t> first_records{};  ///< of a later round: what the first one's contribution said
  std::unique_ptr<comm::TerminationHold> hold{};
  /// Of a contribution that was just made: its ledger stays locked until it has left, or another step of this
  /// site could give it up meanwhile.
  std::unique_ptr<ContributionBook> leaving{};
  StepReport report{};
  Letters out{};
};

/// Records that are summed already, and the ledger, which is locked from then on.
struct Ready {
  std::optional<OwnSums> sums{};
  std::unique_ptr<ContributionBook> book{};
};

struct Next;

/// Whether the site has contributed.
struct Looking {
  static constexpr std::string_view kName = "looking";
  explicit Looking(const Act& act, std::optional<OwnSums>&& summed = {});
  std::vector<Wanted> wants() const { return seen.missing(); }
  Next receive(Act& act, Received&& received);

  std::optional<OwnSums> sums;
  Gathered seen;
};

/// Whether everything but the records says yes: public values only.
struct Consenting {
  static constexpr std::string_view kName = "consenting";
  Consenting(const Act& act, Ready&& own);
  std::vector<Wanted> wants() const { return seen.missing(); }
  Next receive(Act& act, Received&& received);

  Ready ready;
  Gathered seen;
};

/// Of a later round: whether it goes on where those before have ended, with this site in them.
struct GoingOn {
  static constexpr std::string_view kName = "going on";
  GoingOn(const Act& act, Ready&& own);
  std::vector<Wanted> wants() const;
  Next receive(Act& act, Received&& received);

  Ready ready;
  release::EarlierRounds earlier;
};

/// The contribution is made, and is not seen to have left. What has not left when the round is abandoned
/// stays.
struct Kept {
  static constexpr std::string_view kName = "kept";
  Kept(const Act& act, std::unique_ptr<ContributionBook>&& made);
  std::vector<Wanted> wants() const { return {abandonment}; }
  Next receive(Act& act, Received&& received);

  std::unique_ptr<ContributionBook> book;
  Wanted abandonment;
};

/// The contribution is there, and has left.
struct Sent {
  static constexpr std::string_view kName = "sent";
  Sent(const Act& act, std::unique_ptr<ContributionBook>&& made);
  std::vector<Wanted> wants() const { return seen.missing(); }
  Next receive(Act& act, Received&& received);

  std::unique_ptr<ContributionBook> book;
  Gathered seen;
};

/// The round is sealed: what it ends with.
struct Ending {
  static constexpr std::string_view kName = "ending";
  std::vector<Wanted> wants() const { return end.wants(); }
  Next receive(Act& act, Received&& received);
  Next ended(Act& act);

  std::unique_ptr<ContributionBook> book;
  RoundEnd end;
  Received abandonment;
  bool counts = false;  ///< the seal counts this site
};

using State = std::variant<Looking, Consenting, GoingOn, Kept, Sent, Ending, AwaitingNext, Through>;
struct Next {
  std::optional<State> state{};
};

/// With everybody's consent but the site's own policy, which is asked here: sums records or, if they are
/// summed, charges the ledger and contributes.
Next go_on(Act& act, Ready&& ready);

}  // namespace muffle::round::contributor
