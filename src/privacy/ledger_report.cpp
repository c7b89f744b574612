#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/core/float_text.hpp"
#include "muffle/core/hash.hpp"
#include "muffle/core/printable.hpp"
#include "muffle/privacy/accountant.hpp"
#include "muffle/privacy/ledger.hpp"

namespace muffle::privacy {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kDefaultDelta = 1e-5;

double delta_of(const LedgerState& state) { return state.budget ? state.budget->delta : kDefaultDelta; }

std::string mu_text(double mu, double delta) {
  const auto epsilon = epsilon_to_tell(mu, delta);
  return fmt::format("mu {:.6g}, epsilon {} at delta {}", mu,
                     epsilon ? fmt::format("{:.6g}", *epsilon) : "above 100", exact_text(delta));
}

double remaining(const LedgerState& state) {
  return quote(state, state.budget->mu, true, delta_of(state)).remaining_mu.value();
}

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

}  // namespace

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
    out += fmt::format("WARNING    {} release(s) with seeded test noise: NO guarantee is left\n",
                       state.insecure);
  if (state.repairs > 0)
    out += fmt::format("repairs    {} line(s) torn by a crash were cut off\n", state.repairs);
  if (!state.torn.empty())
    out += fmt::format("torn       {} bytes at the end; the next release mends them\n", state.torn.size());
  out += fmt::format("head       {} (line {})\n", state.head, state.lines);
  for (const ChargeRecord& c : state.charges) {
    out += fmt::format(
        "\n{}  {}  on {}\n  {}{}\n  run {}\n  {}\n", printable(c.time), c.id, printable(c.host),
        mu_text(c.terms.mu, delta), c.terms.secure_noise ? "" : ", SEEDED TEST NOISE: not private",
        printable(c.terms.run),
        c.artifact ? "artifact sha256 " + *c.artifact : "no artifact was committed; the charge stays spent");
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
    if (to_hex(sha256(line)) == head) return;
  }
  throw ProtocolError(
      fmt::format("The ledger '{}' has no line with SHA-256 {}, though its chain is whole: it was rolled "
                  "back to an older copy, or is another one. Releases may be missing from it.",
                  file, head));
}

}  // namespace muffle::privacy
