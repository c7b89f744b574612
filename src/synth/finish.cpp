#include "finish.hpp"

#include <cmath>
#include <vector>

#include "muffle/core/philox.hpp"

namespace muffle::synth {

void finish_records(std::span<float> x, std::size_t dims, const SampleSpec& spec, std::uint64_t first) {
  for (float& value : x) {
    if (static_cast<double>(value) < spec.floor) value = 0.0F;
  }
  if (!(spec.stray > 0)) return;
  const CounterStream stream(spec.seed, Stream::kSampleFinish);
  const std::vector<float> drawn(x.begin(), x.end());
  const std::size_t n = x.size() / dims;
  const double log_stays = portable_log(1.0 - spec.stray);
  for (std::size_t r = 0; r < n; ++r) {
    // How many numbers stay between two strays follows the geometric law.
    std::uint64_t at = 2 * (first + r) * (dims + 1);
    for (std::size_t i = 0; i < dims; ++i, at += 2) {
      const double stay = std::floor(portable_log(stream.uniform(at)) / log_stays);
      if (!(stay < static_cast<double>(dims - i))) break;
      i += static_cast<std::size_t>(stay);
      x[r * dims + i] = drawn[stream.below(at + 1, n) * dims + i];
    }
  }
}

}  // namespace muffle::synth
