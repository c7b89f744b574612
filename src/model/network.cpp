#include "network.hpp"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <utility>

#include "muffle/core/error.hpp"
#include "muffle/core/kinds.hpp"
#include "muffle/core/philox.hpp"
#include "muffle/model/model_file.hpp"
#include "muffle/sampling/sampler.hpp"

namespace muffle::model {

static_assert(std::endian::native == std::endian::little,
              "model payloads are little-endian and copied as they lie");

using torch::Tensor;

namespace {

/// Parameters and buffers in the module's order. They share storage with the generator.
std::vector<std::pair<std::string, Tensor>> named_tensors(const Generator& generator) {
  std::vector<std::pair<std::string, Tensor>> out;
  for (const auto& p : generator.named_parameters()) out.emplace_back(p.key(), p.value());
  for (const auto& b : generator.named_buffers()) out.emplace_back(b.key(), b.value());
  return out;
}

/// Numbers in the generator's tensors, found before anything is allocated.
double expected_numbers(const NetworkSettings& network, const schema::Schema& schema) {
  const NetworkSize size = network.size(schema);
  double numbers = static_cast<double>(size.parameters) + 2 * static_cast<double>(size.normed_features);
  if (network.residual) numbers += closed_form_numbers(network, schema);
  return numbers;
}

void copy_tensors(Generator& generator, const JsonFields& description, std::span<const std::byte> payload) {
  const torch::NoGradGuard no_grad;
  const auto tensors = named_tensors(generator);
  const nlohmann::json& list = description.at("tensors");
  if (!list.is_array() || list.size() != tensors.size())
    description.fail("tensors",
                     fmt::format("does not list the {} tensors that its generator has", tensors.size()));
  std::size_t offset = 0;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const auto& [key, tensor] = tensors[i];
    const nlohmann::json expected{{"name", key}, {"shape", tensor.sizes().vec()}, {"offset", offset}};
    if (list[i] != expected) {
      description.fail("tensors", fmt::format("describes tensor {} as {}, where its generator has {}", i,
                                              list[i].dump(), expected.dump()));
    }
    // A tensor without elements has no address.
    if (tensor.numel() > 0) std::memcpy(tensor.data_ptr<float>(), payload.data() + offset, tensor.nbytes());
    offset += tensor.nbytes();
    if (!torch::isfinite(tensor).all().item<bool>())
      description.fail("tensors", fmt::format("has a tensor {} of numbers that are not finite", key));
  }
}

/// In evaluation mode.
std::shared_ptr<Generator> read_network(const ModelInfo& info, const NetworkSettings& network,
                                        const JsonFields& description, std::span<const std::byte> payload) {
  description.only({"tensors"});
  std::shared_ptr<Generator> generator;
  try {
    if (expected_numbers(network, info.schema) * sizeof(float) != static_cast<double>(payload.size())) {
      description.fail(
          "tensors",
          fmt::format("comes with {} bytes, which do not fit the generator that the file describes",
                      payload.size()));
    }
    generator = network.build(info.schema, 0, nullptr);
  } catch (const ConfigError& e) {
    description.fail("tensors", fmt::format("is of a generator that cannot be built ({})", e.what()));
  }
  copy_tensors(*generator, description, payload);
  generator->eval();
  return generator;
}

class NetworkSampler : public Sampler {
 public:
  /// @param code  the first so many of the generator's codes are normal
  NetworkSampler(std::shared_ptr<Generator> generator, std::size_t code)
      : generator_(std::move(generator)), code_(as_int(code)) {}

