// A record's features out of a network's outputs (docs/math.md, "feature maps").
#include "muffle/features/perceptual.hpp"

#include <cmath>

namespace muffle::features {
namespace {

/// Adds a moment of one output to `out`: its numbers, or their means over places. @returns the sum of their
/// squares.
double take(const float* output, const NetworkLayer& layer, bool pooled, bool squared, double* out) {
  const auto of = [&](std::size_t i) {
    const double v = output[i];
    return squared ? v * v : v;
  };
  double squares = 0.0;
  if (!pooled) {
    for (std::size_t i = 0; i < layer.numbers(); ++i) {
      out[i] = of(i);
      squares += out[i] * out[i];
    }
    return squares;
  }
  for (std::size_t c = 0; c < layer.channels; ++c) {
    double sum = 0.0;
    for (std::size_t p = 0; p < layer.places(); ++p) sum += of(c * layer.places() + p);
    out[c] = sum / static_cast<double>(layer.places());
    squares += out[c] * out[c];
  }
  return squares;
}

}  // namespace

std::size_t PerceptualSpec::numbers() const {
  std::size_t all = 0;
  for (std::size_t l = 0; l < layers.size(); ++l) all += numbers(l);
  return all;
}

double PerceptualSpec::share(std::size_t layer) const {
  double squares = 0.0;
  for (const double w : weights) squares += w * w;
  const double own = whole ? 1.0 : weights[layer] / std::sqrt(squares);
  return own / std::sqrt(static_cast<double>(moments));
}

bool perceptual_features(const PerceptualSpec& spec, const Lattice& lattice,
                         std::span<const float* const> outputs, std::int32_t* features) {
  const auto scale = static_cast<double>(lattice.scale());
  std::vector<double> values(spec.numbers());
  std::vector<double> squares(spec.layers.size());
  for (std::uint64_t moment = 0; moment < spec.moments; ++moment) {
    double all = 0.0;
    double* out = values.data();
    for (std::size_t l = 0; l < spec.layers.size(); out += spec.numbers(l++)) {
      squares[l] = take(outputs[l], spec.layers[l], spec.pooled, moment == 1, out);
      all += squares[l];
    }
    if (!std::isfinite(all)) return false;
    const double* in = values.data();
    for (std::size_t l = 0; l < spec.layers.size(); ++l) {
      const double norm = std::sqrt(spec.whole ? all : squares[l]);
      // An output without a number but 0 stays that.
      const double factor = norm > 0.0 ? scale * spec.share(l) / norm : 0.0;
      for (std::size_t i = 0; i < spec.numbers(l); ++i) {
        const double value = factor * *in++;
        if (!std::isfinite(value)) return false;
        *features++ = static_cast<std::int32_t>(value);  // toward zero
      }
    }
  }
  return true;
}

}  // namespace muffle::features
