#include "muffle/features/lift.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "lift_settings.hpp"
#include "muffle/core/kinds.hpp"

namespace muffle::features {

#define MUFFLE_KIND(kind) LiftKind kind##_lift();
#include "lift_kinds.inc"

std::span<const LiftKind> lift_kinds() {
  static const std::vector<LiftKind> table{
#define MUFFLE_KIND(kind) kind##_lift(),
#include "lift_kinds.inc"
  };
  return table;
}

std::unique_ptr<Lift> make_lift(std::string_view kind) {
  return find_kind(lift_kinds(), kind, "lift").make();
}

std::string affine_lifts() {
  return names_where(lift_kinds(), [](const LiftKind& kind) { return kind.make()->affine() != nullptr; });
}

namespace {

bool is_among(LiftsOf which, const Lift& lift) { return which == LiftsOf::kAll || lift.affine() != nullptr; }

}  // namespace

void declare_lift(settings::Keys& keys, LiftsOf which, std::string help, std::string& name,
                  std::unique_ptr<Lift>& lift) {
  // The lift's own keys are there once it is known: `lift` stands before them.
  std::vector<std::string> known{kLiftLeftOpen};
  for (const LiftKind& kind : lift_kinds()) {
    if (is_among(which, *kind.make())) known.emplace_back(kind.name);
  }
  keys.word(
      "lift", known, std::move(help),
      [&](const std::string& chosen) {
        name = chosen;
        lift = chosen == kLiftLeftOpen ? nullptr : make_lift(chosen);
      },
      [&] { return name; });
}

void tell_lift_keys(LiftsOf which,
                    const std::function<void(const std::string&, const std::vector<settings::Key>&)>& tell) {
  for (const LiftKind& kind : lift_kinds()) {
    const std::unique_ptr<Lift> lift = kind.make();
    if (!is_among(which, *lift)) continue;
    settings::Keys keys("map.NAME", settings::Stage::kRelease);
    lift->declare(keys);
    tell(fmt::format("lift = \"{}\": {}", kind.name, kind.summary), keys.take());
  }
}

std::unique_ptr<Lift> read_lift(const JsonFields& fields) {
  std::unique_ptr<Lift> lift;
  try {
    lift = make_lift(fields.text("lift", 64));
  } catch (const ConfigError& e) {
    fields.fail("lift", e.what());
  }
  lift->read_json(fields.object("lift_settings"));
  return lift;
}

std::unique_ptr<Lift> natural_lift(LiftsOf which, const schema::Schema& schema) {
  for (const LiftKind& kind : lift_kinds()) {
    std::unique_ptr<Lift> lift = kind.make();
    if (is_among(which, *lift) && lift->is_natural_for(schema)) return lift;
  }
  return nullptr;
}

double law_over_frequencies(std::size_t height, std::size_t width, double exponent) {
  constexpr std::size_t kFar = 256;
  double sum = 0;
  for (std::size_t a = 0; a < std::min(height, kFar); ++a) {
    for (std::size_t b = 0; b < std::min(width, kFar); ++b)
      sum += std::pow(1 + std::hypot(static_cast<double>(a), static_cast<double>(b)), -exponent);
  }
  return sum;
}

double AffineLift::energy() const {
  const double all = rows.empty()
                         ? static_cast<double>(origin.size())
                         : static_cast<double>(channels) * law_over_frequencies(height, width, kExponent);
  double kept = 0;
  for (std::size_t i = 0; i < weights.size(); ++i)
    kept += weights[i] * weights[i] * std::pow(pitch[i], -kExponent);
  return kMeanSquare * static_cast<double>(origin.size()) / all * kept;
}

void AffineLift::back(const double* u, double* x) const {
  std::copy(origin.begin(), origin.end(), x);
  if (rows.empty()) {
    for (std::size_t i = 0; i < origin.size(); ++i) x[i] += u[i] / weights[i];
    return;
  }
  const std::size_t k = side;
  std::vector<double> half(k);
  for (std::size_t c = 0; c < channels; ++c) {
    const std::size_t first = c * k * k;
    for (std::size_t r = 0; r < height; ++r) {
      std::fill(half.begin(), half.end(), 0.0);
      for (std::size_t a = 0; a < k; ++a) {
        for (std::size_t b = 0; b < k; ++b)
          half[b] += rows[a * height + r] * (u[first + a * k + b] / weights[first + a * k + b]);
      }
      double* const row = x + (c * height + r) * width;
      for (std::size_t b = 0; b < k; ++b) {
        for (std::size_t s = 0; s < width; ++s) row[s] += half[b] * columns[b * width + s];
      }
    }
  }
}

}  // namespace muffle::features
