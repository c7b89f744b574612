#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "muffle/core/settings.hpp"
#include "muffle/privacy/ledger.hpp"
#include "muffle/site/own_networks.hpp"
#include "muffle/site/pins.hpp"

namespace muffle::site {

/// What a site asks of a round before it takes part: section [policy] of its site.toml. It looks at public
/// numbers alone, never at the site's records or how many there are: who takes part is public, too.
struct Policy {
  double largest_epsilon = 1.0;                        ///< of one round, at `delta`
  std::optional<double> largest_epsilon_alone = 10.0;  ///< the same if everybody else betrays the site
  double delta = 1e-5;
  std::int64_t least_contributions = 2;  ///< k of the proposal
  std::int64_t colluding_sites = 1;      ///< of those that the site knows, how many it does not trust
  std::int64_t colluding_holders = 1;    ///< likewise of key holders
  std::int64_t missing_holders = 1;      ///< how many key holders a round may be opened without, at most
  std::int64_t longest_days = 90;        ///< from now to a round's last day: so long its keys are kept
  std::int64_t records_per_person = 1;   ///< how many records one person has at this site at most
  bool tell_records = false;             ///< replace-one, whose contributions say how many records there are
  std::vector<std::string> required_holders;  ///< names of pinned parties, or the site's own
  std::vector<std::string> columns;           ///< that may be released of; empty: all
  std::int64_t approvals = 0;                 ///< how many people must approve each round
  std::int64_t opening_approvals = 0;         ///< of a key holder: how many must approve each opening
  std::vector<std::string> approvers;         ///< whose, each as in a .pub file: "NAME KEY"

  void declare(settings::Keys& keys);
  void problems(settings::Problems& problems) const;
};

/// What a verdict is about. Refers to its arguments. Public.
struct Question {
  const release::ProposedRound& round;
  crypto::SignerKey self;                             ///< the site's own name and key
  std::span<const release::Consortium> charters;      ///< all that were ever seen of its coordinator
  std::span<const release::SignedHeader> round_keys;  ///< what key holders have published
  std::span<const release::SignedHeader> approvals;   ///< kept at this site
  const privacy::LedgerState& ledger;                 ///< the site's own, with its budget
  bool with_torch = true;  ///< whether the program that asks sums maps that need LibTorch
  /// Of a later round: the sites of the first one's seal, by their place in the proposal. Empty: all take
  /// part.
  std::vector<std::size_t> taking_part{};
  std::uint64_t now = 0;   ///< by the site's own clock, seconds since 1970
  OwnNetworks networks{};  ///< of the round's plan
};

/// What one rule says.
struct Ruling {
  enum class Outcome {
    kKept,
    kWaits,   ///< a person or another message can still mend it
    kBroken,  ///< by public numbers
  };
  std::string rule;  ///< "epsilon"
  Outcome outcome = Outcome::kKept;
  std::string text;  ///< for people at the site
};

struct Verdict {
  enum class Answer { kYes, kWait, kDecline };
  Answer answer = Answer::kDecline;
  release::DeclineCode code = release::DeclineCode::kPolicy;  ///< of a decline: all that leaves the site
  std::vector<Ruling> rulings;                                ///< of every rule; stay at the site

  /// The rulings that were not kept, for people; empty: all were.
  std::string why() const;
};

/// Whether the site takes part. A rule that is broken declines; one that waits, or an approval that lacks,
/// waits. Has no clock: whether a deadline has passed, its caller judges.
Verdict policy_verdict(const Policy& policy, const Pins& pins, const Question& question);

/// The people who have approved the round for the site, by name, each once, with the day.
std::vector<std::string> who_approved(const Policy& policy, const Question& question);

/// Whether people let this key holder open what a seal counts: kept, or waits for them. They see the seal,
/// and an approval is for this one alone. @param self  the key holder. @param approvals  kept in its folder
Ruling opening_ruling(const Policy& policy, const release::ProposedRound& round,
                      const release::SealedRound& seal, const crypto::SitePublicKey& self,
                      std::span<const release::SignedHeader> approvals);

}  // namespace muffle::site
