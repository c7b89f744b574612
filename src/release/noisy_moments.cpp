#include "muffle/release/noisy_moments.hpp"

namespace muffle::release {

double NoisyMoments::trace(std::size_t c) const {
  double sum = 0.0;
  for (std::size_t i = 0; i < order; ++i) sum += of_class(c)[i * order + i];
  return sum;
}

NoisyMoments make_noisy_moments(const Artifact& a) {
  const std::size_t b = require_second_moments(a, "a closed-form generator");
  check_map(a, b);
  NoisyMoments out;
  out.classes = a.classes();
  out.moments = *a.maps[b].map->second_moments();
  out.order = out.moments.order();
  out.records = records_of(a);
  const std::size_t q = out.order, features = a.features(b);
  const double scale = a.maps[b].map->scale(a.lattice);
  out.noise_diagonal = carried_sigma(a, b, 0) / scale;
  out.noise_off_diagonal = q > 1 ? carried_sigma(a, b, 1) / scale : 0.0;
  out.second.resize(out.classes * q * q);
  for (std::size_t c = 0; c < out.classes; ++c) {
    const std::int64_t* const values = a.values.data() + a.offset(b) + c * features;
    double* const second = out.second.data() + c * q * q;
    for (std::size_t i = 0; i < q; ++i) {
      for (std::size_t j = 0; j < q; ++j)
        second[i * q + j] = static_cast<double>(values[features::SecondMoments::index(q, i, j)]) / scale;
    }
  }
  return out;
}

}  // namespace muffle::release
