#include "muffle/model/generator.hpp"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "as_int.hpp"
#include "closed_form_tensors.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/philox.hpp"
#include "muffle/model/sync_batch_norm.hpp"
#include "pixel_law.hpp"

namespace muffle::model {
namespace {

using torch::Tensor;

/// Fills layers with torch's default law, U(-1/sqrt(fan_in), 1/sqrt(fan_in)) for weight and bias
/// (kaiming_uniform with a = sqrt(5)), drawn from Philox: substream 2 l is layer l's weight, 2 l + 1 its
/// bias.
class Initializer {
 public:
  explicit Initializer(std::uint64_t seed) : seed_(seed) {}

  void operator()(const Tensor& weight, const Tensor& bias) {
    const double bound = 1.0 / std::sqrt(static_cast<double>(weight.numel() / weight.size(0)));
    fill(weight, bound, 2 * layer_);
    if (bias.defined()) fill(bias, bound, 2 * layer_ + 1);
    ++layer_;
  }

 private:
  void fill(const Tensor& parameter, double bound, std::uint32_t substream) {
    const CounterStream stream(seed_, Stream::kParameters, substream);
    float* out = parameter.data_ptr<float>();
    for (std::int64_t i = 0; i < parameter.numel(); ++i) {
      out[i] = static_cast<float>(bound * (2.0 * stream.uniform(static_cast<std::uint64_t>(i)) - 1.0));
    }
  }

  std::uint64_t seed_;
  std::uint32_t layer_ = 0;
};

void require_positive(const std::vector<std::size_t>& sizes, const std::string& key) {
  for (const std::size_t s : sizes) {
    if (s == 0)
      throw ConfigError(fmt::format("{} has a layer of width 0: every width must be at least 1", key));
  }
}

void check(const GeneratorSpec& spec) {
  require(spec.kind != GeneratorKind::kMoments, "the closed form is no network: this is a bug in muffle.");
  if (spec.code == 0)
    throw ConfigError("model.code is 0: the generator needs a latent code of at least 1 number");
  if (spec.schema.shape.empty() || spec.schema.dims() == 0 || spec.schema.classes == 0) {
    throw ConfigError(
        "the schema's shape or number of classes is empty: give the record's shape and classes >= 1");
  }
  if (spec.hidden.empty()) throw ConfigError("model.hidden is empty: give at least one hidden width");
  require_positive(spec.hidden, "model.hidden");
  if (spec.kind != GeneratorKind::kConvolutional) return;
  if (!spec.schema.is_image()) {
    throw ConfigError(
        fmt::format("the convolutional generator makes images {{channels, height, width}}, but records have "
                    "{} axis(es): use the "
                    "fully connected generator",
                    spec.schema.shape.size()));
  }
  const std::size_t height = spec.schema.shape[1], width = spec.schema.shape[2];
  if (height % 4 != 0 || width % 4 != 0) {
    throw ConfigError(
        fmt::format("the convolutional generator doubles its image twice, so height and width must be "
                    "multiples of 4, not {} x {}: "
                    "use the fully connected generator",
                    height, width));
  }
  if (spec.channels.size() != 2) {
    throw ConfigError(
        fmt::format("model.channels needs 2 numbers (after the linear part, and between the "
                    "convolutions), not {}",
                    spec.channels.size()));
  }
  require_positive(spec.channels, "model.channels");
}

/// What both kinds share: code + one-hot -> hidden layers.
class BaseGenerator : public Generator {
 public:
  Tensor codes(std::uint64_t seed, bool training, std::uint32_t substream, std::uint64_t first,
               std::size_t n) const override {
    const Tensor normals = latent_codes(seed, training, substream, first, n, static_cast<std::size_t>(code_));
    if (!base_) return normals;
    // As MomentsGenerator draws them.
    const CounterStream coins = training
                                    ? CounterStream(seed, Stream::kTrainCoins, substream)
                                    : CounterStream(seed, Stream::kSampleLatent, substream + kCoinSubstream);
    Tensor coin = torch::empty({as_int(n), 1});
    for (std::size_t i = 0; i < n; ++i)
      coin.data_ptr<float>()[i] = static_cast<float>(coins.uniform(first + i));
    return torch::cat({normals, coin}, 1);
  }

  void set_closed_form(const MomentsModel& model) override {
    require(base_ != nullptr, "a generator without a closed form was given one: this is a bug in muffle.");
    base_->set(model);
  }

 protected:
  BaseGenerator(const GeneratorSpec& spec, Initializer& initialize,
                std::shared_ptr<TensorCollective> collective)
      : code_(as_int(spec.code)), classes_(as_int(spec.schema.classes)), collective_(std::move(collective)) {
    if (spec.residual) base_ = register_module("closed_form", std::make_shared<ClosedFormTensors>(spec));
    std::int64_t width = as_int(spec.code) + classes_;
    for (std::size_t i = 0; i < spec.hidden.size(); ++i) {
      linear_.push_back(
          add_linear_before_norm(fmt::format("hidden{}", i), width, as_int(spec.hidden[i]), initialize));
      width = as_int(spec.hidden[i]);
      norm_.push_back(add_norm(fmt::format("norm{}", i), width));
    }
    width_ = width;
  }

  Tensor hidden(const Tensor& code, const Tensor& labels) {
    const Tensor one_hot = torch::zeros({labels.size(0), classes_}, code.options());
    Tensor h = torch::cat({code.narrow(1, 0, code_), one_hot.scatter_(1, labels.unsqueeze(1), 1.0)}, 1);
    for (std::size_t i = 0; i < linear_.size(); ++i)
      h = torch::relu(norm_[i]->forward(linear_[i]->forward(h)));
    return h;
  }

