#include <algorithm>
#include <nlohmann/json.hpp>

#include "muffle/model/generator_kind.hpp"
#include "network.hpp"

namespace muffle::model {
namespace {

using torch::Tensor;

constexpr std::int64_t kKernel = 5;

/// As in DP-MERF's published code: no ReLU between the second batch norm and the first upsampling, and
/// bilinear interpolation that keeps the corners in place.
class Convolutional : public BaseGenerator {
 public:
  /// @param channels  after the linear part, and between the convolutions
  Convolutional(const NetworkSettings& settings, const std::vector<std::size_t>& channels,
                const schema::Schema& schema, std::uint64_t seed,
                std::shared_ptr<TensorCollective> collective)
      : BaseGenerator(settings, schema, seed, std::move(collective)),
        channels_(as_int(channels[0])),
        height_(as_int(schema.shape[1])),
        width_px_(as_int(schema.shape[2])),
        seed_image_(
            add_linear("seed_image", width_, channels_ * (height_ / 4) * (width_px_ / 4), /*biased=*/false)),
        seed_norm_(add_norm("seed_norm", channels_ * (height_ / 4) * (width_px_ / 4))),
        conv0_(add_convolution("conv0", channels_, as_int(channels[1]), kKernel)),
        conv1_(add_convolution("conv1", as_int(channels[1]), as_int(schema.shape[0]), kKernel)) {
    start_at_zero(conv1_->weight, conv1_->bias);
  }

  Tensor forward(const Tensor& code, const Tensor& labels) override {
    Tensor h = seed_norm_->forward(seed_image_->forward(hidden(code, labels)));
    const std::int64_t n = h.size(0);
    // Channels last: LibTorch's convolutions to few channels are twice as fast on CPUs that way.
    h = h.reshape({n, channels_, height_ / 4, width_px_ / 4}).contiguous(at::MemoryFormat::ChannelsLast);
    h = torch::relu(conv0_->forward(doubled(h)));
    h = conv1_->forward(doubled(h));
    return records(h.reshape({n, h.size(1) * height_ * width_px_}), code, labels);
  }

 private:
  static Tensor doubled(const Tensor& x) {
    return torch::upsample_bilinear2d(x, {2 * x.size(2), 2 * x.size(3)}, /*align_corners=*/true);
  }

  std::int64_t channels_, height_, width_px_;
  torch::nn::Linear seed_image_;
  std::shared_ptr<SyncBatchNorm> seed_norm_;
  torch::nn::Conv2d conv0_, conv1_;
};

class ConvolutionalSettings : public NetworkSettings {
 public:
  std::vector<std::size_t> channels{16, 8};  ///< after the linear part, and between the convolutions

  std::string_view kind() const override { return "convolutional"; }
  std::unique_ptr<GeneratorSettings> clone() const override {
    return std::make_unique<ConvolutionalSettings>(*this);
  }
  void declare(settings::Keys& keys) override {
    NetworkSettings::declare(keys);
    keys.sizes("channels", channels, "convolutional: channels before and between the convolutions");
  }
  void own_problems(const schema::Schema* schema, settings::Problems& p) const override {
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
  nlohmann::json to_json() const override {
    nlohmann::json out = NetworkSettings::to_json();
    out["channels"] = channels;
    return out;
  }
  void read_json(const JsonFields& fields) override {
    fields.only({"kind", "code", "hidden", "channels", "residual", "plain_share"});
    NetworkSettings::read_json(fields);
    channels = fields.sizes("channels", 2, 1, kMaxSize);
  }

 protected:
  void add_last(const schema::Schema& schema, Count& count) const override {
    constexpr double kWeights = kKernel * kKernel;
    const auto first = static_cast<double>(channels[0]), second = static_cast<double>(channels[1]);
    count.add_normed(first * static_cast<double>(schema.shape[1] / 4) *
                     static_cast<double>(schema.shape[2] / 4));
    count.parameters +=
        (first * kWeights + 1) * second + (second * kWeights + 1) * static_cast<double>(schema.shape[0]);
  }
  /// Also the library's copy of images in an order of its own.
  double last_numbers_at_once(const schema::Schema& schema) const override {
    const double pixels = static_cast<double>(schema.shape[1] * schema.shape[2]);
    const auto first = static_cast<double>(channels[0]), second = static_cast<double>(channels[1]);
    return 2 * pixels * (first / 16 + first / 4 + second / 4 + second);
  }
  std::shared_ptr<Generator> build_checked(const schema::Schema& schema, std::uint64_t seed,
                                           std::shared_ptr<TensorCollective> collective) const override {
    const torch::NoGradGuard no_grad;
    return std::make_shared<Convolutional>(*this, channels, schema, seed, std::move(collective));
  }
};

}  // namespace

GeneratorKind convolutional_generator() {
  return {"convolutional", "a network that ends in two convolutions, for images",
          make_default<ConvolutionalSettings>};
}

}  // namespace muffle::model
