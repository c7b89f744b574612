#include <fmt/format.h>

#include <cmath>

#include "ledger_entry.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/float_text.hpp"
#include "muffle/core/round_up.hpp"
#include "muffle/privacy/accountant.hpp"
#include "muffle/privacy/ledger.hpp"

namespace muffle::privacy {
namespace {

// The counterparts of round_up.hpp: never above the exact result.
double next_down(double x) { return std::nextafter(x, 0.0); }
double square_down(double x) {
  const double square = x * x;
  return std::fma(x, x, -square) < 0 ? next_down(square) : square;
}
double sqrt_down(double x) {
  const double root = std::sqrt(x);
  return std::fma(-root, root, x) < 0 ? next_down(root) : root;
}
/// a - b for a >= b, not above the exact difference.
double subtract_down(double a, double b) {
  const double difference = a - b;
  return difference > 0 ? next_down(difference) : 0.0;
}

/// "mu 0.268 (epsilon 1 at delta 1e-05)".
std::string in_words(double mu, double delta) {
  if (!(mu > 0)) return "mu 0";
  const auto epsilon = epsilon_to_tell(mu, delta);
  return fmt::format("mu {:.6g} (epsilon {} at delta {})", mu,
                     epsilon ? fmt::format("{:.6g}", *epsilon) : "above 100", exact_text(delta));
}

}  // namespace

Budget Budget::from_epsilon(double epsilon, double delta) {
  // The accountant checked the guarantee at this very quotient.
  return {1.0 / noise_multiplier_for(epsilon, delta), delta, epsilon};
}

Budget Budget::from_mu(double mu, double delta) {
  if (!ledger::valid_charge(mu)) {
    throw ConfigError(fmt::format("a budget of mu = {} is none: give a number from {} to {}.", exact_text(mu),
                                  exact_text(kMinChargeMu), exact_text(kMaxChargeMu)));
  }
  require_delta(delta, "the budget's delta");
  return {mu, delta, std::nullopt};
}

std::string in_words(const PrivacyUnit& unit) {
  return fmt::format("{} adjacency, at most {} record{} a person", to_string(unit.adjacency),
                     unit.max_records_per_person, unit.max_records_per_person == 1 ? "" : "s");
}

void require_unit(const LedgerState& state, const PrivacyUnit& unit) {
  if (!state.unit || *state.unit == unit) return;
  throw PrivacyError(
      fmt::format("The privacy ledger refuses: what was spent on data set '{}' is counted for {}, and this "
                  "release asks for {}. The mu of different units of privacy do not add up to a promise in "
                  "either. Set privacy.adjacency and privacy.max_records_per_person to the ledger's. Another "
                  "ledger does not help: the people are the same, and their releases would only be counted "
                  "apart. If the ledger's unit was a mistake, its releases promise less than was meant: for "
                  "q records a person where 1 was assumed, q times their mu; where the public number of "
                  "records must be secret, nothing. Nothing was charged or drawn.",
                  state.data_id, in_words(*state.unit), in_words(unit)));
}

double mu_of(const NoisePlan& plan) {
  // Each number's noise is sigma_lattice / unit in units of the features; what counts is the least of them.
  double mu = 0.0;
  for (const NoisePart& part : plan.parts) {
    for (const NoiseRun& run : part.runs) {
      mu = std::fmax(mu, divide_up(multiply_up(plan.sensitivity.value, run.unit),
                                   static_cast<double>(run.sigma_lattice)));
    }
  }
  require(mu > 0, "the mu of a release without noise was asked for: this is a bug in muffle.");
  return mu;
}

PrivacyUnit unit_of(const NoisePlan& plan) {
  return {plan.sensitivity_input.adjacency, plan.sensitivity_input.max_records_per_person};
}

Quote quote(const LedgerState& state, double mu, bool secure_noise, double delta) {
  if (!ledger::valid_charge(mu)) {
    throw ConfigError(
        fmt::format("mu = sensitivity / sigma is {}, but a ledger keeps values from {} to {} only: check "
                    "epsilon, delta or the noise multiplier. Nothing was charged.",
                    exact_text(mu), exact_text(kMinChargeMu), exact_text(kMaxChargeMu)));
  }
  Quote q;
  const double total_squares = add_up(state.spent_squares, multiply_up(mu, mu));
  q.total_mu = sqrt_up(total_squares);
  const double at = state.budget ? state.budget->delta : delta;
  q.text = fmt::format("data set '{}': spent so far {} in {} charge{}; this release asks for {}; together {}",
                       state.data_id, in_words(state.spent_mu(), at), state.charges.size(),
                       state.charges.size() == 1 ? "" : "s", in_words(mu, at), in_words(q.total_mu, at));
  if (!state.budget) {
    q.allowed = true;
    q.text += "; no budget is set";
    if (state.insecure > 0 || !secure_noise) q.text += "; NO guarantee, because of seeded test noise";
    return q;
  }
  const double budget_squares = square_down(state.budget->mu);
  q.remaining_mu = sqrt_down(subtract_down(budget_squares, state.spent_squares));
  q.text += fmt::format("; the budget is {}; before this release there remains {}",
                        in_words(state.budget->mu, at), in_words(*q.remaining_mu, at));
  if (!secure_noise || state.insecure > 0) {
    q.text += "; seeded test noise protects nobody, so it costs more than any budget";
    return q;
  }
  q.allowed = total_squares <= budget_squares;  // false for NaN
  if (q.allowed) {
    q.text += fmt::format(", and after it {}",
                          in_words(sqrt_down(subtract_down(budget_squares, total_squares)), at));
  } else if (*q.remaining_mu >= kMinChargeMu) {
    q.text +=
        fmt::format(", which a noise multiplier of {:.6g} or more would fit", 1.00001 / *q.remaining_mu);
  }
  return q;
}

}  // namespace muffle::privacy
