#include "generator_size.hpp"

#include <limits>

#include "muffle/core/error.hpp"

namespace muffle::app {

GeneratorSize generator_size(const model::GeneratorSpec& spec) {
  GeneratorSize size;
  if (spec.kind == model::GeneratorKind::kMoments) return size;  // nothing is trained
  double parameters = 0;                                         // the sizes' product may pass 64 bits
  const auto norm = [&](double features) {
    parameters += 2 * features;
    size.normed_features += static_cast<std::uint64_t>(features);
    ++size.norms;
  };
  auto width = static_cast<double>(spec.code + spec.schema.classes);
  for (const std::size_t hidden : spec.hidden) {
    const auto next = static_cast<double>(hidden);
    parameters += width * next;  // no bias before a norm
    norm(next);
    width = next;
  }
  if (spec.kind == model::GeneratorKind::kFullyConnected) {
    parameters += (width + 1) * static_cast<double>(spec.schema.dims());
  } else {
    require(spec.schema.is_image() && spec.channels.size() == 2,
            "a convolutional generator without an image or its two channels reached the plan");
    constexpr double kKernel = 5 * 5;
    const auto& shape = spec.schema.shape;
    const auto first = static_cast<double>(spec.channels[0]), second = static_cast<double>(spec.channels[1]);
    const double seed_image = first * static_cast<double>(shape[1] / 4) * static_cast<double>(shape[2] / 4);
    parameters += width * seed_image;
    norm(seed_image);
    parameters += (first * kKernel + 1) * second + (second * kKernel + 1) * static_cast<double>(shape[0]);
  }
  constexpr double kExact = 9007199254740992.0;  // 2^53
  size.parameters = parameters < kExact ? static_cast<std::uint64_t>(parameters)
                                        : std::numeric_limits<std::uint64_t>::max();
  return size;
}

}  // namespace muffle::app
