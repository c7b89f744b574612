#include "key_kinds.hpp"

namespace muffle::app {

std::vector<Key> moments_keys() {
  using enum Stage;
  using Lift = features::MomentLiftKind;
  return {
      choice<std::optional<Lift>>(
          "moments.kind", kRelease, "what is squared; auto: image for images, else vector",
          {{"auto", std::nullopt},
           {"image", Lift::kImage},
           {"vector", Lift::kVector},
           {"fourier", Lift::kFourier},
           {"hermite", Lift::kHermite}},
          MUFFLE_FIELD(moments.kind)),
      count("moments.coefficients", kRelease,
            "image: k, cosine coefficients per side and channel; fourier: how many, even; hermite: per number; "
            "0: by the records' size",
            0, 1 << 13, MUFFLE_FIELD(moments.spec.coefficients)),
      number("moments.weight_exponent", kRelease, "image: coefficients are scaled by (1 + |frequency|)^exponent",
             Range{-4, 4}, MUFFLE_FIELD(moments.spec.weight_exponent)),
      number("moments.blob_height", kRelease, "image: height of the public blob that is subtracted",
             Range{0, 1}, MUFFLE_FIELD(moments.spec.blob_height)),
      number("moments.blob_radius", kRelease, "image: its radius in pixels; 0: a quarter of the shorter side",
             Range{0, 1e6}, MUFFLE_FIELD(moments.spec.blob_radius)),
      number("moments.length_scale", kRelease,
             "fourier, hermite: l, public, in units of records scaled to [0, 1]",
             Range{1e-20, 1e20}, MUFFLE_FIELD(moments.spec.length_scale)),
      count("moments.seed", kRelease, "fourier: public seed of the frequencies", 0, INT64_MAX,
            MUFFLE_FIELD(moments.spec.seed)),
      number("moments.offset", kRelease, "the constant beside the coefficients; 0: by the records' size",
             Range{0, 1e6}, MUFFLE_FIELD(moments.spec.offset)),
      count("moments.bits", kRelease, "of the integers that are squared", 8, 20,
            MUFFLE_FIELD(moments.spec.bits)),
      number("moments.weight", kRelease,
             "scales the block beside others, whose weight is 1: above 1, less of the noise falls on it",
             Range{1e-6, 1e6}, MUFFLE_FIELD(moments.weight)),
  };
}

}  // namespace muffle::app
