// The coordinator's act in a round, as its states; a file each.
//
//   looking --released, abandoned--> its word once more [--> awaiting the next round]
//      `--[going on]--> collecting --time--> sealed --> opening --> adding --> released
//                          |                   |  `--late--> asking, hearing stand-ins --^
//                          `--too few--> abandoned
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "bound_message.hpp"
#include "muffle/release/later_rounds.hpp"
#include "muffle/round/parties.hpp"
#include "role_machine.hpp"
#include "role_parts.hpp"
#include "round_end.hpp"

namespace muffle::round::coordinator {

/// What the states share.
struct Act {
  /// Opens the coordinator's books. @param gives_up  why a person gives the round up; none: nobody does
  /// @throws ConfigError  the key is not the round's coordinator's. @throws CommError, IoError,
  /// ProtocolError.
  Act(const ProposedRound& round, const CoordinatorJob& job,
      const std::optional<release::AbandonCode>& gives_up);

  void give_up(release::AbandonCode code, const std::string& why);
  /// Sites whose contributions are waited for: all or, in a later round, those of the first one's seal.
  std::vector<std::size_t> awaited() const;
  /// Of what the release still needs. After the last day nobody sends it any more.
  void await(const std::string& what, std::uint64_t until);
  /// A site's contribution; none: it is not there, or is none and is put aside.
  std::optional<release::Message> contribution(std::size_t site, Received&& received);
  Wanted wanted_contribution(std::size_t site) const;
  /// Runs `take`; what it refuses is put aside. @returns whether it took the message.
  template <class Take>
  bool or_aside(const std::string& name, const Take& take) {
    try {
      take();
      return true;
    } catch (const ProtocolError& e) {
      report.aside.push_back(name + ": " + e.what());
      return false;
    }
  }
  /// Whether there is a message of this key holder's, and `take` takes it. @param otherwise  why one of
  /// somebody else is put aside
  template <class Take>
  bool hear(std::size_t holder, const std::string& name, Received&& received, const char* otherwise,
            const Take& take) {
    bool taken = false;
    or_aside(name, [&] {
      const auto message = message_of(std::move(received));
      if (!message) return;
      if (message->header.sender != round.proposal.holders[holder].holder.key) throw ProtocolError(otherwise);
      take(*message);
      taken = true;
    });
    return taken;
  }
  Wanted wanted_stand_in(std::size_t holder) const;
  /// Of key holders.
  std::vector<std::string> names_of(const std::vector<std::size_t>& holders) const;
  std::filesystem::path release_file() const;

  const ProposedRound& round;
  const CoordinatorJob& job;
  std::optional<release::AbandonCode> gives_up;
  release::Journal journal;
  BoundMessage seal, request, statement, abandonment;
  std::vector<release::EndedRound> earlier{};
  StepReport report{};
  Letters out{};
};

struct Next;

/// What it has said, and what lies about under the round's names.
struct Looking {
  static constexpr std::string_view kName = "looking";
  explicit Looking(const Act& act);
  std::vector<Wanted> wants() const { return seen.missing(); }
  Next receive(Act& act, Received&& received);

  Gathered seen;
};

/// Of a later round: reads those before.
struct GoingOn {
  static constexpr std::string_view kName = "going on";
  std::vector<Wanted> wants() const;
  Next receive(Act& act, Received&& received);

  release::EarlierRounds earlier;
};

/// Whether it has sealed.
struct Sealing {
  static constexpr std::string_view kName = "sealing";
  explicit Sealing(const Act& act) : seal(act.seal.wants()) {}
  std::vector<Wanted> wants() const { return {seal}; }
  Next receive(Act& act, Received&& received);

  Wanted seal;
};

/// Not yet: who has contributed or declined, one site after another.
struct Collecting {
  static constexpr std::string_view kName = "collecting";
  explicit Collecting(const Act& act);
  std::vector<Wanted> wants() const { return {asked}; }
  Next receive(Act& act, Received&& received);
  Next next_site(const Act& act);
  /// Seals what counts, if it is time, or gives up.
  Next decide(Act& act);

  std::vector<std::size_t> sites;  ///< that are asked, by their place in the proposal
  std::size_t at = 0;
  bool asks_decline = false;
  Wanted asked;
  std::vector<release::SignedHeader> contributions;
  std::vector<std::string> missing, declined;  ///< names of sites
};

/// One key holder's opening after another.
struct Opening {
  static constexpr std::string_view kName = "opening";
  explicit Opening(std::unique_ptr<Sealed>&& round_sealed, const Act& act);
  std::vector<Wanted> wants() const { return {asked}; }
  Next receive(Act& act, Received&& received);

  std::unique_ptr<Sealed> sealed;
  Wanted asked;
  std::size_t at = 0;
  std::vector<std::size_t> missing;  ///< key holders
};

/// Openings are overdue: whether it has asked for stand-ins. If not, it does.
struct Asking {
  static constexpr std::string_view kName = "asking for stand-ins";
  std::vector<Wanted> wants() const { return {request}; }
  Next receive(Act& act, Received&& received);

  std::unique_ptr<Sealed> sealed;
  std::vector<std::size_t> missing;
  Wanted request;
};

/// One key holder's stand-in after another.
struct Hearing {
  static constexpr std::string_view kName = "hearing stand-ins";
  std::vector<Wanted> wants() const { return {asked}; }
  Next receive(Act& act, Received&& received);

  std::unique_ptr<Sealed> sealed;
  std::vector<std::size_t> missing;
  release::AskedRound request;
  Wanted asked;
  std::size_t at = 0;
  std::vector<std::string> silent{};  ///< names of key holders
};

/// One site's contribution after another: sealed ones are added up, if all was opened; others came too late.
struct Adding {
  static constexpr std::string_view kName = "adding";
  std::vector<Wanted> wants() const { return {asked}; }
  Next receive(Act& act, Received&& received);
  void look(Act& act, Received&& received);

  std::unique_ptr<Sealed> sealed;
  bool whole = false;              ///< all was opened
  std::vector<std::size_t> sites;  ///< to look at, the last first
  Wanted asked;
};

using State = std::variant<Looking, GoingOn, Sealing, Collecting, Opening, Asking, Hearing, Adding,
                           AwaitingNext, Through>;
struct Next {
  std::optional<State> state{};
};

/// On to contributions; `whole`: all was opened, by key holders or those who stand in for them.
Next add_up(const Act& act, std::unique_ptr<Sealed>&& sealed, bool whole);
/// All has been added up: publishes the round's sum or, of the last round, the release.
Next publish(Act& act, Sealed&& sealed);
/// It has been released: once more, if it never got to where it should.
Next release_again(Act& act);

}  // namespace muffle::round::coordinator
