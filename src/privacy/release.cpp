#include "muffle/privacy/release.hpp"

#include <fmt/format.h>

#include <cmath>

#include "muffle/core/error.hpp"
#include "muffle/core/round_up.hpp"
#include "muffle/core/text.hpp"
#include "muffle/privacy/accountant.hpp"

namespace muffle::privacy {
namespace {

constexpr const char* kOneFile = "one-file";

void check(const PrivacySpec& spec) {
  settings::Problems problems;
  problems.unless(!spec.epsilon || !spec.noise_multiplier,
                  "both epsilon and a noise multiplier are given, and they could contradict one another: "
                  "keep one of them");
  problems.unless(spec.epsilon || spec.noise_multiplier,
                  "neither epsilon nor a noise multiplier is given: set one of them, such as epsilon = 1");
  if (spec.epsilon) problems.unless_in({kMinEpsilon, kMaxEpsilon}, "epsilon", *spec.epsilon);
  if (spec.noise_multiplier) {
    problems.unless_in({kMinNoiseMultiplier, kMaxNoiseMultiplier}, "the noise multiplier",
                       *spec.noise_multiplier);
  }
  const settings::Range deltas{kMinDelta, kMaxDelta};
  problems.unless(deltas.has(spec.delta),
                  fmt::format("delta is {}, not {} (well below 1 / the number of records)",
                              exact_text(spec.delta), deltas.text()));
  problems.unless(spec.max_records_per_person > 0,
                  "max_records_per_person is missing or 0: say how many records one person can own at most; "
                  "write 1 if each person has one");
  problems.unless(spec.records_of_a_person() <= kMaxRecordsPerPerson,
                  fmt::format("max_records_per_person x person_spans is above {}", kMaxRecordsPerPerson));
  problems.throw_if_any("the privacy settings are wrong", settings::Problems::kNotReleased);
}

}  // namespace

void PrivacySpec::declare(settings::Keys& keys) {
  keys.stage(settings::Stage::kRelease);
  keys.optional_number("epsilon", epsilon, "with delta: the guarantee; or give noise_multiplier");
  keys.number("delta", delta, {kMinDelta, kMaxDelta}, "delta");
  keys.optional_number("noise_multiplier", noise_multiplier, "sigma / sensitivity, instead of epsilon");
  keys.choice("adjacency", adjacency,
              {{"replace-one", Adjacency::kReplaceOne}, {"add-remove-one", Adjacency::kAddRemoveOne}},
              "what a neighbouring data set is");
  keys.count(
      "max_records_per_person", max_records_per_person, 0, kMaxRecordsPerPerson,
      "q, required: how many records one person can own; with a column of role person, of each the first "
      "q within a rank's files count");
  keys.count(
      "rounds", rounds, 0, static_cast<std::int64_t>(kMostRoundsOfCounts),
      "of counts of tables: rounds that share one charge; later ones count what the noisy numbers before "
      "them suggest; 0: as many as pay; learned bins take two at least");
  keys.add({.name = "person_spans",
            .stage = settings::Stage::kRelease,
            .help =
                "with a file a rank and a column of role person: \"one-file\", a promise that nobody is in "
                "several, or how many files one person can be in, which multiplies the bound",
            .set =
                [this](const settings::Value& v) {
                  using Kind = settings::Value::Kind;
                  constexpr std::int64_t kMost = kMaxRecordsPerPerson;
                  if (v.kind == Kind::kString && (v.text.empty() || v.text == kOneFile)) {
                    person_spans = v.text.empty() ? 0 : 1;
                  } else if (v.kind == Kind::kInteger && v.integer >= 1 && v.integer <= kMost) {
                    person_spans = static_cast<std::uint64_t>(v.integer);
                  } else {
                    return settings::wanted("\"one-file\" or a number of files", v);
                  }
                  return std::string();
                },
            .get =
                [this] {
                  if (person_spans > 1) return std::to_string(person_spans);
                  return settings::toml_string(person_spans == 1 ? kOneFile : "");
                }});
}

std::uint64_t length_of(const std::vector<NoisePart>& parts) {
  std::uint64_t length = 0;
  for (const NoisePart& part : parts) {
    for (const NoiseRun& run : part.runs) length += run.count * part.repeat;
  }
  return length;
}

void for_each_run(const std::vector<NoisePart>& parts,
                  const std::function<void(std::uint64_t first, const NoiseRun& run)>& action) {
  std::uint64_t first = 0;
  for (const NoisePart& part : parts) {
    for (std::uint64_t i = 0; i < part.repeat; ++i) {
      for (const NoiseRun& run : part.runs) {
        action(first, run);
        first += run.count;
      }
    }
  }
}

// The ceiling is exact.
double lattice_sigma(double sigma, double unit) { return std::ceil(multiply_up(sigma, unit)); }

std::vector<NoisePart> drawn_parts(double sigma, const std::vector<bounds::CoordinatePart>& coordinates) {
  std::vector<NoisePart> parts;
  for (const bounds::CoordinatePart& part : coordinates) {
    parts.push_back({{}, part.repeat});
    for (const bounds::CoordinateRun& run : part.runs) {
      const double drawn = lattice_sigma(sigma, run.unit);
      if (!(drawn >= 1 && drawn <= static_cast<double>(kMaxSigmaLattice))) {
        throw ConfigError(
            fmt::format("sigma = {:.6g} is outside what the noise sampler draws in units of 1/{:.6g}: use a "
                        "larger epsilon, fewer records per person or fewer bits",
                        sigma, run.unit));
      }
      parts.back().runs.push_back({run.count, run.unit, static_cast<std::uint64_t>(drawn)});
    }
  }
  return parts;
}

NoisePlan plan_noise(const PrivacySpec& spec, const SensitivityInput& sensitivity,
                     const std::vector<bounds::CoordinatePart>& coordinates) {
  check(spec);
  require(sensitivity.adjacency == spec.adjacency &&
              sensitivity.max_records_per_person == spec.records_of_a_person(),
          "the sensitivity was to be derived for another adjacency or another number of records per person "
          "than the privacy settings have: this is a bug in muffle.");
  NoisePlan plan;
  plan.delta = spec.delta;
  plan.sensitivity_input = sensitivity;
  plan.sensitivity = combined_sensitivity(sensitivity);
  const Guarantee promised = complete_guarantee(spec.epsilon, spec.delta, spec.noise_multiplier);
  plan.epsilon = promised.epsilon;
  plan.noise_multiplier = promised.noise_multiplier;
  settings::Problems problems;
  problems.unless(plan.epsilon >= kMinEpsilon,
                  fmt::format("a noise multiplier of {} means epsilon {:.3g} at delta {}, below the {} that "
                              "muffle accounts for: nothing of the data would be left; use a smaller one",
                              exact_text(plan.noise_multiplier), plan.epsilon, exact_text(plan.delta),
                              exact_text(kMinEpsilon)));
  plan.sigma = multiply_up(plan.noise_multiplier, plan.sensitivity.value);
  problems.check("", [&] { plan.parts = drawn_parts(plan.sigma, coordinates); });
  problems.throw_if_any("the noise cannot be planned", settings::Problems::kNotReleased);
  return plan;
}

std::vector<std::int64_t> draw_noise(const std::vector<NoisePart>& parts, EntropySource& entropy,
                                     const Heartbeat& heartbeat) {
  Wiped<std::int64_t> noise{std::vector<std::int64_t>(length_of(parts))};
  if (entropy.is_silent()) {
    require(!entropy.is_secure(), "a source without noise calls itself secure: this is a bug in muffle.");
    return std::move(noise.values);
  }
  RoundedGaussian gaussian(entropy);
  for_each_run(parts, [&](std::uint64_t first, const NoiseRun& run) {
    for (std::uint64_t i = first; i < first + run.count; ++i) {
      if (heartbeat && i % kDrawsBetweenSigns == 0) heartbeat();
      noise.values[i] = gaussian.draw(run.sigma_lattice);
    }
  });
  return std::move(noise.values);
}

NoiseVector::NoiseVector(const std::vector<NoisePart>& parts, EntropySource& entropy,
                         const Heartbeat& heartbeat)
    : secure_(entropy.is_secure()) {
  require(length_of(parts) > 0, "noise was asked for a release of no numbers: this is a bug in muffle.");
  noise_.values = draw_noise(parts, entropy, heartbeat);
}

NoisySum NoiseVector::publish(RawSum&& raw) && {
  std::vector<std::int64_t>& noise = noise_.values;
  std::vector<std::uint64_t>& sums = raw.sums_.values;
  require(!noise.empty(), "this noise was already spent on a release, and noise is never used twice.");
  // Lengths are public; the sums are not.
  require(sums.size() == noise.size(),
          fmt::format("the reduced sum has {} numbers, but noise was drawn for {}: nothing was released. "
                      "This is a bug in muffle.",
                      sums.size(), noise.size()));
  NoisySum out;
  out.is_private = secure_;
  out.values.resize(noise.size());
  for (std::size_t i = 0; i < noise.size(); ++i)
    out.values[i] = static_cast<std::int64_t>(sums[i] + static_cast<std::uint64_t>(noise[i]));
  wipe(sums);
  sums.clear();
  wipe(noise);
  noise.clear();  // spent
  return out;
}

}  // namespace muffle::privacy
