#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "muffle/model/generator_kind.hpp"
#include "resnet.hpp"

namespace muffle::model {
namespace {

constexpr std::size_t kMostBlocks = 8;
constexpr double kWeights = 9;  ///< of a 3 x 3 convolution

}  // namespace

void ResnetSettings::declare(settings::Keys& keys) {
  NetworkSettings::declare(keys);
  keys.sizes(
      "blocks", blocks,
      "resnet: channels of the first small image, and after each block, which doubles height and width");
}

void ResnetSettings::own_problems(const schema::Schema* schema, settings::Problems& p) const {
  const bool sizes = blocks.size() >= 2 && blocks.size() <= kMostBlocks + 1 &&
                     std::find(blocks.begin(), blocks.end(), 0u) == blocks.end();
  p.unless(sizes, fmt::format("model.blocks needs 2 to {} numbers of channels: of the first small image, and "
                              "after each block",
                              kMostBlocks + 1));
  if (schema == nullptr || !sizes) return;
  p.unless(schema->is_image(),
           "model.generator = \"resnet\" draws images; for plain records use \"fully-connected\"");
  p.unless(
      !schema->is_image() || (schema->shape[1] % enlargement() == 0 && schema->shape[2] % enlargement() == 0),
      fmt::format("the {} blocks of model.blocks enlarge an image {} times, so height and width in "
                  "data.shape must be multiples of that: use fewer blocks",
                  blocks.size() - 1, enlargement()));
}

nlohmann::json ResnetSettings::to_json() const {
  nlohmann::json out = NetworkSettings::to_json();
  out["blocks"] = blocks;
  return out;
}

void ResnetSettings::read_json(const JsonFields& fields) {
  fields.only({"kind", "code", "hidden", "blocks", "residual", "plain_share"});
  NetworkSettings::read_json(fields);
  blocks = fields.sizes("blocks", kMostBlocks + 1, 1, kMaxSize);
}

void ResnetSettings::add_last(const schema::Schema& schema, Count& count) const {
  const auto norm = [&count](double features) {
    count.parameters += 2 * features;
    count.normed_features += features;
    count.norms += 1;
  };
  const auto side = static_cast<double>(enlargement());
  auto in = static_cast<double>(blocks[0]);
  count.parameters += (count.width + 1) * in * static_cast<double>(schema.shape[1]) / side *
                      static_cast<double>(schema.shape[2]) / side;
  for (std::size_t b = 1; b < blocks.size(); ++b) {
    const auto out = static_cast<double>(blocks[b]);
    norm(in);
    norm(out);
    // Two convolutions and the shortcut's.
    count.parameters += kWeights * in * out + kWeights * out * out + in * out;
    in = out;
  }
  norm(in);
  count.parameters += (kWeights * in + 1) * static_cast<double>(schema.shape[0]);
}

double ResnetSettings::last_numbers_at_once(const schema::Schema& schema) const {
  double pixels = static_cast<double>(schema.shape[1] * schema.shape[2]), numbers = 0;
  for (std::size_t b = blocks.size() - 1; b > 0; --b) {
    // The enlarged input, its convolution, norm and ReLU, the second convolution and the shortcut.
    numbers = std::max(numbers, pixels * static_cast<double>(2 * blocks[b - 1] + 5 * blocks[b]));
    pixels /= 4;
  }
  return numbers;
}

GeneratorKind resnet_generator() {
  return {"resnet", "a network of residual blocks that enlarge an image (DP-MEPF's)",
          make_default<ResnetSettings>};
}

}  // namespace muffle::model
