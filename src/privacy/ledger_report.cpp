#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "ledger_entry.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/core/hash.hpp"
#include "muffle/core/round_up.hpp"
#include "muffle/core/text.hpp"
#include "muffle/privacy/accountant.hpp"

namespace muffle::privacy {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kDefaultDelta = 1e-5;

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

/// What is left of the budget that there is, rounded down.
double remaining(const LedgerState& state) {
  return sqrt_down(subtract_down(square_down(state.budget->mu), state.spent_squares));
}

std::string epsilon_text(double mu, double delta) {
  const auto epsilon = epsilon_to_tell(mu, delta);
  return fmt::format("epsilon {} at delta {}", epsilon ? fmt::format("{:.6g}", *epsilon) : "above 100",
                     exact_text(delta));
}

/// "mu 0.268 (epsilon 1 at delta 1e-05)".
std::string in_words(double mu, double delta) {
  return mu > 0 ? fmt::format("mu {:.6g} ({})", mu, epsilon_text(mu, delta)) : "mu 0";
}

double delta_of(const LedgerState& state) { return state.budget ? state.budget->delta : kDefaultDelta; }

std::string mu_text(double mu, double delta) {
  return fmt::format("mu {:.6g}, {}", mu, epsilon_text(mu, delta));
}

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

}  // namespace

Budget Budget::from_epsilon(double epsilon, double delta) {
  // The accountant checked the guarantee at this very quotient.
  return {1.0 / noise_multiplier_for(epsilon, delta), delta, epsilon};
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
    if (state.insecure > 0 || !secure_noise)
      q.text += "; NO guarantee, because of seeded test noise, or none";
    return q;
  }
  const double budget_squares = square_down(state.budget->mu);
  q.remaining_mu = remaining(state);
  q.text += fmt::format("; the budget is {}; before this release there remains {}",
                        in_words(state.budget->mu, at), in_words(*q.remaining_mu, at));
  if (!secure_noise || state.insecure > 0) {
    q.text += "; seeded test noise, or none, protects nobody, so it costs more than any budget";
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

std::string ledger_json(const LedgerState& state, const std::string& file) {
  const double delta = delta_of(state);
  Json budget(nullptr);
  if (state.budget) {
    const double left = state.insecure > 0 ? 0.0 : remaining(state);
    budget = {{"mu", state.budget->mu},
              {"epsilon", or_null(state.budget->epsilon)},
              {"delta", delta},
              {"remaining_mu", left},
              {"remaining_epsilon", or_null(epsilon_to_tell(left, delta))}};
  }
  Json charges = Json::array();
  for (const ChargeRecord& c : state.charges) {
    charges.push_back({{"charge", c.id},
                       {"time", c.time},
                       {"host", c.host},
                       {"run", c.terms.run},
                       {"config_hash", c.terms.config_hash},
                       {"mu", c.terms.mu},
                       {"sensitivity", c.terms.sensitivity},
                       {"sigma", c.terms.sigma},
                       {"secure_noise", c.terms.secure_noise},
                       {"pending_sha256", or_null(c.pending)},
                       {"artifact_sha256", or_null(c.artifact)}});
    if (c.rounds_kept > 0) charges.back()["rounds_kept"] = c.rounds_kept;
    if (c.terms.alone_mu > 0) {
      charges.back()["alone_mu"] = c.terms.alone_mu;
      charges.back()["release_sha256"] = or_null(c.released);
    }
  }
  const Json out = {{"format", "muffle-ledger-state"},
                    {"version", 1},
                    {"ledger", file},
                    {"data_id", state.data_id},
                    {"unit", state.unit ? Json{{"adjacency", to_string(state.unit->adjacency)},
                                               {"max_records_per_person", state.unit->max_records_per_person}}
                                        : Json(nullptr)},
                    {"spent",
                     {{"mu", state.spent_mu()},
                      {"mu_squares", state.spent_squares},
                      {"epsilon", or_null(epsilon_to_tell(state.spent_mu(), delta))},
                      {"delta", delta}}},
                    {"guarantee", state.insecure == 0},
                    {"budget", budget},
                    {"charges", charges},
                    {"repairs", state.repairs},
                    {"lines", state.lines},
                    {"torn_bytes", state.torn.size()},
                    {"head", state.head}};
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string ledger_text(const LedgerState& state) {
  const double delta = delta_of(state);
  std::string out = fmt::format("data set   {}\nspent      {}, in {} charge{}\n", state.data_id,
                                mu_text(state.spent_mu(), delta), state.charges.size(),
                                state.charges.size() == 1 ? "" : "s");
  if (state.unit) out += fmt::format("unit       {}\n", in_words(*state.unit));
  if (state.budget) {
    out += fmt::format("budget     {}\nremaining  {}\n", mu_text(state.budget->mu, delta),
                       state.insecure > 0 ? "nothing" : mu_text(remaining(state), delta));
  } else {
    out += "budget     none\n";
  }
  if (state.insecure > 0)
    out += fmt::format("WARNING    {} release(s) with seeded test noise, or none: NO guarantee is left\n",
                       state.insecure);
  if (state.repairs > 0)
    out += fmt::format("repairs    {} line(s) torn by a crash were cut off\n", state.repairs);
  if (!state.torn.empty())
    out += fmt::format("torn       {} bytes at the end; the next release mends them\n", state.torn.size());
  out += fmt::format("head       {} (line {})\n", state.head, state.lines);
  for (const ChargeRecord& c : state.charges) {
    out += fmt::format(
        "\n{}  {}  on {}\n  {}{}\n  run {}\n  {}\n", printable(c.time), c.id, printable(c.host),
        mu_text(c.terms.mu, delta), c.terms.secure_noise ? "" : ", SEEDED TEST NOISE, OR NONE: not private",
        printable(c.terms.run),
        c.artifact ? (c.terms.alone_mu > 0 ? "contribution sha256 " : "artifact sha256 ") + *c.artifact
        : c.between_rounds() && c.terms.alone_mu > 0
            ? fmt::format("{} of its rounds contributed to; the site's next step goes on", c.rounds_kept)
        : c.between_rounds()
            ? fmt::format("{} of its rounds kept; its job, started again, goes on", c.rounds_kept)
            : "no artifact was committed; the charge stays spent");
    if (c.terms.alone_mu > 0)
      out += fmt::format("  if everybody else betrays the site: {}\n  {}\n", mu_text(c.terms.alone_mu, delta),
                         c.released ? "release sha256 " + *c.released : "no release of the round was seen");
  }
  return out;
}

void require_whole(const LedgerState& state, const std::string& file, const std::string& head) {
  if (!state.torn.empty()) {
    throw ProtocolError(
        fmt::format("The ledger '{}' ends with {} bytes of an unfinished line after {} good ones: a release "
                    "is writing right now, or one was cut off by a crash. Verify again in a moment; the next "
                    "release on it mends the line and records that.",
                    file, state.torn.size(), state.lines));
  }
  if (head.empty()) return;
  std::istringstream lines(read_file(file));
  for (std::string line; std::getline(lines, line);) {
    if (to_hex(sha256(PublicBytes(line))) == head) return;
  }
  throw ProtocolError(
      fmt::format("The ledger '{}' has no line with SHA-256 {}, though its chain is whole: it was rolled "
                  "back to an older copy, or is another one. Releases may be missing from it.",
                  file, head));
}

}  // namespace muffle::privacy
