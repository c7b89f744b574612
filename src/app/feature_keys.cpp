#include "key_kinds.hpp"

namespace muffle::app {

std::vector<Key> feature_keys() {
  using enum Stage;
  return {
      choice<std::string>("features.kind", kRelease, "feature map", {{"rff", "rff"}},
                          MUFFLE_FIELD(features.kind)),
      count("features.count", kRelease, "D, even: random features", 2, 1 << 26,
            MUFFLE_FIELD(features.rff.features)),
      number("features.length_scale", kRelease, "l, public, in units of records scaled to [0, 1]",
             Range{1e-20, 1e20}, MUFFLE_FIELD(features.rff.length_scale)),
      choice<features::FrequencyKind>(
          "features.frequencies", kRelease, "how the frequencies are drawn",
          {{"dense", features::FrequencyKind::kDense}, {"orthogonal", features::FrequencyKind::kOrthogonal}},
          MUFFLE_FIELD(features.rff.kind)),
      count("features.seed", kRelease, "public seed of the frequencies", 0, INT64_MAX,
            MUFFLE_FIELD(features.rff.seed)),
      count("features.lattice_bits", kRelease, "k of the integer lattice", 8, 24,
            MUFFLE_FIELD(features.lattice_bits)),
  };
}

}  // namespace muffle::app
