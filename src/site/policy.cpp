#include "muffle/site/policy.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "muffle/core/error.hpp"
#include "muffle/core/text.hpp"
#include "muffle/privacy/accountant.hpp"

namespace muffle::site {

void Policy::declare(settings::Keys& keys) {
  using settings::Range;
  const Range any_epsilon{privacy::kMinEpsilon, privacy::kMaxEpsilon};
  keys.number("largest_epsilon", largest_epsilon, any_epsilon,
              "the most that one round may cost, at policy.delta");
  keys.optional_number(
      "largest_epsilon_alone", largest_epsilon_alone,
      "the most that a round may cost if all other parties betray this site; \"none\": no limit",
      any_epsilon);
  keys.number("delta", delta, {privacy::kMinDelta, privacy::kMaxDelta}, "at which both are reckoned");
  keys.count("least_contributions", least_contributions, 2, 1 << 16,
             "a release of fewer sites than this is none that this site takes part in (k)");
  keys.count(
      "colluding_sites", colluding_sites, 0, 1 << 16,
      "how many of the sites that you pinned may pool what they know (added to those that you did not pin)");
  keys.count("colluding_holders", colluding_holders, 0, 10, "likewise of key holders");
  keys.count(
      "missing_holders", missing_holders, 0, 2,
      "how many key holders a round may do without at most; 0: nobody opens without every one of them");
  keys.count("longest_days", longest_days, 1, 3650,
             "how many days ahead a round's last day may be: so long key holders keep its round keys");
  keys.count("records_per_person", records_per_person, 1, 1'000'000,
             "how many records one person has at this site at most: a round that protects fewer is declined");
  keys.flag(
      "tell_records", tell_records,
      "also take part under replace-one adjacency, where a contribution says how many records there are");
  keys.texts("required_holders", required_holders, "[\"REGULATOR\"]",
             "parties, by the names under which they are pinned, who must be key holders of every round");
  keys.texts("columns", columns, "[\"age\", \"sex\"]", "columns that rounds may use; empty: all");
  keys.count("approvals", approvals, 0, 100,
             "how many people must approve every round (muffle site approve)");
  keys.count("opening_approvals", opening_approvals, 0, 100,
             "how many people must approve what a seal counts, before this key holder opens the sum "
             "(muffle site approve --opening)");
  keys.texts("approvers", approvers, "[\"alice 3b6a27...\"]",
             "who they can be, each as the line of a .pub file (muffle keygen)", [](const std::string& line) {
               try {
                 (void)crypto::parse_signer_key(line, "policy.approvers");
                 return std::string();
               } catch (const ConfigError&) {
                 return "is no line of a .pub file (muffle keygen), \"NAME PUBLIC-KEY\": '" +
                        printable(line) + "'";
               }
             });
}

void Policy::problems(settings::Problems& p) const {
  std::set<crypto::SitePublicKey> keys;
  for (const std::string& line : approvers)
    keys.insert(crypto::parse_signer_key(line, "policy.approvers").key);
  p.unless(keys.size() == approvers.size(),
           "policy.approvers has a key twice: two approvals of one person are one");
  p.unless(approvals <= static_cast<std::int64_t>(keys.size()),
           fmt::format("policy.approvals = {} and {} approvers: no round could ever be approved", approvals,
                       keys.size()));
  p.unless(opening_approvals <= static_cast<std::int64_t>(keys.size()),
           fmt::format("policy.opening_approvals = {} and {} approvers: no sum could ever be opened",
                       opening_approvals, keys.size()));
  p.unless(
      approvals > 0 || opening_approvals > 0 || approvers.empty(),
      "policy.approvers names people, and policy.approvals = 0 and policy.opening_approvals = 0 ask nobody: "
      "say how many must approve");
}

}  // namespace muffle::site
