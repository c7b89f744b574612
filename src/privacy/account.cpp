#include "muffle/privacy/account.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "muffle/core/error.hpp"
#include "muffle/core/round_up.hpp"
#include "muffle/core/text.hpp"
#include "muffle/privacy/accountant.hpp"
#include "muffle/privacy/sensitivity.hpp"

namespace muffle::privacy {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::uint64_t kMaxReleases = 1'000'000'000;

struct WeightedBlock {
  bounds::BlockBound bound{1.0, false, {}};
  double weight = 1.0;  ///< the block is multiplied by it before the noise
};

/// Everything that the command computes.
struct Account {
  Guarantee promised;             ///< of all releases together
  double mu = 0.0;                ///< of all releases together
  double noise_multiplier = 0.0;  ///< of each release if they are alike, else of one release with this mu
  bool alike = true;
  std::vector<double> mus;  ///< as given, before they are repeated
  std::uint64_t releases = 1;
  Sensitivity sensitivity;
  double sigma = 0.0;  ///< noise multiplier x sensitivity, rounded up
};

double number_of(const std::string& text, const std::string& block) {
  std::size_t read = 0;
  double value = 0.0;
  try {
    value = std::stod(text, &read);
  } catch (const std::exception&) {
    read = 0;
  }
  if (read == 0 || read != text.size())
    throw UsageError(fmt::format("--block {}: '{}' is not a number.", block, text));
  return value;
}

const bounds::NamedBound* named_bound(const AccountRequest& c, std::string_view name) {
  const auto at = std::ranges::find(c.named_bounds, name, &bounds::NamedBound::name);
  return at == c.named_bounds.end() ? nullptr : &*at;
}

bounds::BlockBound bound_of(const bounds::NamedBound& kind, const std::string& sizes,
                            const std::string& block) {
  if (const auto bound = kind.of(sizes)) return *bound;
  throw UsageError(fmt::format("--block {}: {}={} is not {}, such as {}.", block, kind.name, sizes, kind.form,
                               kind.example));
}

/// What a block may be made of: "a, b and c".
std::string known_parts(const AccountRequest& c) {
  std::vector<std::string> parts{"norm=NUMBER", "weight=NUMBER", "kernel=signed", "kernel=nonnegative"};
  for (const bounds::NamedBound& kind : c.named_bounds)
    parts.push_back(fmt::format("{}={}", kind.name, kind.form));
  const std::string last = parts.back();
  parts.pop_back();
  return fmt::format("{} and {}", fmt::join(parts, ", "), last);
}

WeightedBlock parse_block(const AccountRequest& request, const std::string& text) {
  WeightedBlock block;
  for (std::size_t at = 0; at <= text.size();) {
    const std::size_t end = std::min(text.find(',', at), text.size());
    const std::string part = text.substr(at, end - at);
    at = end + 1;
    const std::size_t equals = part.find('=');
    const std::string key = part.substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : part.substr(equals + 1);
    if (key == "norm") {
      block.bound.norm = number_of(value, text);
    } else if (key == "weight") {
      block.weight = number_of(value, text);
    } else if (key == "kernel" && (value == "signed" || value == "nonnegative")) {
      block.bound.nonnegative_kernel = value == "nonnegative";
    } else if (const bounds::NamedBound* const kind = named_bound(request, key)) {
      block.bound = bound_of(*kind, value, text);
    } else {
      throw UsageError(fmt::format("--block {}: '{}' is none of {}.", text, part, known_parts(request)));
    }
  }
  return block;
}

SensitivityInput sensitivity_input(const AccountRequest& c, const std::vector<WeightedBlock>& blocks) {
  SensitivityInput input;
  for (const WeightedBlock& b : blocks) input.blocks.push_back(bounds::weighted(b.bound, b.weight));
  if (c.adjacency != "replace-one" && c.adjacency != "add-remove-one")
    throw UsageError("--adjacency is replace-one or add-remove-one, not '" + c.adjacency + "'.");
  input.adjacency = c.adjacency == "replace-one" ? Adjacency::kReplaceOne : Adjacency::kAddRemoveOne;
  input.counts = c.counts.has_value();
  input.counts_weight = c.counts.value_or(0.0);
  input.max_records_per_person = c.max_records_per_person;
  return input;
}

Sensitivity sensitivity_of(const AccountRequest& c, const std::vector<WeightedBlock>& blocks) {
  if (!blocks.empty()) return combined_sensitivity(sensitivity_input(c, blocks));
  if (c.counts || c.max_records_per_person != 1)
    throw UsageError(
        "--counts and --records-per-person say something about the sensitivity, which needs the blocks: give "
        "--block norm=1, say, for one random Fourier block.");
  return {1.0, "No block is given, so the sensitivity is taken as 1: sigma is in units of the sensitivity."};
}

std::vector<double> given_mus(const AccountRequest& c) {
  std::vector<double> mus;
  for (const double multiplier : c.noise_multipliers) {
    require_noise_multiplier(multiplier, "the noise multiplier");
    mus.push_back(1.0 / multiplier);
  }
  for (const double mu : c.mus) {
    require_noise_multiplier(1.0 / mu,
                             fmt::format("mu is {}, and the noise multiplier 1 / mu", exact_text(mu)));
    mus.push_back(mu);
  }
  return mus;
}

Account compute(const AccountRequest& c, const std::vector<WeightedBlock>& blocks) {
  const bool noise = !c.noise_multipliers.empty() || !c.mus.empty();
  if (c.epsilon.has_value() + c.delta.has_value() + noise != 2)
    throw UsageError(
        "give exactly two of --epsilon, --delta and the noise (--noise-multiplier or --mu): the third "
        "follows from them. Three could contradict one another, and one alone decides nothing.");
  if (c.releases < 1 || c.releases > kMaxReleases)
    throw ConfigError(fmt::format("--releases is {}, not a number from 1 to {}.", c.releases, kMaxReleases));

  Account a;
  a.releases = c.releases;
  a.sensitivity = sensitivity_of(c, blocks);
  a.mus = given_mus(c);
  // What repeating a release does to mu.
  const double repeated = sqrt_up(static_cast<double>(c.releases));
  if (!noise) {
    // The budget of all releases, divided evenly: mu_each = mu / sqrt(N).
    a.promised = complete_guarantee(c.epsilon, c.delta, std::nullopt);
    a.noise_multiplier = multiply_up(a.promised.noise_multiplier, repeated);
    require_noise_multiplier(a.noise_multiplier, "the noise multiplier of each release");
    a.mus = {1.0 / a.noise_multiplier};
    a.mu = 1.0 / a.promised.noise_multiplier;
  } else {
    a.mu = multiply_up(mu_total(a.mus), repeated);
    require_noise_multiplier(1.0 / a.mu, "the noise multiplier of all releases together");
    for (const double mu : a.mus) a.alike = a.alike && mu == a.mus.front();
    const bool as_given = a.alike && !c.noise_multipliers.empty();
    a.noise_multiplier = as_given ? c.noise_multipliers.front() : 1.0 / (a.alike ? a.mus.front() : a.mu);
    const bool one = as_given && a.mus.size() * c.releases == 1;
    a.promised = complete_guarantee(c.epsilon, c.delta, one ? a.noise_multiplier : 1.0 / a.mu);
  }
  a.sigma = multiply_up(a.noise_multiplier, a.sensitivity.value);
  return a;
}

std::string as_json(const Account& a, const AccountRequest& c, const std::vector<WeightedBlock>& blocks) {
  Json listed = Json::array();
  for (const WeightedBlock& b : blocks) {
    listed.push_back({{"norm", b.bound.norm},
                      {"kernel", b.bound.nonnegative_kernel ? "nonnegative" : "signed"},
                      {"weight", b.weight},
                      {"sigma", divide_up(a.sigma, b.weight)}});
  }
  const Json out = {{"format", "muffle-account"},
                    {"version", 1},
                    {"epsilon", a.promised.epsilon},
                    {"delta", a.promised.delta},
                    {"noise_multiplier", a.noise_multiplier},
                    {"mu", a.mu},
                    {"sensitivity", a.sensitivity.value},
                    {"sigma", a.sigma},
                    {"releases", a.releases * a.mus.size()},
                    {"release_mus", a.mus},
                    {"each_repeated", a.releases},
                    {"adjacency", c.adjacency},
                    {"max_records_per_person", c.max_records_per_person},
                    {"blocks", listed},
                    {"counts_weight", c.counts ? Json(*c.counts) : Json(nullptr)},
                    {"sensitivity_derivation", a.sensitivity.derivation}};
  return out.dump(2) + "\n";
}

std::string as_text(const Account& a, const AccountRequest& c, const std::vector<WeightedBlock>& blocks) {
  const std::uint64_t count = a.releases * a.mus.size();
  std::string out;
  const auto line = [&out](const char* name, const std::string& value) {
    out += fmt::format("{:<18} {}\n", name, value);
  };
  line("epsilon", exact_text(a.promised.epsilon));
  line("delta", exact_text(a.promised.delta));
  line("noise multiplier",
       exact_text(a.noise_multiplier) + (count == 1 ? ""
                                         : a.alike  ? " in each release"
                                                    : " of one release that would cost as much as all"));
  line("releases", std::to_string(count));
  line("mu", exact_text(a.mu) + (count > 1 ? " of all releases together" : ""));
  line("adjacency", c.adjacency);
  line("sensitivity", exact_text(a.sensitivity.value));
  line("sigma", exact_text(a.sigma));
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    if (blocks[b].weight != 1.0)
      line(fmt::format("sigma of block {}", b + 1).c_str(),
           fmt::format("{} in its own units, before its weight {}",
                       exact_text(divide_up(a.sigma, blocks[b].weight)), exact_text(blocks[b].weight)));
  }
  if (c.counts)
    line("sigma of a count", fmt::format("{} records", exact_text(divide_up(a.sigma, *c.counts))));
  return out + "\n" + a.sensitivity.derivation +
         "\nSigma is that of Gaussian noise on the sums. Guarantee: Balle & Wang (ICML 2018), Theorem 8; "
         "releases compose to the root of the sum of mu^2 (Dong, Roth & Su 2022).\n";
}

}  // namespace

std::string account(const AccountRequest& request) {
  std::vector<WeightedBlock> blocks;
  for (const std::string& text : request.blocks) blocks.push_back(parse_block(request, text));
  const Account a = compute(request, blocks);
  return request.format == "json" ? as_json(a, request, blocks) : as_text(a, request, blocks);
}

}  // namespace muffle::privacy
