#include "muffle/release/noisy_moments.hpp"

namespace muffle::release {

double NoisyMoments::trace(std::size_t c) const {
  double sum = 0.0;
  for (std::size_t i = 0; i < order; ++i) sum += of_class(c)[i * order + i];
  return sum;
}

NoisyMoments make_noisy_moments(const Artifact& a) {
  const std::size_t block = require_block(a, "moments", "a closed-form generator");
  check_map(a, block);
  NoisyMoments out;
  out.classes = a.classes();
  out.spec = *a.blocks[block].spec.moments();
  out.order = features::moments_order(out.spec);
  out.records = records_of(a);
  const std::size_t q = out.order, features = a.features(block);
  const double scale = features::moments_scale(out.spec) * features::moments_scale(out.spec);
  out.noise_diagonal = carried_sigma(a, block, 0) / scale;
  out.noise_off_diagonal = q > 1 ? carried_sigma(a, block, 1) / scale : 0.0;
  out.second.resize(out.classes * q * q);
  for (std::size_t c = 0; c < out.classes; ++c) {
    const std::int64_t* const values = a.values.data() + a.offset(block) + c * features;
    double* const second = out.second.data() + c * q * q;
    for (std::size_t i = 0; i < q; ++i) {
      for (std::size_t j = 0; j < q; ++j)
        second[i * q + j] = static_cast<double>(values[features::moments_index(q, i, j)]) / scale;
    }
  }
  return out;
}

}  // namespace muffle::release
