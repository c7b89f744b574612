#include <torch/torch.h>

#include <cmath>
#include <vector>

#include "by_class.hpp"
#include "muffle/core/error.hpp"
#include "muffle/features/hermite_product.hpp"
#include "muffle/model/map_twin.hpp"

namespace muffle::model {
namespace {

using torch::Tensor;

/// Products of Hermite features of generated records, summed by class. A subset's last column is multiplied
/// by the sum over records, so that no record's (C + 1)^p numbers are ever there, only (C + 1)^(p-1).
class HermiteProductTwin : public MapTwin {
 public:
  HermiteProductTwin(const features::HermiteProductMap& map, const TwinPlace& place)
      : MapTwin(place, map.features()),
        dims_(as_int(map.dims())),
        terms_(map.recursion()),
        subsets_(map.subsets()) {}

  Tensor class_sums(const Tensor& x, const Tensor& labels) const override {
    require(x.dim() == 2 && x.size(1) == dims_ && labels.dim() == 1 && labels.size(0) == x.size(0),
            "records and labels do not fit the Hermite products' twin: this is a bug in muffle.");
    const Tensor psi = functions(x - 0.5);
    // Each class's records, as a matrix of 0 and 1 that also divides by sqrt(S).
    const Tensor own =
        torch::zeros({place().classes, x.size(0)}, x.options().requires_grad(false))
            .scatter_(0, labels.unsqueeze(0), 1.0 / std::sqrt(static_cast<double>(subsets_.size())));
    std::vector<Tensor> sums;
    for (const std::vector<std::size_t>& columns : subsets_) {
      Tensor product = torch::ones({x.size(0), 1}, own.options());
      for (std::size_t c = 0; c + 1 < columns.size(); ++c) {
        const Tensor next = psi.select(1, as_int(columns[c]));
        product = (product.unsqueeze(2) * next.unsqueeze(1)).flatten(1);
      }
      const Tensor last = psi.select(1, as_int(columns.back()));
      // C x n x P, transposed, times n x (C + 1).
      const Tensor by_class = own.unsqueeze(2) * product.unsqueeze(0);
      sums.push_back(torch::matmul(by_class.transpose(1, 2), last).flatten(1));
    }
    return torch::cat(sums, 1);
  }

 private:
  /// n x d x (C + 1).
  Tensor functions(const Tensor& t) const {
    std::vector<Tensor> psi{terms_.height * torch::exp(-terms_.fall * t.square())};
    for (std::size_t k = 1; k < terms_.count(); ++k) {
      Tensor next = terms_.up[k] * t * psi[k - 1];
      if (k > 1) next = next - terms_.back[k] * psi[k - 2];
      psi.push_back(std::move(next));
    }
    return torch::stack(psi, 2);
  }

  std::int64_t dims_;
  features::HermiteRecursion terms_;
  std::vector<std::vector<std::size_t>> subsets_;
};

}  // namespace

TwinKind hermite_product_twin() {
  return {"hermite-product",
          [](const features::FeatureMap& map, const TwinPlace& place) -> std::unique_ptr<MapTwin> {
            return std::make_unique<HermiteProductTwin>(dynamic_cast<const features::HermiteProductMap&>(map),
                                                        place);
          }};
}

}  // namespace muffle::model
