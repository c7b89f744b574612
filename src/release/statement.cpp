#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "artifact_header.hpp"
#include "muffle/core/round_up.hpp"
#include "muffle/core/text.hpp"
#include "muffle/privacy/accountant.hpp"
#include "muffle/privacy/distributed_noise.hpp"
#include "muffle/privacy/site_noise.hpp"
#include "muffle/release/aggregation_json.hpp"
#include "muffle/release/plan_json.hpp"
#include "statement_opening.hpp"

namespace muffle::release {
namespace {

using nlohmann::json;

bool replace_one(const Artifact& a) { return a.adjacency == privacy::Adjacency::kReplaceOne; }

privacy::Guarantee promise(const Artifact& a) { return promise_of(a).value(); }

std::string unit_of_privacy(const Artifact& a) {
  return fmt::format("one person, who owns at most {} record{}", a.max_records_per_person,
                     a.max_records_per_person == 1 ? "" : "s");
}

std::string meaning_of_adjacency(const Artifact& a) {
  // A record that ends the release is told of by its absence.
  const bool clamps = a.schema.on_error == schema::OnError::kClamp;
  // A file of text that breaks the format's own rules ends the job whatever on_error says.
  const char* const which = !clamps ? " that fit the schema"
                            : a.schema.table
                                ? " (whatever values they hold, in files that follow their format)"
                                : " (whatever they hold)";
  return replace_one(a) ? fmt::format(
                              "the data with one person's records replaced by any others{}; the number of "
                              "records is public",
                              which)
                        : fmt::format(
                              "the data with any records{} of one person added or removed; the number of "
                              "records is private",
                              which);
}

/// None where ranks added no shares.
std::optional<privacy::DistributedNoisePlan> shares(const Artifact& a) {
  const privacy::DistributedNoise* mode = privacy::distributed(a.aggregation);
  if (mode == nullptr) return std::nullopt;
  return privacy::plan_distributed_noise(a.noise, mode->ranks, mode->colluding);
}

/// "s = 125176246 (1 is 16777216)" for each size of noise that is drawn.
std::string drawn_text(const Artifact& a, const std::vector<privacy::NoisePart>& parts) {
  std::string text;
  for (std::size_t p = 0; p < parts.size(); ++p) {
    text += fmt::format("{}{}: ", p > 0 ? "; " : "", p < a.maps.size() ? a.maps[p].name : "counts");
    for (std::size_t r = 0; r < parts[p].runs.size(); ++r) {
      const privacy::NoiseRun& run = parts[p].runs[r];
      text += fmt::format("{}{} where 1 is {:.12g}", r > 0 ? ", " : "", run.sigma_lattice, run.unit);
    }
  }
  return text;
}

/// "3 key holders", or where others were missing in other rounds "3, 4, 3 key holders, round by round".
std::string openers_text(const Artifact& a, const privacy::Apart& mode) {
  std::vector<int> opened;
  for (std::size_t round = 1; round <= a.rounds(); ++round) opened.push_back(mode.opened(round));
  if (std::ranges::count(opened, opened.front()) == std::ssize(opened))
    return fmt::format("{} key holders", opened.front());
  return fmt::format("{} key holders, round by round", fmt::join(opened, ", "));
}

/// Of a key holder, by its place: empty, or that it was missing, and when.
std::string missing_text(const Artifact& a, std::size_t holder) {
  std::vector<std::size_t> rounds;
  for (std::size_t r = 0; r < a.rounds_before.size(); ++r) {
    if (a.rounds_before[r].holders.at(holder).opening.empty()) rounds.push_back(r + 1);
  }
  if (a.round->holders.at(holder).opening.empty()) rounds.push_back(a.rounds_before.size() + 1);
  if (rounds.empty()) return "";
  if (a.rounds_before.empty()) return " (missing: others stood in)";
  return fmt::format(" (missing in round{} {}: others stood in)", rounds.size() > 1 ? "s" : "",
                     fmt::join(rounds, ", "));
}

std::string mechanism(const Artifact& a) {
  if (const privacy::Combined* several = privacy::combined(a.aggregation))
    return fmt::format(
        "{} releases by one plan, each of other sites' records, were added up, which is post-processing of "
        "all of them. Each is the Gaussian mechanism on integer sums of feature vectors whose norms were "
        "checked in "
        "lattice units, with noise whose sigma is at least: {} (docs/explanation/between-institutions.md), "
        "so the tight analytic bound holds of each (Balle & Wang, ICML 2018, Theorem 8). {}",
        several->parts.size(), drawn_text(a, a.noise.parts),
        several->same_people
            ? "A person may be in all of them: the squares of their mu add up (Dong, Roth & Su, JRSS B 2022, "
              "Corollary 3.3)."
            : "Nobody is in two of them, by the word of those who combined them: so one person's records are "
              "in one release alone, and its promise is that of the whole.");
  std::string text =
      "Gaussian mechanism on the sums of the feature vectors, each released once. Every feature vector is "
      "held in integers, in lattice units, and its norm is checked in them. ";
  if (const privacy::Apart* round = privacy::apart(a.aggregation)) {
    const privacy::SiteNoisePlan plan(a.noise, round->parties);
    text += fmt::format(
        "To its integer sums each of the {} sites added its own round(N(0, s^2)), drawn exactly (Karney, ACM "
        "TOMS 42(1), 2016), with s in lattice units: {}; and each of {}, when it opened the "
        "total, round(N(0, h^2)), with h: {}. The shares of the honest together have a sigma of at least: "
        "{}. Their sum is, but for a factor on probabilities that differs from 1 by less than 1e-30, "
        "post-processing of the ideal Gaussian mechanism (docs/explanation/between-institutions.md, theorem "
        "3), so the tight analytic bound holds (Balle & Wang, ICML 2018, Theorem 8).",
        round->sealed, drawn_text(a, plan.shares()), openers_text(a, *round),
        drawn_text(a, plan.top_ups(round->sealed)), drawn_text(a, a.noise.parts));
  } else if (const auto plan = shares(a)) {
    text += fmt::format(
        "To every integer sum each of the {} ranks added its own round(N(0, s^2)), drawn exactly (Karney, "
        "ACM TOMS 42(1), 2016), with s in lattice units: {}. The shares of any {} ranks together have a "
        "sigma of at least: {}. Their sum is, but for a factor on probabilities that differs from 1 by less "
        "than 1e-30, post-processing of the ideal Gaussian mechanism (Kairouz, Liu & Steinke, ICML 2021; "
        "docs/explanation/secure-aggregation.md, theorem 2), so the tight analytic bound holds (Balle & "
        "Wang, ICML 2018, Theorem 8).",
        plan->ranks, drawn_text(a, plan->shares), plan->ranks - plan->colluding,
        drawn_text(a, a.noise.parts));
  } else {
    text += fmt::format(
        "To every integer sum, round(N(0, s^2)) was added, drawn exactly (Karney, ACM TOMS 42(1), 2016), "
        "with s in lattice units: {}. An integer plus a rounded Gaussian is the rounded sum, that is, "
        "post-processing of the ideal Gaussian mechanism, so the tight analytic bound holds (Balle & Wang, "
        "ICML 2018, Theorem 8).",
        drawn_text(a, a.noise.parts));
  }
  if (a.rounds() > 1) {
    text += fmt::format(
        " The numbers were released in {} rounds. What a later round sums follows from the noisy "
        "numbers before it; its bound was fixed beforehand, so the rounds' squares of mu add up to that of "
        "the whole, as if all had been released at once (Dong, Roth & Su, JRSS B 2022, Corollary 3.3; "
        "docs/math.md, "
        "\"rounds\").",
        a.rounds());
  }
  return text;
}

/// Who holds records.
const char* whose(const Artifact& a) { return a.round || !a.parts.empty() ? "site" : "rank"; }

std::vector<std::string> public_facts(const Artifact& a) {
  std::vector<std::string> facts = {
      "the record's shape, the bounds of its numbers and the number of classes",
      "the feature maps: kinds, weights, length-scales, seeds and numbers of features",
      a.round
          ? "the round's messages but for what masks cover: who was invited, who took part, who opened, when"
      : a.parts.empty() ? "which config made the release, and the number of ranks"
                        : "which releases were combined, and whose they are"};
  for (const features::NamedMap& map : a.maps) {
    if (const features::Asset* asset = std::as_const(*map.map).asset())
      facts.push_back(
          fmt::format("the file that the map \"{}\" is made by, and all that it was made of: SHA-256 {}, {} "
                      "bytes, licence {}",
                      map.name, asset->digest, asset->bytes, asset->license));
  }
  if (a.schema.table)
    facts.emplace_back(
        "the schema of the table: its columns' names, types, bounds, bins, categories, roles and rules");
  if (!a.schema.class_names.empty()) facts.emplace_back("the classes' names");
  if (replace_one(a)) {
    facts.push_back(
        fmt::format("the number of records ({}) and how many of them each {} holds", a.records, whose(a)));
  }
  return facts;
}

std::vector<std::string> trust_model(const Artifact& a) {
  std::optional<privacy::Guarantee> promised;
  if (a.is_private) promised = {a.noise.epsilon, a.noise.delta, a.noise.noise_multiplier};
  std::vector<std::string> out{fmt::format("Each {} sees its own records in the clear.", whose(a))};
  if (const auto person = a.schema.table ? a.schema.table->person() : std::nullopt)
    out.push_back(fmt::format(
        "Of each person, whom the column '{1}' names, no more records count than one person may own: each "
        "{0} "
        "sees to it within the files that it reads, so the sums may hold fewer records than there are.",
        whose(a), printable(a.schema.table->columns[*person].name)));
  out.push_back(
      privacy::is_masked(a.aggregation) || !a.parts.empty()
          ? privacy::describe(a.aggregation, promised)
          : "The coordinator (rank 0) sees the exact sums before it adds the noise, and ranks on the way of "
            "the reduction see partial sums: they are trusted. Nobody else sees anything but the noisy "
            "sums.");
  out.emplace_back(
      a.is_private ? "The noise came from the operating system's random number generator and was not kept."
                   : "The noise came from a seed and can be recomputed by whoever knows or guesses it.");
  out.emplace_back(
      "Everything made from this release (models, synthetic records) costs no further privacy, unless "
      "choices are made by looking at the private data again, such as picking a run by its score on them.");
  return out;
}

std::vector<std::string> warnings(const Artifact& a) {
  std::vector<std::string> out;
  if (!a.is_private) out.emplace_back(not_private(a));
  if (replace_one(a) && a.noise.delta * static_cast<double>(a.records) >= 1) {
    out.push_back(
        fmt::format("delta {} is not below 1 / {} records: a release of one random record in the clear would "
                    "satisfy such a delta. Use a smaller one.",
                    exact_text(a.noise.delta), a.records));
  }
  if (std::string few = few_records(a); !few.empty()) out.push_back("Data: " + few);
  if (const double epsilon = promise(a).epsilon; epsilon > 10) {
    out.push_back(fmt::format(
        "epsilon {} is a weak promise: an attacker's odds about one person may change by a factor e^{}.",
        exact_text(epsilon), exact_text(epsilon)));
  }
  if (const privacy::Combined* several = privacy::combined(a.aggregation); several && !several->same_people)
    out.emplace_back(
        "The promise supposes that nobody's records are in two of the combined releases. Nobody can tell "
        "that from "
        "them: for whoever is in each of them the squares of mu add up.");
  out.emplace_back(
      "The promise is for this release alone. Further releases from the same people's data weaken it: the "
      "data set's ledger adds them up.");
  out.emplace_back("What is called public must not have been chosen by looking at the private data.");
  return out;
}

/// Of a release that institutions made together: who, and both sizes of the noise, run by run.
json round_json(const Artifact& a) {
  const privacy::Apart& mode = *privacy::apart(a.aggregation);
  json out = aggregation_json(a.aggregation);
  out["round"] = a.round->id;
  for (const RoundRecord& before : a.rounds_before) out["rounds_before"].push_back(before.id);
  for (const RoundRecord::Site& site : a.round->sites) {
    out["sites"].push_back(site.name);
    out["charges"].push_back({{"site", site.name}, {"data_id", site.data_id}, {"charge", site.charge}});
  }
  for (const RoundRecord::Holder& holder : a.round->holders) out["key_holders"].push_back(holder.name);
  const privacy::SiteNoisePlan plan(a.noise, mode.parties);
  const std::vector<privacy::NoisePart> top_ups = plan.top_ups(mode.sealed);
  for (std::size_t i = 0; i < top_ups.size(); ++i) {
    for (std::size_t r = 0; r < top_ups[i].runs.size(); ++r) {
      out["shares"].push_back(
          {{"share_sigma_lattice", plan.shares()[i].runs[r].sigma_lattice},
           {"top_up_sigma_lattice", top_ups[i].runs[r].sigma_lattice},
           {"honest_sigma_lattice", plan.honest_sigma(mode.sealed, i, r)},
           {"total_sigma_lattice", plan.total_sigma(mode.sealed, mode.opened(a.round_of(i)), i, r)}});
    }
  }
  return out;
}

double mu_of(const Artifact& a) { return divide_up(1.0, promise(a).noise_multiplier); }

/// The whole promise, (delta, epsilon) by (delta, epsilon), without deltas at which epsilon is beyond the
/// accountant's domain.
std::vector<std::pair<double, double>> curve(const Artifact& a) {
  std::vector<std::pair<double, double>> points;
  const double mu = mu_of(a);
  for (const double delta : {1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-10, 1e-12, 1e-15, 1e-18}) {
    // At its own delta the release was calibrated: the stated epsilon holds, not rounded up both ways.
    if (const auto epsilon = privacy::epsilon_to_tell(mu, delta))
      points.emplace_back(delta, delta == a.noise.delta ? promise(a).epsilon : *epsilon);
  }
  return points;
}

}  // namespace

std::string privacy_statement_json(const Artifact& a) {
  json maps = plan_json(a).at("maps");
  for (std::size_t b = 0; b < a.maps.size(); ++b) {
    json& map = maps[b];
    map["map_sha256"] = a.map_hashes.at(b);
    map["bound"]["theorem"] = a.noise.sensitivity_input.blocks.at(b).theorem;
    map["features"] = a.features(b);
  }
  json at_deltas = json::array();
  if (a.is_private) {
    for (const auto& [delta, epsilon] : curve(a))
      at_deltas.push_back({{"delta", delta}, {"epsilon", epsilon}});
  }
  json aggregation = {{"mode", privacy::name_of(a.aggregation)}};
  if (const privacy::Combined* several = privacy::combined(a.aggregation)) {
    aggregation["releases"] = several->parts.size();
    aggregation["same_people"] = several->same_people;
    for (const PartRecord& part : a.parts) aggregation["parts"].push_back(part.sha256);
    for (std::size_t p = 0; p < a.noise.parts.size(); ++p) {
      for (std::size_t r = 0; r < a.noise.parts[p].runs.size(); ++r)
        aggregation["total_sigma_lattice"].push_back(carried_sigma(a, a.aggregation, p, r));
    }
  }
  if (!a.round && a.parts.empty()) aggregation["ranks"] = privacy::ranks_of(a.aggregation);
  const std::optional<privacy::SignedSites> sites = privacy::sites_of(a.aggregation);
  if (privacy::is_masked(a.aggregation)) aggregation["signed_keys"] = sites.has_value() || a.round;
  if (a.round) aggregation.update(round_json(a));
  if (sites) aggregation["sites"] = sites->count;
  if (const auto plan = shares(a)) {
    aggregation["colluding_ranks"] = plan->colluding;
    for (const privacy::NoisePart& part : plan->shares) {
      for (const privacy::NoiseRun& run : part.runs) {
        aggregation["shares"].push_back({{"share_sigma_lattice", run.sigma_lattice},
                                         {"honest_sigma_lattice", plan->honest_sigma(run)},
                                         {"total_sigma_lattice", plan->total_sigma(run)}});
      }
    }
  }
  // Without a guarantee there is no number that a program could mistake for one.
  const auto promised = [&](double value) { return a.is_private ? json(value) : json(nullptr); };
  const nlohmann::ordered_json statement = {
      {"format", "muffle-privacy-statement"},
      {"version", 2},
      {"muffle_version", a.muffle_version},
      {"private", a.is_private},
      {"verdict", a.is_private ? "private" : not_private(a)},
      {"unit_of_privacy", unit_of_privacy(a)},
      {"max_records_per_person", a.max_records_per_person},
      {"adjacency", to_string(a.adjacency)},
      {"neighbours", meaning_of_adjacency(a)},
      {"epsilon", promised(promise(a).epsilon)},
      {"delta", promised(a.noise.delta)},
      {"epsilon_at_delta", at_deltas},
      {"mu", promised(mu_of(a))},
      {"noise_multiplier", promise(a).noise_multiplier},
      {"sensitivity", a.noise.sensitivity.value},
      {"sensitivity_derivation", a.noise.sensitivity.derivation},
      {"plan_sha256", plan_hash(a)},
      {"maps", maps},
      {"sigma", a.noise.sigma},
      {"lattice_bits", a.lattice.bits},
      {"mechanism", mechanism(a)},
      {"aggregation", aggregation},
      {"released_values", a.values.size()},
      {"class_counts_released", a.counts},
      {"records", replace_one(a) ? json(a.records) : json(nullptr)},
      {"public", public_facts(a)},
      {"trust_model", trust_model(a)},
      {"warnings", warnings(a)},
  };
  return statement.dump(2) + "\n";
}

std::string privacy_statement_text(const Artifact& a, const privacy::LedgerState* ledger) {
  std::string out = "Privacy statement\n=================\n\n" + statement_opening(a, warnings(a), ledger) +
                    "\nThe formulas\n============\n\n";
  if (a.is_private) {
    out += fmt::format(
        "This release is ({}, {})-differentially private. Unit of privacy: {}. Neighbouring data sets: {} "
        "({} adjacency).\n",
        exact_text(promise(a).epsilon), exact_text(a.noise.delta), unit_of_privacy(a),
        meaning_of_adjacency(a), to_string(a.adjacency));
    out += "The same release at other deltas: ";
    for (const char* separator = ""; const auto& [delta, epsilon] : curve(a)) {
      out += fmt::format("{}epsilon {} at {}", separator, rounded_up_text(epsilon, 4), exact_text(delta));
      separator = ", ";
    }
    out += " (rounded up).\n";
  } else {
    out +=
        fmt::format("{}\nIt carries no guarantee at all, whatever epsilon was configured.\n", not_private(a));
  }
  const bool several = !a.parts.empty();
  if (several) out += fmt::format("\nCombined: {} releases by one plan.\n", a.parts.size());
  out += fmt::format(
      "\nNoise{}: sigma = {} = {} (noise multiplier) x {} (sensitivity). mu = {}. (Rounded: noise down, the "
      "others up.) The mu of several releases combine as the root of the sum of their squares.\n",
      several ? " of each release" : "", rounded_down_text(a.noise.sigma, 10),
      rounded_down_text(a.noise.noise_multiplier, 10), rounded_up_text(a.noise.sensitivity.value, 10),
      rounded_up_text(mu_of(a), 6));
  if (privacy::is_masked(a.aggregation)) out += "\nAggregation: " + privacy::name_of(a.aggregation) + ".\n";
  if (a.round) {
    std::vector<std::string> sites, holders;
    for (const RoundRecord::Site& site : a.round->sites) sites.push_back(site.name);
    for (std::size_t h = 0; h < a.round->holders.size(); ++h)
      holders.push_back(a.round->holders[h].name + missing_text(a, h));
    out += fmt::format("\nRound: {} (\"{}\"). Sites: {}. Key holders: {}.\n", a.round->id,
                       printable(a.round->title), fmt::join(sites, ", "), fmt::join(holders, ", "));
    if (!a.rounds_before.empty())
      out += fmt::format(
          "It was the last of {} rounds of this release, by the same sites and key holders, under one "
          "charge; the "
          "first was {}.\n",
          a.rounds_before.size() + 1, a.rounds_before.front().id);
    out += "\nCharged, each in its site's own ledger:\n";
    for (const RoundRecord::Site& site : a.round->sites)
      out += fmt::format("  - {}: data set '{}', charge {}\n", site.name, site.data_id, site.charge);
  }
  out += "\nMechanism: " + mechanism(a) + "\n\nSensitivity: " + a.noise.sensitivity.derivation + "\n";
  const auto list = [&](const char* title, const std::vector<std::string>& items) {
    out += fmt::format("\n{}\n", title);
    for (const std::string& item : items) out += "  - " + item + "\n";
  };
  list("Public, and not protected:", public_facts(a));
  list("Who is trusted with what:", trust_model(a));
  return out;
}

}  // namespace muffle::release