  /// Towards another class: between what the network makes of the same code with either label.
  void draw_records(std::uint64_t seed, std::uint64_t first, std::span<const std::int64_t> labels,
                    std::span<float> out, std::span<const sampling::Departure> departures) const override {
    const torch::NoGradGuard no_grad;
    const Tensor codes = generator_->codes(seed, /*training=*/false, /*substream=*/0, first, labels.size());
    std::vector<std::int64_t> mixed, other;
    std::vector<float> toward;
    for (std::size_t r = 0; r < departures.size(); ++r) {
      if (departures[r].spread != 1) codes[as_int(r)].narrow(0, 0, code_).mul_(departures[r].spread);
      if (departures[r].toward == 0) continue;
      mixed.push_back(as_int(r));
      other.push_back(departures[r].other);
      toward.push_back(departures[r].toward);
    }
    const Tensor of = torch::tensor(c10::ArrayRef<std::int64_t>(labels.data(), labels.size()), torch::kInt64);
    Tensor made = generator_->draw(codes, of).contiguous();
    if (!mixed.empty()) {
      const Tensor rows = torch::tensor(mixed);
      const Tensor ends = generator_->draw(codes.index_select(0, rows), torch::tensor(other));
      made.index_copy_(0, rows, made.index_select(0, rows).lerp(ends, torch::tensor(toward).unsqueeze(1)));
    }
    require(static_cast<std::size_t>(made.numel()) == out.size(),
            "records do not fit the place for them: this is a bug in muffle.");
    std::memcpy(out.data(), made.data_ptr<float>(), made.nbytes());
  }

  const Generator* generator() const override { return generator_.get(); }

 private:
  std::shared_ptr<Generator> generator_;
  std::int64_t code_;
};

}  // namespace

BaseGenerator::BaseGenerator(const NetworkSettings& settings, const schema::Schema& schema,
                             std::uint64_t seed, std::shared_ptr<TensorCollective> collective)
    : code_(as_int(settings.code)),
      classes_(as_int(schema.classes)),
      seed_(seed),
      collective_(std::move(collective)) {
  if (settings.residual)
    base_ = register_module("closed_form", std::make_shared<ClosedFormTensors>(settings, schema));
  std::int64_t width = as_int(settings.code) + classes_;
  for (std::size_t i = 0; i < settings.hidden.size(); ++i) {
    linear_.push_back(
        add_linear(fmt::format("hidden{}", i), width, as_int(settings.hidden[i]), /*biased=*/false));
    width = as_int(settings.hidden[i]);
    norm_.push_back(add_norm(fmt::format("norm{}", i), width));
  }
  width_ = width;
}

Tensor BaseGenerator::codes(std::uint64_t seed, bool training, std::uint32_t substream, std::uint64_t first,
                            std::size_t n) const {
  const Tensor normals = latent_codes(seed, training, substream, first, n, static_cast<std::size_t>(code_));
  if (!base_) return normals;
  // As the closed form draws them.
  const CounterStream coins =
      training ? CounterStream(seed, Stream::kTrainCoins, substream)
               : CounterStream(seed, Stream::kSampleLatent, substream + moments::kCoinSubstream);
  Tensor coin = torch::empty({as_int(n), 1});
  for (std::size_t i = 0; i < n; ++i)
    coin.data_ptr<float>()[i] = static_cast<float>(coins.uniform(first + i));
  return torch::cat({normals, coin}, 1);
}

void BaseGenerator::set_closed_form(const MomentsModel& model) {
  require(base_ != nullptr, "a generator without a closed form was given one: this is a bug in muffle.");
  base_->set(model);
}

Tensor BaseGenerator::hidden(const Tensor& code, const Tensor& labels) {
  const Tensor one_hot = torch::zeros({labels.size(0), classes_}, code.options());
  Tensor h = torch::cat({code.narrow(1, 0, code_), one_hot.scatter_(1, labels.unsqueeze(1), 1.0)}, 1);
  for (std::size_t i = 0; i < linear_.size(); ++i) h = torch::relu(norm_[i]->forward(linear_[i]->forward(h)));
  return h;
}

Tensor BaseGenerator::records(const Tensor& last, const Tensor& code, const Tensor& labels) const {
  return base_ ? (base_->forward(code, labels) + last).clamp(0.0, 1.0) : torch::sigmoid(last);
}

