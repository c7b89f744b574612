#include "muffle/round/covered.hpp"

#include <utility>

namespace muffle::round {

Covered::Covered(embed::PartialSum&& sums, std::optional<privacy::NoiseShare>&& share)
    : secure_noise(!share || share->is_secure()), values(std::move(sums).take(embed::PartialSum::Key())) {
  if (share) values.values = std::move(*share).cover(std::move(values.values));
}

}  // namespace muffle::round
