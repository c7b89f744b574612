#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <ctime>
#include <functional>

#include "muffle/release/sealed_round.hpp"
#include "muffle/site/policy.hpp"

namespace muffle::site {
namespace {

constexpr std::time_t kOneDay = 86400;

/// Of the policy's approvers, those with an approval of which `of_it` is so; by name, each once, with the
/// day.
std::vector<std::string> people_of(const Policy& policy, std::span<const release::SignedHeader> approvals,
                                   const std::function<bool(const release::SignedHeader&)>& of_it) {
  std::vector<std::string> people;
  for (const std::string& line : policy.approvers) {
    const crypto::SignerKey person = crypto::parse_signer_key(line, "policy.approvers");
    const auto approval = std::ranges::find_if(approvals, [&](const release::SignedHeader& header) {
      return header.sender == person.key && of_it(header);
    });
    if (approval == approvals.end()) continue;
    const auto day = static_cast<std::time_t>(release::approved_on(*approval)) * kOneDay;
    people.push_back(fmt::format("{} ({:%F})", person.name, fmt::gmtime(day)));
  }
  return people;
}

}  // namespace

std::vector<std::string> who_approved(const Policy& policy, const Question& q) {
  return people_of(policy, q.approvals, [&](const release::SignedHeader& header) {
    return release::approves(header, q.round, q.self.key);
  });
}

Ruling opening_ruling(const Policy& policy, const release::ProposedRound& round,
                      const release::SealedRound& seal, const crypto::SitePublicKey& self,
                      std::span<const release::SignedHeader> approvals) {
  const std::vector<std::string> people =
      people_of(policy, approvals, [&](const release::SignedHeader& header) {
        return release::approves_opening(header, round, seal.id, self);
      });
  const bool enough = static_cast<std::int64_t>(people.size()) >= policy.opening_approvals;
  return {"approvals of the opening", enough ? Ruling::Outcome::kKept : Ruling::Outcome::kWaits,
          fmt::format("{} of {}{}{}{}", people.size(), policy.opening_approvals, people.empty() ? "" : ": ",
                      fmt::join(people, ", "), enough ? "" : "; `muffle site approve --opening`")};
}

}  // namespace muffle::site
