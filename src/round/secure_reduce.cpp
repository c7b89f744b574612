#include "muffle/round/secure_sum.hpp"
#include "muffle/embed/embedding.hpp"
#include "muffle/privacy/distributed_noise.hpp"

namespace muffle::embed {

privacy::RawSum reduce_to_root(round::SecureSum&& round, PartialSum&& partial) {
  return privacy::RawSum(std::move(round).reduce_to_root(std::move(partial.sums_)));
}

privacy::NoisySum reduce_to_root(round::SecureSum&& round, PartialSum&& partial, privacy::NoiseShare&& share) {
  privacy::NoisySum noisy;
  noisy.is_private = share.is_secure();
  const std::vector<std::uint64_t> total =
      std::move(round).reduce_to_root(std::move(share).cover(std::move(partial.sums_)));
  // Read as two's complement, as NoiseVector::publish does.
  noisy.values.assign(total.begin(), total.end());
  return noisy;
}

}  // namespace muffle::embed
