#include "statement_opening.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "artifact_header.hpp"
#include "muffle/core/round_up.hpp"
#include "muffle/core/text.hpp"
#include "muffle/privacy/accountant.hpp"

namespace muffle::release {
namespace {

constexpr std::size_t kLineLength = 100;

/// One paragraph in lines. @param first, others  what these begin with
std::string in_lines(const std::string& text, const std::string& first = "", const std::string& others = "") {
  std::string out, line = first;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find(' ', at), text.size());
    if (at > 0 && line.size() + 1 + (end - at) > kLineLength) {
      out += line + "\n";
      line = others;
    } else if (at > 0) {
      line += ' ';
    }
    line.append(text, at, end - at);
    at = end + 1;
  }
  return out + line + "\n";
}

/// Rounded against the promise, and never up to certainty. @param share  of one
std::string percent(double share) {
  const double rest = 100 * (1 - share);
  if (rest >= 1) return rounded_up_text(100 * share, 3) + "%";
  if (rest < 1e-9) return "100% (nearly)";
  const int places = 1 - static_cast<int>(std::floor(std::log10(rest)));
  const double scale = std::pow(10.0, places);
  return fmt::format("{:.{}f}%", 100 - std::floor(rest * scale * (1 - 1e-4)) / scale, places);
}

/// e^epsilon in three digits, rounded up.
std::string odds(double epsilon) {
  const double factor = std::exp(epsilon);
  if (factor < 1e6) return rounded_up_text(factor, 3);
  const double exponent = std::floor(std::log10(factor));
  return fmt::format("{:.2f}e+{:.0f}", std::ceil(factor / std::pow(10.0, exponent - 2)) / 100, exponent);
}

/// How likely a thing is held to be that was held for `prior` likely, after its odds grew by a factor
/// e^epsilon.
double after(double prior, double epsilon) { return prior / (prior + (1 - prior) * std::exp(-epsilon)); }

/// "1e-05 (1 in 100000)"; the latter rounded against the promise, and left out where it has too many digits.
std::string chance(double delta) {
  const double of = std::floor((1 + 1e-12) / delta);
  return of < 1e9 ? fmt::format("{} (1 in {:.0f})", exact_text(delta), of) : exact_text(delta);
}

std::string who(const Artifact& a) {
  const bool replace = a.adjacency == privacy::Adjacency::kReplaceOne;
  const std::uint64_t q = a.max_records_per_person;
  const std::string owned = fmt::format("{} record{}", q, q == 1 ? "" : "s");
  const bool enforced = a.schema.table && a.schema.table->person();
  return fmt::format(
             "Who is protected. Each person whose records are in the data{}. Had {}. How much less likely "
             "that would be, epsilon says. ",
             enforced ? fmt::format(" (no more than {} of anybody count)", owned)
                      : fmt::format(", as long as nobody owns more than {}: that is the promise of those "
                                    "who made it",
                                    owned),
             replace
                 ? (enforced ? "that person's records been any others, whatever they say, and under any name "
                               "that nobody else has, the release could look just the same"
                             : "that person's records been any others, whatever they say and whosever they "
                               "are, the release could look just the same")
                 : "that person's records not been there, the release could look just the same") +
         (replace ? "How many records there are is public. "
                  : "How many records there are is hidden in the same way. ") +
         "This holds against everybody who sees the release, or models and synthetic records made from it, "
         "whatever else they know. It does not hold against those who made the release: what each of them "
         "saw is below, under \"Who is trusted with what\". What holds of many people can be learnt, and "
         "may be true of each of them: that is what the release is for.";
}

