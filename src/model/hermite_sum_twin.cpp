#include <torch/torch.h>

#include <cmath>
#include <vector>

#include "by_class.hpp"
#include "muffle/core/error.hpp"
#include "muffle/features/hermite_sum.hpp"
#include "muffle/model/map_twin.hpp"

namespace muffle::model {
namespace {

using torch::Tensor;

/// Hermite features of generated records, summed by class, order by order: what autograd keeps is n x d
/// numbers for each order.
class HermiteSumTwin : public MapTwin {
 public:
  HermiteSumTwin(const features::HermiteSumMap& map, const TwinPlace& place)
      : MapTwin(place, map.features()), dims_(as_int(map.dims())), terms_(map.recursion()) {}

  Tensor class_sums(const Tensor& x, const Tensor& labels) const override {
    require(x.dim() == 2 && x.size(1) == dims_ && labels.dim() == 1 && labels.size(0) == x.size(0),
            "records and labels do not fit the Hermite features' twin: this is a bug in muffle.");
    // Each class's records, as a matrix of 0 and 1 that also divides by sqrt(d).
    const Tensor own = torch::zeros({place().classes, x.size(0)}, x.options().requires_grad(false))
                           .scatter_(0, labels.unsqueeze(0), 1.0 / std::sqrt(static_cast<double>(dims_)));
    const Tensor t = x - 0.5;
    Tensor before, psi = terms_.height * torch::exp(-terms_.fall * t.square());
    std::vector<Tensor> sums{own.mm(psi)};
    for (std::size_t k = 1; k < terms_.count(); ++k) {
      Tensor next = terms_.up[k] * t * psi;
      if (k > 1) next = next - terms_.back[k] * before;
      before = psi;
      psi = next;
      sums.push_back(own.mm(psi));
    }
    return torch::cat(sums, 1);
  }

 private:
  std::int64_t dims_;
  features::HermiteRecursion terms_;
};

}  // namespace

TwinKind hermite_sum_twin() {
  return {"hermite-sum",
          [](const features::FeatureMap& map, const TwinPlace& place) -> std::unique_ptr<MapTwin> {
            return std::make_unique<HermiteSumTwin>(dynamic_cast<const features::HermiteSumMap&>(map), place);
          }};
}

}  // namespace muffle::model