  /// Records in [0, 1] from the last layer's numbers, n x d. The clip's gradient is exact: that of a record's
  /// number outside [0, 1] is 0, and the mean over the closed form's normal law is smooth.
  Tensor records(const Tensor& last, const Tensor& code, const Tensor& labels) const {
    return base_ ? (base_->forward(code, labels) + last).clamp(0.0, 1.0) : torch::sigmoid(last);
  }

  /// The last layer of a residual network starts at 0, so that the closed form is what is drawn at first.
  void start_at_zero(const Tensor& weight, const Tensor& bias) const {
    if (!base_) return;
    weight.zero_();
    bias.zero_();
  }

  torch::nn::Linear add_linear(const std::string& name, std::int64_t in, std::int64_t out,
                               Initializer& initialize) {
    auto layer = register_module(name, torch::nn::Linear(in, out));
    initialize(layer->weight, layer->bias);
    return layer;
  }

  /// Without a bias: the norm subtracts it again, so its gradient is zero but for rounding errors, which Adam
  /// would blow up to whole steps.
  torch::nn::Linear add_linear_before_norm(const std::string& name, std::int64_t in, std::int64_t out,
                                           Initializer& initialize) {
    auto layer = register_module(name, torch::nn::Linear(torch::nn::LinearOptions(in, out).bias(false)));
    initialize(layer->weight, {});
    return layer;
  }

  std::shared_ptr<SyncBatchNorm> add_norm(const std::string& name, std::int64_t features) {
    return register_module(name, std::make_shared<SyncBatchNorm>(features, collective_));
  }

  /// Width of what hidden() returns.
  std::int64_t width_ = 0;

 private:
  std::int64_t code_, classes_;
  std::shared_ptr<ClosedFormTensors> base_;  ///< of residual generators
  std::shared_ptr<TensorCollective> collective_;
  std::vector<torch::nn::Linear> linear_;
  std::vector<std::shared_ptr<SyncBatchNorm>> norm_;
};

class FullyConnectedGenerator : public BaseGenerator {
 public:
  FullyConnectedGenerator(const GeneratorSpec& spec, Initializer& initialize,
                          std::shared_ptr<TensorCollective> collective)
      : BaseGenerator(spec, initialize, std::move(collective)),
        out_(add_linear("out", width_, as_int(spec.schema.dims()), initialize)) {
    start_at_zero(out_->weight, out_->bias);
  }

  Tensor forward(const Tensor& code, const Tensor& labels) override {
    return records(out_->forward(hidden(code, labels)), code, labels);
  }

 private:
  torch::nn::Linear out_;
};

/// As in DP-MERF's published code: no ReLU between the second batch norm and the first upsampling, and
/// bilinear interpolation that keeps the corners in place.
class ConvolutionalGenerator : public BaseGenerator {
 public:
  ConvolutionalGenerator(const GeneratorSpec& spec, Initializer& initialize,
                         std::shared_ptr<TensorCollective> collective)
      : BaseGenerator(spec, initialize, std::move(collective)),
        first_channels_(as_int(spec.channels[0])),
        height_(as_int(spec.schema.shape[1])),
        width_px_(as_int(spec.schema.shape[2])),
        seed_image_(add_linear_before_norm("seed_image", width_,
                                           first_channels_ * (height_ / 4) * (width_px_ / 4), initialize)),
        seed_norm_(add_norm("seed_norm", first_channels_ * (height_ / 4) * (width_px_ / 4))),
        conv0_(add_conv("conv0", first_channels_, as_int(spec.channels[1]), initialize)),
        conv1_(add_conv("conv1", as_int(spec.channels[1]), as_int(spec.schema.shape[0]), initialize)) {
    start_at_zero(conv1_->weight, conv1_->bias);
  }

  Tensor forward(const Tensor& code, const Tensor& labels) override {
    Tensor h = seed_norm_->forward(seed_image_->forward(hidden(code, labels)));
    const std::int64_t n = h.size(0);
    // Channels last: LibTorch's convolutions to few channels are twice as fast on CPUs that way.
    h = h.reshape({n, first_channels_, height_ / 4, width_px_ / 4})
            .contiguous(at::MemoryFormat::ChannelsLast);
    h = torch::relu(conv0_->forward(doubled(h)));
    h = conv1_->forward(doubled(h));
    return records(h.reshape({n, h.size(1) * height_ * width_px_}), code, labels);
  }

 private:
  static constexpr std::int64_t kKernel = 5;

  torch::nn::Conv2d add_conv(const std::string& name, std::int64_t in, std::int64_t out,
                             Initializer& initialize) {
    auto layer = register_module(
        name, torch::nn::Conv2d(torch::nn::Conv2dOptions(in, out, kKernel).padding(kKernel / 2)));
    initialize(layer->weight, layer->bias);
    return layer;
  }

  static Tensor doubled(const Tensor& x) {
    return torch::upsample_bilinear2d(x, {2 * x.size(2), 2 * x.size(3)}, /*align_corners=*/true);
  }

  std::int64_t first_channels_, height_, width_px_;
  torch::nn::Linear seed_image_;
  std::shared_ptr<SyncBatchNorm> seed_norm_;
  torch::nn::Conv2d conv0_, conv1_;
};

}  // namespace

std::shared_ptr<Generator> make_generator(const GeneratorSpec& spec, std::uint64_t seed,
                                          std::shared_ptr<TensorCollective> collective) {
  check(spec);
  Initializer initialize(seed);
  const torch::NoGradGuard no_grad;
  if (spec.kind == GeneratorKind::kConvolutional) {
    return std::make_shared<ConvolutionalGenerator>(spec, initialize, std::move(collective));
  }
  return std::make_shared<FullyConnectedGenerator>(spec, initialize, std::move(collective));
}

}  // namespace muffle::model
