#include <torch/torch.h>

#include <vector>

#include "by_class.hpp"
#include "muffle/core/error.hpp"
#include "muffle/features/perceptual.hpp"
#include "muffle/model/map_twin.hpp"
#include "muffle/networks/network.hpp"

namespace muffle::model {
namespace {

using torch::Tensor;

/// Normed outputs of a public network for generated images, summed by class.
class PerceptualTwin : public MapTwin {
 public:
  PerceptualTwin(const features::PerceptualMap& map, const TwinPlace& place)
      : MapTwin(place, map.features()),
        spec_(map.spec()),
        dims_(as_int(map.dims())),
        network_(spec_, place.like) {}

  Tensor class_sums(const Tensor& x, const Tensor& labels) const override {
    require(x.dim() == 2 && x.size(1) == dims_ && labels.dim() == 1 && labels.size(0) == x.size(0),
            "records and labels do not fit the perceptual map's twin: this is a bug in muffle.");
    const Tensor own = torch::zeros({place().classes, x.size(0)}, x.options().requires_grad(false))
                           .scatter_(0, labels.unsqueeze(0), 1.0);
    const std::vector<Tensor> outputs = x.size(0) > 0 ? network_.outputs(x) : none(x);
    std::vector<Tensor> sums;
    for (std::uint64_t moment = 0; moment < spec_.moments; ++moment) {
      std::vector<Tensor> layers;
      for (const Tensor& output : outputs) {
        const Tensor values = moment == 1 ? output.square() : output;
        layers.push_back(spec_.pooled ? values.mean({2, 3}) : values.flatten(1));
      }
      if (spec_.whole) layers = {torch::cat(layers, 1)};
      for (std::size_t l = 0; l < layers.size(); ++l) {
        // An output without a number but 0 stays that; its gradient is 0, too.
        const Tensor norm = layers[l].square().sum(1, true).clamp_min(kLeastSquares).sqrt();
        sums.push_back(own.mm(layers[l] * (spec_.share(l) / norm)));
      }
    }
    return torch::cat(sums, 1);
  }

 private:
  static constexpr double kLeastSquares = 1e-30;

  /// Outputs for no images, for a rank that has none of a batch.
  std::vector<Tensor> none(const Tensor& x) const {
    std::vector<Tensor> out;
    for (const features::NetworkLayer& layer : spec_.layers)
      out.push_back(x.new_zeros({0, as_int(layer.channels), as_int(layer.height), as_int(layer.width)}) +
                    x.sum());
    return out;
  }

  features::PerceptualSpec spec_;
  std::int64_t dims_;
  networks::Network network_;
};

}  // namespace

TwinKind perceptual_twin() {
  return {"perceptual",
          [](const features::FeatureMap& map, const TwinPlace& place) -> std::unique_ptr<MapTwin> {
            return std::make_unique<PerceptualTwin>(dynamic_cast<const features::PerceptualMap&>(map), place);
          }};
}

}  // namespace muffle::model