/// The best that anybody can do with a release of (epsilon, delta) is to be told everything with probability
/// delta, and otherwise one answer whose odds are e^epsilon (Kairouz, Oh & Viswanath, ICML 2015). Of two
/// equally likely answers a guess is right with probability Phi(mu / 2) (Dong, Roth & Su, JRSS B 2022).
std::string what_epsilon_says(const Artifact& a) {
  const privacy::Guarantee promise = promise_of(a).value();
  const double epsilon = promise.epsilon, mu = divide_up(1.0, promise.noise_multiplier);
  const double right = std::exp(privacy::log_normal_cdf(mu / 2)) * (1 + 1e-12);
  const std::string factor = odds(epsilon);
  return fmt::format(
      "What epsilon says. Somebody wants to know something about one person, and holds it for as likely as "
      "not: odds of 1 to 1. But for a chance of {}, delta, that more becomes known, the release moves these "
      "odds by a factor of at most {}, e to the power epsilon: to {} to 1, or {} instead of 50%. Who begins "
      "at 1% ends at {} at most. Most of the time it is less: with the release, nobody who guesses between "
      "two equally likely answers is right more often than in {} of all cases. Without it that is 50%.",
      chance(a.noise.delta), factor, factor, percent(after(0.5, epsilon)), percent(after(0.01, epsilon)),
      percent(right));
}

std::string epsilon_of(double mu, double delta) {
  const auto epsilon = privacy::epsilon_to_tell(mu, delta);
  return fmt::format("epsilon {} at delta {}", epsilon ? rounded_up_text(*epsilon, 4) : "above 100",
                     exact_text(delta));
}

/// By the ledger, which has this release's charge already.
std::string spent_in_all(const Artifact& a, const privacy::LedgerState& ledger) {
  const std::size_t others = ledger.charges.size() - 1;
  const double delta = ledger.budget ? ledger.budget->delta : a.noise.delta;
  std::string out =
      others == 0 && ledger.repairs == 0
          ? fmt::format("The ledger of data set '{}' has no other charge.", printable(ledger.data_id))
          : fmt::format(
                "All that the ledger of data set '{}' had when this was written, this release and {} "
                "other charge{}, comes to {}.",
                printable(ledger.data_id), others, others == 1 ? "" : "s",
                epsilon_of(ledger.spent_mu(), delta));
  if (ledger.insecure > 0)
    out += " Seeded test noise (or none) is among it: all of it together promises nothing.";
  if (ledger.budget) out += fmt::format(" The budget is {}.", epsilon_of(ledger.budget->mu, delta));
  return out + " Later releases of the same people's records add to it: `muffle ledger show` has the sum.";
}

std::string what_was_spent(const Artifact& a, const privacy::LedgerState* ledger) {
  std::string out = fmt::format(
      "What was spent. Epsilon {} at delta {}{}. Nothing that is made from the release adds to it. ",
      exact_text(promise_of(a).value().epsilon), exact_text(a.noise.delta),
      a.rounds() > 1 ? fmt::format(", for all {} rounds together", a.rounds()) : "");
  if (ledger != nullptr && ledger->find_charge(a.ledger_charge) != nullptr)
    return out + spent_in_all(a, *ledger);
  out += "Other releases of the same people's records do";
  if (a.round) return out + ": each site's own ledger has the sum for its records (`muffle ledger show`).";
  if (a.data_id.empty()) return out + ".";
  return out + fmt::format(": the ledger of data set '{}' has the sum (`muffle ledger show`).",
                           printable(a.data_id));
}

}  // namespace

std::string statement_opening(const Artifact& a, const std::vector<std::string>& remember,
                              const privacy::LedgerState* ledger) {
  std::string out = a.is_private
                        ? in_lines(who(a)) + "\n" + in_lines(what_epsilon_says(a)) + "\n" +
                              in_lines(what_was_spent(a, ledger))
                        : in_lines(std::string(not_private(a)) +
                                   " It carries no guarantee at all, whatever epsilon was configured.");
  out += "\nWhat to remember:\n";
  for (const std::string& item : remember) out += in_lines(item, "  - ", "    ");
  return out;
}

}  // namespace muffle::release
