#pragma once

#include <fmt/format.h>

#include "support/planned_release.hpp"
#include "train/toy.hpp"

namespace muffle::test {

/// A release that the artifact reader accepts, of the toy's kind of records with no noise added.
/// @param scales  a map of random features for each of these length-scales
inline release::Artifact release_of(const Toy& toy, const std::vector<double>& scales = {2.0},
                                    features::Minibatches minibatches = {}) {
  const std::size_t dims = toy.schema.dims();
  const torch::Tensor labels = torch::arange(300) % 3;
  const torch::Tensor x =
      torch::sigmoid(toy_normal({300, static_cast<std::int64_t>(dims)}, 2) + 2.0 * (labels.unsqueeze(1) - 1))
          .contiguous();
  std::vector<std::int32_t> y;
  for (std::int32_t i = 0; i < 300; ++i) y.push_back(i % 3);
  std::vector<features::NamedMap> maps;
  for (const double scale : scales)
    maps.push_back(named(fmt::format("m{}", maps.size()),
                         make_rff({.dims = dims, .features = 64, .length_scale = scale})));
  for (features::NamedMap& map : maps) map.minibatches = minibatches;
  return planned_release(toy.schema, std::move(maps), {x.data_ptr<float>(), x.data_ptr<float>() + x.numel()},
                         y);
}

}  // namespace muffle::test
