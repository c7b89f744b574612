#include "key_kinds.hpp"

namespace muffle::app {

std::vector<Key> feature_keys() {
  using enum Stage;
  return {
      names("features.blocks", kRelease,
            "what is released: random Fourier features, second moments, and a proxy to choose between two "
            "models",
            {"rff", "moments", "proxy"}, MUFFLE_FIELD(features.blocks)),
      count("features.count", kRelease, "rff: D, even: random features", 0, 1 << 26,
            MUFFLE_FIELD(features.rff.features)),
      number("features.length_scale", kRelease, "rff: l, public, in units of records scaled to [0, 1]",
             Range{1e-20, 1e20}, MUFFLE_FIELD(features.rff.length_scale)),
      choice<features::FrequencyKind>(
          "features.frequencies", kRelease, "rff: how the frequencies are drawn",
          {{"dense", features::FrequencyKind::kDense}, {"orthogonal", features::FrequencyKind::kOrthogonal}},
          MUFFLE_FIELD(features.rff.kind)),
      count("features.seed", kRelease, "rff: public seed of the frequencies", 0, INT64_MAX,
            MUFFLE_FIELD(features.rff.seed)),
      count("features.lattice_bits", kRelease, "k of the integer lattice of rff and counts", 8, 24,
            MUFFLE_FIELD(features.lattice_bits)),
      choice<comm::DeviceWish>("features.device", kRuntime, "where rff is computed", device_wishes(),
                               MUFFLE_FIELD(devices.embed)),
      count("proxy.count", kRelease, "even: random features that nothing is trained on", 2, 1 << 26,
            MUFFLE_FIELD(proxy.features)),
      number("proxy.length_scale", kRelease, "l of the proxy; 0: that of features", Range{0, 1e20},
             MUFFLE_FIELD(proxy.length_scale)),
      count("proxy.seed", kRelease, "public seed of its frequencies, another than features.seed", 0,
            INT64_MAX, MUFFLE_FIELD(proxy.seed)),
      number("proxy.weight", kRelease, "scales the proxy beside the other blocks: the larger, the less noise",
             Range{1e-6, 1e6}, MUFFLE_FIELD(proxy.weight)),
  };
}

}  // namespace muffle::app
