#include "muffle/privacy/release.hpp"

#include <string>

#include "muffle/core/error.hpp"
#include "muffle/core/wipe.hpp"

namespace muffle::privacy {

RawSum::~RawSum() { wipe(sums_); }

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

std::vector<std::int64_t> draw_noise(const std::vector<NoisePart>& parts, EntropySource& entropy,
                                     const Heartbeat& heartbeat) {
  std::vector<std::int64_t> noise(length_of(parts));
  RoundedGaussian gaussian(entropy);
  try {
    for_each_run(parts, [&](std::uint64_t first, const NoiseRun& run) {
      for (std::uint64_t i = first; i < first + run.count; ++i) {
        if (heartbeat && i % kDrawsBetweenSigns == 0) heartbeat();
        noise[i] = gaussian.draw(run.sigma_lattice);
      }
    });
  } catch (...) {
    wipe(noise);
    throw;
  }
  return noise;
}

std::vector<std::int64_t> draw_noise(std::size_t n, std::uint64_t sigma_lattice, EntropySource& entropy) {
  return draw_noise({{{{n, 1.0, sigma_lattice}}, 1}}, entropy);
}

NoiseVector::NoiseVector(const std::vector<NoisePart>& parts, EntropySource& entropy,
                         const Heartbeat& heartbeat)
    : secure_(entropy.is_secure()) {
  require(length_of(parts) > 0, "noise was asked for a release of no numbers: this is a bug in muffle.");
  noise_ = draw_noise(parts, entropy, heartbeat);
}

NoiseVector::NoiseVector(std::size_t n, std::uint64_t sigma_lattice, EntropySource& entropy)
    : NoiseVector({{{{n, 1.0, sigma_lattice}}, 1}}, entropy) {}

NoiseVector::~NoiseVector() { wipe(noise_); }

NoisySum NoiseVector::publish(RawSum&& raw) && {
  require(!noise_.empty(), "this noise was already spent on a release, and noise is never used twice.");
  // Lengths are public; the sums are not.
  require(raw.sums_.size() == noise_.size(),
          "the reduced sum has " + std::to_string(raw.sums_.size()) + " numbers, but noise was drawn for " +
              std::to_string(noise_.size()) + ": nothing was released. This is a bug in muffle.");
  NoisySum out;
  out.is_private = secure_;
  out.values.resize(noise_.size());
  for (std::size_t i = 0; i < noise_.size(); ++i) {
    out.values[i] = static_cast<std::int64_t>(raw.sums_[i] + static_cast<std::uint64_t>(noise_[i]));
  }
  wipe(raw.sums_);
  raw.sums_.clear();
  wipe(noise_);
  noise_.clear();  // spent
  return out;
}

}  // namespace muffle::privacy
