#include "guarantee.hpp"

#include <fmt/format.h>

#include <cmath>

#include "attacks.hpp"
#include "muffle/core/round_up.hpp"
#include "muffle/core/text.hpp"
#include "muffle/privacy/accountant.hpp"

namespace muffle::report {
namespace {

/// Up to the first epsilon is strong, beyond the other weak (Ponomareva et al., "How to DP-fy ML", JAIR 77,
/// 2023: tiers of guarantees).
constexpr double kStrong = 1.0, kWeak = 10.0;

/// Whether a person has no more records than it says.
std::string on_whose_word(const release::Artifact& a) {
  const auto person = a.schema.table ? a.schema.table->person() : std::nullopt;
  if (!person) return ": promised by those who made it, not checked";
  return fmt::format("; of whom the column '{}' names, others do not count",
                     a.schema.table->columns[*person].name);
}

/// What holds of a person with more records than were promised: the promise holds of each change of so many,
/// and mu adds up over such steps (Dong, Roth & Su, JRSS B 2022, group privacy). Rounded up.
std::string of_more_records(const release::Artifact& a, const privacy::Guarantee& promise) {
  if (a.schema.table && a.schema.table->person()) return {};  // the others do not count
  const double mu = divide_up(1.0, promise.noise_multiplier);
  std::string out;
  for (const std::uint64_t records : {2, 5, 10}) {
    if (records <= a.max_records_per_person) continue;
    const std::uint64_t steps = (records + a.max_records_per_person - 1) / a.max_records_per_person;
    const double of_all = multiply_up(mu, static_cast<double>(steps));
    const auto epsilon = privacy::epsilon_to_tell(of_all, a.noise.delta);
    out += fmt::format("{}{} records: {}", out.empty() ? "" : "; ", records,
                       epsilon ? fmt::format("epsilon {:.2f}", std::ceil(100 * *epsilon) / 100)
                               : fmt::format("epsilon beyond {:.0f}", privacy::kMaxEpsilon));
  }
  return out.empty() ? out : out + fmt::format(", at delta {}", exact_text(a.noise.delta));
}

const char* taken_for_public(const schema::Schema& schema) {
  return schema.table ? "the schema: names, bounds, bins, categories, rules. By the word of those who wrote "
                        "it; nothing can check that they were not read off the records"
                      : "the shape of a record, the bounds of its numbers, the classes, by the word of those "
                        "who wrote them";
}

std::string told(double mu, double delta, bool up) {
  const auto epsilon = mu > 0 ? privacy::epsilon_to_tell(mu, delta) : 0.0;
  if (!epsilon) return fmt::format("epsilon beyond {:.0f}", privacy::kMaxEpsilon);
  return fmt::format("epsilon {}",
                     up ? rounded_up_text(*epsilon, 3) : rounded_down_text(*epsilon * (1 - 1e-6), 3));
}

/// By the names that the records' owners gave them.
std::string data_sets(const release::Artifact& a) {
  if (!a.round)
    return a.data_id.empty() || a.data_id.starts_with("unnamed-") ? "nobody named it (data.id)" : a.data_id;
  std::string out;
  for (const release::RoundRecord::Site& site : a.round->sites)
    out += fmt::format("{}'{}' of {}", out.empty() ? "" : ", ", site.data_id, site.name);
  return out;
}

/// The day of this release's charge, by the ledger's clock.
std::string day_of(const PublicMaterial& m) {
  const auto& ledger = m.verification.ledger;
  const auto* charge = ledger ? ledger->find_charge(m.artifact().ledger_charge) : nullptr;
  return charge != nullptr && charge->time.size() >= 10 ? charge->time.substr(0, 10) : std::string();
}

}  // namespace

std::string spent_in_all(const PublicMaterial& m) {
  const auto& ledger = m.verification.ledger;
  if (!ledger) return "not looked at: no ledger was named";
  const double delta = ledger->budget ? ledger->budget->delta : m.artifact().noise.delta;
  std::string out =
      fmt::format("{} at delta {}, in {} release{}", told(ledger->spent_mu(), delta, true), exact_text(delta),
                  ledger->charges.size(), ledger->charges.size() == 1 ? "" : "s");
  if (ledger->insecure > 0)
    return out + "; seeded test noise (or none) is among them, so all of it promises nothing";
  if (!ledger->budget) return out + "; there is no budget";
  // Of the smallest charge that there is: what remains before it.
  const auto left = privacy::quote(*ledger, privacy::kMinChargeMu, true, delta).remaining_mu;
  return out + fmt::format("; of a budget of {}, {}", told(ledger->budget->mu, delta, true),
                           left && *left > 0
                               ? "one more release may have " + told(*left, delta, false) + " at most"
                               : "nothing is left");
}

TextTable promises(const PublicMaterial& m) {
  const release::Artifact& a = m.artifact();
  const auto promise = release::promise_of(a);
  TextTable table{{}, {}};
  const auto row = [&](const char* what, std::string says) {
    if (!says.empty()) table.rows.push_back({what, std::move(says)});
  };
  if (promise)
    row("the promise",
        fmt::format("epsilon {} at delta {}", exact_text(promise->epsilon), exact_text(a.noise.delta)));
  row("who is protected", fmt::format("one person, with {} record{} at most{}", a.max_records_per_person,
                                      a.max_records_per_person == 1 ? "" : "s", on_whose_word(a)));
  if (promise) row("of somebody with more", of_more_records(a, *promise));
  row("against", a.adjacency == privacy::Adjacency::kReplaceOne
                     ? "their records having been any others (replace-one)"
                     : "their records having been there at all (add/remove-one)");
  row("spent in all", spent_in_all(m));
  row("taken for public", taken_for_public(a.schema));
  row("data set", data_sets(a));
  row("released on", day_of(m));
  row("signature", m.verification.signature
                       ? fmt::format("claims to be '{}', unchecked", m.verification.signature->signer)
                       : "nobody signed it");
  return table;
}

std::string who_saw_what(const release::Artifact& a) {
  std::optional<privacy::Guarantee> promised;
  if (a.is_private) promised = {a.noise.epsilon, a.noise.delta, a.noise.noise_multiplier};
  return fmt::format("Who saw what. Each {} saw its own records in the clear. {}",
                     a.round || !a.parts.empty() ? "site" : "rank (a process of the job, on its machine)",
                     privacy::describe(a.aggregation, promised));
}

void judge_epsilon(const PublicMaterial& m, std::vector<std::string>& good, std::vector<std::string>& bad) {
  const auto mu = m.mu();
  const auto promise = release::promise_of(m.artifact());
  if (!mu || !promise) return;
  const std::string right = fmt::format(
      "of two equally likely answers about a person, whoever guesses with the release is right in {} % of "
      "the cases at most",
      rounded_up_text(100 * std::exp(privacy::log_normal_cdf(*mu / 2)), 3));
  const std::string epsilon = exact_text(promise->epsilon);
  if (promise->epsilon <= kStrong) {
    good.push_back(
        fmt::format("The guarantee is strong (epsilon {}, up to {:.0f}): {}.", epsilon, kStrong, right));
  } else if (promise->epsilon <= kWeak) {
    bad.push_back(fmt::format(
        "The guarantee is neither strong (epsilon up to {:.0f}) nor weak (beyond {:.0f}) with its {}: {}.",
        kStrong, kWeak, epsilon, right));
  } else {
    bad.push_back(
        fmt::format("The guarantee is weak (epsilon {}, beyond {:.0f}): {}. It proves little of any "
                    "one person.",
                    epsilon, kWeak, right));
  }
}

}  // namespace muffle::report
