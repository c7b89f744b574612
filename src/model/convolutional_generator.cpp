#include <algorithm>
#include <nlohmann/json.hpp>

#include "convolutional.hpp"
#include "muffle/model/generator_kind.hpp"

namespace muffle::model {

void ConvolutionalSettings::declare(settings::Keys& keys) {
  NetworkSettings::declare(keys);
  keys.sizes("channels", channels, "convolutional: channels before and between the convolutions");
}

void ConvolutionalSettings::own_problems(const schema::Schema* schema, settings::Problems& p) const {
  p.unless(channels.size() == 2 && std::find(channels.begin(), channels.end(), 0u) == channels.end(),
           "model.channels needs 2 numbers: after the linear part, and between the convolutions");
  if (schema == nullptr) return;
  p.unless(schema->is_image(),
           "model.generator = \"convolutional\" draws images; for plain records use \"fully-connected\"");
  p.unless(
      !schema->is_image() || (schema->shape[1] % 4 == 0 && schema->shape[2] % 4 == 0),
      "model.generator = \"convolutional\" doubles its image twice, so height and width in data.shape must "
      "be multiples of 4; for others use \"fully-connected\"");
}

nlohmann::json ConvolutionalSettings::to_json() const {
  nlohmann::json out = NetworkSettings::to_json();
  out["channels"] = channels;
  return out;
}

void ConvolutionalSettings::read_json(const JsonFields& fields) {
  fields.only({"kind", "code", "hidden", "channels", "residual", "plain_share"});
  NetworkSettings::read_json(fields);
  channels = fields.sizes("channels", 2, 1, kMaxSize);
}

void ConvolutionalSettings::add_last(const schema::Schema& schema, Count& count) const {
  constexpr auto kWeights = static_cast<double>(kKernel * kKernel);
  const auto first = static_cast<double>(channels[0]), second = static_cast<double>(channels[1]);
  count.add_normed(first * static_cast<double>(schema.shape[1] / 4) *
                   static_cast<double>(schema.shape[2] / 4));
  count.parameters +=
      (first * kWeights + 1) * second + (second * kWeights + 1) * static_cast<double>(schema.shape[0]);
}

double ConvolutionalSettings::last_numbers_at_once(const schema::Schema& schema) const {
  const double pixels = static_cast<double>(schema.shape[1] * schema.shape[2]);
  const auto first = static_cast<double>(channels[0]), second = static_cast<double>(channels[1]);
  return 2 * pixels * (first / 16 + first / 4 + second / 4 + second);
}

GeneratorKind convolutional_generator() {
  return {"convolutional", "a network that ends in two convolutions, for images",
          make_default<ConvolutionalSettings>};
}

}  // namespace muffle::model
