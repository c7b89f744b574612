#include <fmt/format.h>

#include "network.hpp"
#include "resnet.hpp"

namespace muffle::model {
namespace {

using torch::Tensor;

/// As DP-MEPF's for CIFAR-10 and CelebA: blocks of norm, ReLU, doubling, convolution, norm, ReLU,
/// convolution, beside each a shortcut of doubling and a 1 x 1 convolution (which is taken before the
/// doubling: the same numbers, a quarter of the work).
class Resnet : public BaseGenerator {
 public:
  Resnet(const ResnetSettings& settings, const schema::Schema& schema, std::uint64_t seed,
         std::shared_ptr<TensorCollective> collective)
      : BaseGenerator(settings, schema, seed, std::move(collective)),
        first_(as_int(settings.blocks[0])),
        height_(as_int(schema.shape[1] / settings.enlargement())),
        width_px_(as_int(schema.shape[2] / settings.enlargement())),
        dims_(as_int(schema.dims())),
        seed_image_(add_linear("seed_image", width_, first_ * height_ * width_px_)) {
    std::int64_t in = first_;
    for (std::size_t b = 1; b < settings.blocks.size(); ++b) {
      const std::int64_t out = as_int(settings.blocks[b]);
      const auto name = [b](const char* part) { return fmt::format("block{}_{}", b - 1, part); };
      Block block;
      block.norm0 = add_norm(name("norm0"), in);
      block.conv0 = add_convolution(name("conv0"), in, out, 3, /*biased=*/false);
      block.norm1 = add_norm(name("norm1"), out);
      // Without biases: along the shortcuts they reach every norm as a channel's constant, and it subtracts
      // it.
      block.conv1 = add_convolution(name("conv1"), out, out, 3, /*biased=*/false);
      block.shortcut = add_convolution(name("shortcut"), in, out, 1, /*biased=*/false);
      blocks_.push_back(std::move(block));
      in = out;
    }
    last_norm_ = add_norm("last_norm", in);
    last_ = add_convolution("last", in, as_int(schema.shape[0]), 3);
    start_at_zero(last_->weight, last_->bias);
  }

  Tensor forward(const Tensor& code, const Tensor& labels) override {
    Tensor h = seed_image_->forward(hidden(code, labels));
    const std::int64_t n = h.size(0);
    // Channels last: a norm takes its numbers as they lie.
    h = h.reshape({n, first_, height_, width_px_}).contiguous(at::MemoryFormat::ChannelsLast);
    for (Block& block : blocks_) {
      Tensor a = doubled(torch::relu(normed(*block.norm0, h)));
      a = torch::relu(normed(*block.norm1, block.conv0->forward(a)));
      h = block.conv1->forward(a) + doubled(block.shortcut->forward(h));
    }
    h = last_->forward(torch::relu(normed(*last_norm_, h)));
    return records(h.reshape({n, dims_}), code, labels);
  }

 private:
  struct Block {
    std::shared_ptr<SyncBatchNorm> norm0, norm1;
    torch::nn::Conv2d conv0{nullptr}, conv1{nullptr}, shortcut{nullptr};
  };

  /// Channel by channel, over all records and places.
  static Tensor normed(SyncBatchNorm& norm, const Tensor& x) {
    const std::int64_t n = x.size(0), channels = x.size(1), height = x.size(2), width = x.size(3);
    const Tensor rows = x.permute({0, 2, 3, 1}).reshape({n * height * width, channels});
    return norm.forward(rows).view({n, height, width, channels}).permute({0, 3, 1, 2});
  }

  static Tensor doubled(const Tensor& x) {
    return torch::upsample_nearest2d(x, {2 * x.size(2), 2 * x.size(3)});
  }

  std::string draw_script() const override {
    std::string out =
        fmt::format(R"(
def doubled(self, x: Tensor) -> Tensor:
    return torch.upsample_nearest2d(x, [2 * x.size(2), 2 * x.size(3)])

def image_normed(self, x: Tensor, weight: Tensor, bias: Tensor, mean: Tensor, variance: Tensor) -> Tensor:
    rows = x.permute([0, 2, 3, 1]).reshape([x.size(0) * x.size(2) * x.size(3), x.size(1)])
    y = self.normed(rows, weight, bias, mean, variance)
    return y.view([x.size(0), x.size(2), x.size(3), x.size(1)]).permute([0, 3, 1, 2])

def draw(self, code: Tensor, labels: Tensor) -> Tensor:
    h = torch.linear(self.hidden(code, labels), self.seed_image.weight, self.seed_image.bias)
    n = h.size(0)
    h = h.reshape([n, {0}, {1}, {2}]).contiguous(memory_format={3})
)",
                    first_, height_, width_px_, static_cast<int>(at::MemoryFormat::ChannelsLast));
    for (std::size_t b = 0; b < blocks_.size(); ++b) {
      out += fmt::format(R"(
    a = self.doubled(torch.relu({1}))
    a = torch.conv2d(a, self.block{0}_conv0.weight, None, [1, 1], [1, 1])
    a = torch.relu({2})
    a = torch.conv2d(a, self.block{0}_conv1.weight, None, [1, 1], [1, 1])
    h = a + self.doubled(torch.conv2d(h, self.block{0}_shortcut.weight))
)",
                         b, image_normed("h", fmt::format("block{}_norm0", b)),
                         image_normed("a", fmt::format("block{}_norm1", b)));
    }
    return out + fmt::format(R"(
    h = torch.conv2d(torch.relu({}), self.last.weight, self.last.bias, [1, 1], [1, 1])
    return self.records(h.reshape([n, {}]), code, labels)
)",
                             image_normed("h", "last_norm"), dims_);
  }

  static std::string image_normed(const std::string& x, const std::string& norm) {
    return fmt::format(
        "self.image_normed({0}, self.{1}.weight, self.{1}.bias, self.{1}.running_mean, self.{1}.running_var)",
        x, norm);
  }

  std::int64_t first_, height_, width_px_, dims_;
  torch::nn::Linear seed_image_;
  std::vector<Block> blocks_;
  std::shared_ptr<SyncBatchNorm> last_norm_;
  torch::nn::Conv2d last_{nullptr};
};

}  // namespace

NetworkKind resnet_network() { return {"resnet", build_as<ResnetSettings, Resnet>}; }

}  // namespace muffle::model
