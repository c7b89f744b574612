#include "muffle/embed/noisy_moments.hpp"

namespace muffle::embed {

double NoisyMoments::trace(std::size_t c) const {
  double sum = 0.0;
  for (std::size_t i = 0; i < order; ++i) sum += of_class(c)[i * order + i];
  return sum;
}

}  // namespace muffle::embed