void BaseGenerator::initialize(const Tensor& weight, const Tensor& bias) {
  const double bound = 1.0 / std::sqrt(static_cast<double>(weight.numel() / weight.size(0)));
  for (const Tensor& parameter : {weight, bias}) {
    const CounterStream stream(seed_, Stream::kParameters, substream_++);
    if (!parameter.defined()) continue;
    float* out = parameter.data_ptr<float>();
    for (std::int64_t i = 0; i < parameter.numel(); ++i)
      out[i] = static_cast<float>(bound * (2.0 * stream.uniform(static_cast<std::uint64_t>(i)) - 1.0));
  }
}

void BaseGenerator::start_at_zero(const Tensor& weight, const Tensor& bias) const {
  if (!base_) return;
  const torch::NoGradGuard no_grad;
  weight.zero_();
  bias.zero_();
}

torch::nn::Linear BaseGenerator::add_linear(const std::string& name, std::int64_t in, std::int64_t out,
                                            bool biased) {
  auto layer = register_module(name, torch::nn::Linear(torch::nn::LinearOptions(in, out).bias(biased)));
  initialize(layer->weight, layer->bias);
  return layer;
}

torch::nn::Conv2d BaseGenerator::add_convolution(const std::string& name, std::int64_t in, std::int64_t out,
                                                 std::int64_t kernel, bool biased) {
  auto layer = register_module(
      name, torch::nn::Conv2d(torch::nn::Conv2dOptions(in, out, kernel).padding(kernel / 2).bias(biased)));
  initialize(layer->weight, layer->bias);
  return layer;
}

std::shared_ptr<SyncBatchNorm> BaseGenerator::add_norm(const std::string& name, std::int64_t features) {
  return register_module(name, std::make_shared<SyncBatchNorm>(features, collective_));
}

#define MUFFLE_KIND(kind) NetworkKind kind##_network();
#include "network_kinds.inc"

std::shared_ptr<Generator> NetworkSettings::build(const schema::Schema& schema, std::uint64_t seed,
                                                  std::shared_ptr<TensorCollective> collective) const {
  static const std::vector<NetworkKind> table{
#define MUFFLE_KIND(kind) kind##_network(),
#include "network_kinds.inc"
  };
  size(schema);  // throws where there are problems
  const torch::NoGradGuard no_grad;
  return find_kind(std::span<const NetworkKind>(table), kind(), "network")
      .build(*this, schema, seed, std::move(collective));
}

std::unique_ptr<Sampler> NetworkSettings::open(const ModelInfo& info, const JsonFields& description,
                                               std::span<const std::byte> payload) const {
  return std::make_unique<NetworkSampler>(read_network(info, *this, description, payload), normal_codes());
}

ModelContent content_of(const Generator& generator) {
  ModelContent content;
  content.description["tensors"] = nlohmann::json::array();
  for (const auto& [name, tensor] : named_tensors(generator)) {
    const Tensor host = tensor.detach().to(torch::kCPU, torch::kFloat32).contiguous();
    require(torch::isfinite(host).all().item<bool>(),
            fmt::format("the trained tensor {} is not finite", name));
    content.description["tensors"].push_back(
        {{"name", name}, {"shape", host.sizes().vec()}, {"offset", content.payload.size()}});
    const auto* bytes = static_cast<const std::byte*>(host.data_ptr());
    content.payload.insert(content.payload.end(), bytes, bytes + host.nbytes());
  }
  return content;
}

Tensor latent_codes(std::uint64_t seed, bool training, std::uint32_t substream, std::uint64_t first,
                    std::size_t n, std::size_t code) {
  const CounterStream stream(seed, training ? Stream::kTrainLatent : Stream::kSampleLatent, substream);
  Tensor z = torch::empty({as_int(n), as_int(code)});
  float* out = z.data_ptr<float>();
  for (std::size_t i = 0; i < n * code; ++i) out[i] = static_cast<float>(stream.normal(first * code + i));
  return z;
}

Tensor label_tensor(std::uint64_t seed, bool training, std::uint32_t substream, std::uint64_t first,
                    std::size_t n, std::uint64_t total, const std::vector<double>& class_share,
                    bool stratified) {
  return torch::tensor(
      sampling::draw_labels(seed, training, substream, first, n, total, class_share, stratified),
      torch::kInt64);
}

}  // namespace muffle::model
