#include <torch/torch.h>

#include <cmath>

#include "by_class.hpp"
#include "muffle/core/error.hpp"
#include "muffle/features/mixed.hpp"
#include "muffle/model/map_twin.hpp"

namespace muffle::model {
namespace {

using torch::Tensor;

/// Sums of a relaxed record's entries: linear, so that those of probabilities are the expected ones of rows
/// that are drawn with them.
class OneHotTwin : public MapTwin {
 public:
  OneHotTwin(const features::OneHotMap& map, const TwinPlace& place)
      : MapTwin(place, map.features()), layout_(map.layout()) {}

  Tensor class_sums(const Tensor& x, const Tensor& labels) const override {
    require(x.dim() == 2 && x.size(1) == as_int(layout_.width()) && labels.size(0) == x.size(0),
            "records are not relaxed as the twin of one-hot entries takes them: this is a bug in muffle.");
    const double entry = 1.0 / std::sqrt(static_cast<double>(layout_.entries));
    const Tensor own = torch::zeros({place().classes, x.size(0)}, x.options().requires_grad(false))
                           .scatter_(0, labels.unsqueeze(0), entry);
    return own.mm(x.narrow(1, as_int(layout_.numbers.size()), as_int(layout_.entries)));
  }

 private:
  features::MixedLayout layout_;
};

}  // namespace

TwinKind one_hot_twin() {
  return {.name = "one-hot",
          .make = [](const features::FeatureMap& map, const TwinPlace& place) -> std::unique_ptr<MapTwin> {
            return std::make_unique<OneHotTwin>(dynamic_cast<const features::OneHotMap&>(map), place);
          }};
}

}  // namespace muffle::model
