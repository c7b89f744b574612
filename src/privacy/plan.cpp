#include <fmt/format.h>

#include <cmath>

#include "muffle/core/float_text.hpp"
#include "muffle/core/round_up.hpp"
#include "muffle/privacy/accountant.hpp"
#include "muffle/privacy/release.hpp"
#include "problems.hpp"

namespace muffle::privacy {
namespace {

void check(const PrivacySpec& spec) {
  Problems problems;
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
  problems.throw_if_any("the privacy settings are wrong");
}

}  // namespace

// The ceiling is exact.
double lattice_sigma(double sigma, double unit) { return std::ceil(multiply_up(sigma, unit)); }

std::vector<NoisePart> drawn_parts(double sigma, const std::vector<features::CoordinatePart>& coordinates) {
  std::vector<NoisePart> parts;
  for (const features::CoordinatePart& part : coordinates) {
    parts.push_back({{}, part.repeat});
    for (const features::CoordinateRun& run : part.runs) {
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
                     const std::vector<features::CoordinatePart>& coordinates) {
  check(spec);
  require(sensitivity.adjacency == spec.adjacency &&
              sensitivity.max_records_per_person == spec.max_records_per_person,
          "the sensitivity was to be derived for another adjacency or another number of records per person "
          "than the privacy settings have: this is a bug in muffle.");
  NoisePlan plan;
  plan.delta = spec.delta;
  plan.sensitivity_input = sensitivity;
  plan.sensitivity = combined_sensitivity(sensitivity);
  if (spec.epsilon) {
    plan.epsilon = *spec.epsilon;
    plan.noise_multiplier = noise_multiplier_for(plan.epsilon, plan.delta);
  } else {
    plan.noise_multiplier = *spec.noise_multiplier;
    plan.epsilon = epsilon_for(plan.delta, 1.0 / plan.noise_multiplier);
  }
  Problems problems;
  problems.unless(plan.epsilon >= kMinEpsilon,
                  fmt::format("a noise multiplier of {} means epsilon {:.3g} at delta {}, below the {} that "
                              "muffle accounts for: nothing of the data would be left; use a smaller one",
                              exact_text(plan.noise_multiplier), plan.epsilon, exact_text(plan.delta),
                              exact_text(kMinEpsilon)));
  plan.sigma = multiply_up(plan.noise_multiplier, plan.sensitivity.value);
  problems.check("", [&] { plan.parts = drawn_parts(plan.sigma, coordinates); });
  problems.throw_if_any("the noise cannot be planned");
  return plan;
}

}  // namespace muffle::privacy
