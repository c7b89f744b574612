#include <fmt/format.h>

#include "convolutional.hpp"
#include "network.hpp"

namespace muffle::model {
namespace {

using torch::Tensor;

constexpr std::int64_t kKernel = ConvolutionalSettings::kKernel;

/// As in DP-MERF's published code: no ReLU between the second batch norm and the first upsampling, and
/// bilinear interpolation that keeps the corners in place.
class Convolutional : public BaseGenerator {
 public:
  Convolutional(const ConvolutionalSettings& settings, const schema::Schema& schema, std::uint64_t seed,
                std::shared_ptr<TensorCollective> collective)
      : BaseGenerator(settings, schema, seed, std::move(collective)),
        channels_(as_int(settings.channels[0])),
        height_(as_int(schema.shape[1])),
        width_px_(as_int(schema.shape[2])),
        seed_image_(
            add_linear("seed_image", width_, channels_ * (height_ / 4) * (width_px_ / 4), /*biased=*/false)),
        seed_norm_(add_norm("seed_norm", channels_ * (height_ / 4) * (width_px_ / 4))),
        conv0_(add_convolution("conv0", channels_, as_int(settings.channels[1]), kKernel)),
        conv1_(add_convolution("conv1", as_int(settings.channels[1]), as_int(schema.shape[0]), kKernel)) {
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
  std::string draw_script() const override {
    return fmt::format(R"(
def doubled(self, x: Tensor) -> Tensor:
    return torch.upsample_bilinear2d(x, [2 * x.size(2), 2 * x.size(3)], True)

def draw(self, code: Tensor, labels: Tensor) -> Tensor:
    h = {0}
    n = h.size(0)
    h = h.reshape([n, {1}, {2}, {3}]).contiguous(memory_format={4})
    h = torch.relu(torch.conv2d(self.doubled(h), self.conv0.weight, self.conv0.bias, [1, 1], [{5}, {5}]))
    h = torch.conv2d(self.doubled(h), self.conv1.weight, self.conv1.bias, [1, 1], [{5}, {5}])
    return self.records(h.reshape([n, h.size(1) * {6}]), code, labels)
)",
                       normed_script("self.hidden(code, labels)", "seed_image", "seed_norm"), channels_,
                       height_ / 4, width_px_ / 4, static_cast<int>(at::MemoryFormat::ChannelsLast),
                       kKernel / 2, height_ * width_px_);
  }

  static Tensor doubled(const Tensor& x) {
    return torch::upsample_bilinear2d(x, {2 * x.size(2), 2 * x.size(3)}, /*align_corners=*/true);
  }

  std::int64_t channels_, height_, width_px_;
  torch::nn::Linear seed_image_;
  std::shared_ptr<SyncBatchNorm> seed_norm_;
  torch::nn::Conv2d conv0_, conv1_;
};

}  // namespace

NetworkKind convolutional_network() {
  return {"convolutional", build_as<ConvolutionalSettings, Convolutional>};
}

}  // namespace muffle::model
