#include "muffle/release/held_out.hpp"

#include <cmath>

#include "muffle/core/philox.hpp"

namespace muffle::release {

std::vector<std::int64_t> hold_out(Artifact& release, std::uint64_t seed) {
  std::vector<std::int64_t> out = release.values;
  if (release.without_noise) return out;
  const CounterStream stream(seed, Stream::kHeldOut);
  std::size_t next = 0;
  for (std::size_t b = 0; b < release.maps.size(); ++b) {
    const privacy::NoisePart& part = release.noise.parts[b];
    std::vector<double> sigmas;
    for (std::size_t run = 0; run < part.runs.size(); ++run)
      sigmas.push_back(carried_sigma(release, release.aggregation, b, run));
    for (std::uint64_t i = 0; i < part.repeat; ++i) {
      for (std::size_t run = 0; run < part.runs.size(); ++run) {
        for (const std::size_t end = next + part.runs[run].count; next < end; ++next) {
          const double z = sigmas[run] * stream.normal(next);
          release.values[next] += std::llround(kHeldOut * z);
          out[next] -= std::llround(z / kHeldOut);
        }
      }
    }
  }
  return out;
}

}  // namespace muffle::release
