#include <fmt/format.h>
#include <omp.h>
#include <torch/torch.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>

#include "muffle/core/error.hpp"
#include "muffle/core/process.hpp"
#include "muffle/networks/network.hpp"
#include "muffle/networks/network_block.hpp"

namespace muffle::networks {
namespace {

using features::Lattice;
using torch::Tensor;

/// Images that the network sees at a time, always so many: what is not there is filled up with zeros. 1 where
/// it might look at several together: a record's features are a function of that record alone, or the bound
/// would say nothing.
constexpr std::int64_t kTile = 16;
static_assert(kTile <= features::Accumulator::kMostRows);

/// While it lives, LibTorch computes with one thread on the thread that made it. (OpenBLAS's threads are the
/// process's; whoever computes with more sets them again.)
class OneThread {
 public:
  OneThread() : before_(at::get_num_threads()) { set_compute_threads(1); }
  ~OneThread() { omp_set_num_threads(before_); }
  OneThread& operator=(OneThread&&) = delete;

 private:
  int before_;
};

struct PerceptualWorkspace final : features::Workspace {
  PerceptualWorkspace(std::int64_t tile, std::size_t features)
      : values(static_cast<std::size_t>(tile) * features) {}
  OneThread one;
  std::vector<std::int32_t> values;  ///< tile x D
};

class PerceptualBlock final : public features::Block {
 public:
  PerceptualBlock(const features::PerceptualMap& map, const Lattice& lattice, Code code)
      : spec_(map.spec()),
        dims_(map.dims()),
        features_(map.features()),
        lattice_(lattice),
        network_(std::make_shared<const Network>(spec_, torch::TensorOptions(torch::kFloat32))),
        tile_(network_->treats_images_apart() && places_are_alike() ? kTile : 1) {
    if (code == Code::kPlain && !network_->treats_images_apart())
      throw ConfigError(fmt::format(
          "the network '{}' does more than convolutions, pooling, padding, batch norms, activations and "
          "sums. It could fail, or take its time, by what an image holds, and in a round between "
          "institutions everybody sees that. This site has no part in rounds by it (muffle site decline). No "
          "record was read.",
          spec_.network.file.string()));
  }

  std::size_t dims() const override { return dims_; }
  std::size_t features() const override { return features_; }
  std::size_t tile() const override { return static_cast<std::size_t>(tile_); }
  std::unique_ptr<features::Workspace> make_workspace() const override {
    return std::make_unique<PerceptualWorkspace>(tile_, features_);
  }
  features::Guard guard() const override { return features::Guard::of(lattice_, spec_.nonnegative); }

  void embed(const float* x, const std::int32_t* y, std::size_t n, features::Workspace& workspace,
             features::Accumulator& sums) const override {
    auto& scratch = dynamic_cast<PerceptualWorkspace&>(workspace);
    Tensor images = torch::zeros({tile_, static_cast<std::int64_t>(dims_)});
    if (n > 0) std::memcpy(images.data_ptr<float>(), x, n * dims_ * sizeof(float));
    const std::vector<Tensor> outputs = run(images);
    std::array<std::int32_t, kTile> labels{};
    // What the network makes of a number that is none may look like an image's outputs.
    const auto finite = [](float v) { return std::isfinite(v); };
    for (std::size_t i = 0; i < n; ++i)
      labels[i] = std::all_of(x + i * dims_, x + (i + 1) * dims_, finite) &&
                          lattice_values(outputs, i, scratch.values.data() + i * features_)
                      ? y[i]
                      : schema::kNoClass;
    sums.add({scratch.values.data(), features_, features_}, std::span(labels.data(), n));
  }

 private:
  std::vector<Tensor> run(const Tensor& images) const {
    const torch::NoGradGuard no_grad;
    try {
      std::vector<Tensor> outputs = network_->outputs(images);
      for (Tensor& output : outputs) output = output.contiguous();
      return outputs;
    } catch (const std::exception&) {  // what a network says may hold numbers of an image
      throw ConfigError(
          "the network of a perceptual map fails on an image, and what it says of it is not shown: use one "
          "that takes all images of its shape. Nothing was charged.");
    }
  }

  bool lattice_values(const std::vector<Tensor>& outputs, std::size_t i, std::int32_t* values) const {
    std::vector<const float*> of;
    for (std::size_t l = 0; l < outputs.size(); ++l)
      of.push_back(outputs[l].data_ptr<float>() + i * spec_.layers[l].numbers());
    return features::perceptual_features(spec_, lattice_, of, values);
  }

  /// Whether an image's outputs are the same bits in every place of a tile, beside whatever others. Libraries
  /// choose their loops by shapes, never by numbers, so that one trial tells it of every place and its
  /// neighbour; where a loop's end rounds in another way, images are seen one by one.
  bool places_are_alike() const {
    const OneThread one;
    const Tensor images = trial_images(kTile, spec_);
    const std::vector<Tensor> outputs = run(images), moved = run(images.roll(1, 0));
    for (std::size_t l = 0; l < outputs.size(); ++l) {
      if (!torch::equal(outputs[l].roll(1, 0), moved[l])) return false;
    }
    return true;
  }

  features::PerceptualSpec spec_;
  std::size_t dims_, features_;
  Lattice lattice_;
  std::shared_ptr<const Network> network_;
  std::int64_t tile_;
};

}  // namespace

NetworkBlockKind perceptual_block() {
  return {"perceptual",
          [](const features::FeatureMap& map, const Lattice& lattice,
             Code code) -> std::unique_ptr<features::Block> {
            return std::make_unique<PerceptualBlock>(dynamic_cast<const features::PerceptualMap&>(map),
                                                     lattice, code);
          }};
}

}  // namespace muffle::networks
