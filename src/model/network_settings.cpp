#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "muffle/model/network.hpp"

namespace muffle::model {
namespace {

constexpr std::size_t kMostHidden = 64;

std::uint64_t whole(double number) {
  constexpr double kExact = 9007199254740992.0;  // 2^53
  return number < kExact ? static_cast<std::uint64_t>(number) : std::numeric_limits<std::uint64_t>::max();
}

}  // namespace

void NetworkSettings::Count::add_normed(double features) {
  parameters += (width + 2) * features;
  normed_features += features;
  norms += 1;
  width = features;
}

std::shared_ptr<const NetworkSettings> NetworkSettings::beside(std::size_t coefficients) const {
  std::shared_ptr<GeneratorSettings> copy = clone();
  auto network = std::static_pointer_cast<NetworkSettings>(copy);
  network->residual = true;
  network->code = coefficients;
  return network;
}

void NetworkSettings::declare(settings::Keys& keys) {
  keys.count("code", code, 1, 1 << 16, "networks: length of the latent code");
  keys.sizes("hidden", hidden, "networks: hidden widths of the fully connected part");
  keys.number("plain_share", plain_share, {0, 1}, kPlainShareHelp);
}

void NetworkSettings::problems(const schema::Schema* schema, settings::Problems& all) const {
  settings::Problems p;
  p.unless(code >= 1, "model.code is 0: a network needs a latent code of at least 1 number");
  p.unless(
      (!hidden.empty() || !needs_hidden()) && hidden.size() <= kMostHidden &&
          std::find(hidden.begin(), hidden.end(), 0u) == hidden.end(),
      fmt::format("model.hidden needs {} to {} widths of at least 1", needs_hidden() ? 1 : 0, kMostHidden));
  p.unless(schema == nullptr || (!schema->shape.empty() && schema->dims() > 0 && schema->classes > 0),
           "the schema's shape or number of classes is empty: give the record's shape and classes >= 1");
  own_problems(schema, p);
  if (p.empty() && schema != nullptr) {
    p.unless(
        counted(*schema).parameters <= kMostModelBytes / sizeof(float),
        fmt::format(
            "the settings in [model] make a generator that is larger than a model file, {} MB: use fewer or "
            "smaller layers",
            kMostModelBytes / 1'000'000));
  }
  for (std::string& problem : p.take()) all.add(std::move(problem));
}

nlohmann::json NetworkSettings::to_json() const {
  return {{"code", code}, {"hidden", hidden}, {"residual", residual}, {"plain_share", plain_share}};
}

void NetworkSettings::read_json(const JsonFields& fields) {
  code = fields.integer("code", 1, kMaxSize);
  hidden = fields.sizes("hidden", kMostHidden, 1, kMaxSize, /*may_be_empty=*/!needs_hidden());
  residual = fields.flag("residual");
  plain_share = share(fields, "plain_share");
}

NetworkSize NetworkSettings::size(const schema::Schema& schema) const {
  settings::Problems found;
  problems(&schema, found);
  found.throw_if_any("the network cannot be built");
  return counted(schema);
}

NetworkSize NetworkSettings::counted(const schema::Schema& schema) const {
  Count count;
  count.width = static_cast<double>(code + schema.classes);
  for (const std::size_t width : hidden) count.add_normed(static_cast<double>(width));
  add_last(schema, count);
  return {whole(count.parameters), whole(count.normed_features), whole(count.norms)};
}

std::vector<NamedArray> NetworkSettings::arrays(const ModelInfo&, const JsonFields& description,
                                                std::span<const std::byte> payload) const {
  std::vector<NamedArray> out;
  for (const JsonFields& tensor : description.objects("tensors", kMaxSize)) {
    const std::vector<std::size_t> shape = tensor.sizes("shape", kMaxSize, 0, kMaxSize, true);
    std::size_t bytes = sizeof(float);
    for (const std::size_t n : shape) bytes *= n;
    out.emplace_back(tensor.text("name", kMaxSize), NamedArray::Type::kFloat32, shape,
                     payload.subspan(tensor.integer("offset", 0, kMaxSize), bytes));
  }
  return out;
}

double NetworkSettings::numbers_at_once(const schema::Schema& schema) const {
  const auto d = static_cast<double>(schema.dims());
  // The last layer, its sigmoid and the copy; or what the closed form beside the network takes in tensors.
  double numbers = static_cast<double>(code) + (residual ? 10 : 3) * d;
  // A layer's input and output.
  for (const std::size_t width : hidden) numbers += 2 * static_cast<double>(width);
  return numbers + last_numbers_at_once(schema);
}

}  // namespace muffle::model
