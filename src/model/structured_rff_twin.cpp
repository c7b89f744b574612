#include <torch/torch.h>

#include <cmath>
#include <vector>

#include "by_class.hpp"
#include "muffle/core/error.hpp"
#include "muffle/features/structured_rff.hpp"
#include "muffle/model/map_twin.hpp"

namespace muffle::model {
namespace {

using torch::Tensor;

/// The unnormalised Hadamard matrix of that size, a power of two.
Tensor hadamard_matrix(std::int64_t size, const torch::TensorOptions& like) {
  Tensor h = torch::ones({1, 1}, like);
  while (h.size(0) < size) h = torch::cat({torch::cat({h, h}, 1), torch::cat({h, -h}, 1)}, 0);
  return h;
}

/// Structured random Fourier features of generated records. A transform of size d' is two products with
/// Hadamard matrices of about sqrt(d').
class StructuredRffTwin : public MapTwin {
 public:
  StructuredRffTwin(const features::StructuredRffMap& map, const TwinPlace& place)
      : MapTwin(place, map.features()), dims_(as_int(map.dims())), count_(as_int(map.features() / 2)) {
    const features::StructuredFrequencies all = map.frequencies();
    size_ = as_int(all.size);
    blocks_ = as_int(all.blocks);
    std::int64_t rows = 1;
    while (rows * rows < size_) rows *= 2;
    left_ = hadamard_matrix(size_ / rows, place.like);
    right_ = hadamard_matrix(rows, place.like);
    for (const std::vector<float>& signs : all.signs)
      signs_.push_back(torch::tensor(signs, torch::kFloat32).view({blocks_, size_}).to(place.like));
    // With the three 1 / sqrt(d') of the transforms.
    const double size = static_cast<double>(all.size);
    lengths_ = (torch::tensor(all.lengths, torch::kFloat64) / (size * std::sqrt(size))).to(place.like);
  }

  Tensor class_sums(const Tensor& x, const Tensor& labels) const override {
    require(x.dim() == 2 && x.size(1) == dims_ && labels.dim() == 1 && labels.size(0) == x.size(0),
            "records and labels do not fit the structured features' twin: this is a bug in muffle.");
    const std::int64_t n = x.size(0);
    Tensor v = torch::constant_pad_nd(x, {0, size_ - dims_}).unsqueeze(1);
    for (const Tensor& signs : signs_) v = transform(v * signs);
    const Tensor phases = v.reshape({n, blocks_ * size_}).narrow(1, 0, count_) * lengths_;
    const Tensor own = torch::zeros({place().classes, n}, x.options().requires_grad(false))
                           .scatter_(0, labels.unsqueeze(0), 1.0 / std::sqrt(static_cast<double>(count_)));
    return torch::cat({own.mm(torch::cos(phases)), own.mm(torch::sin(phases))}, 1);
  }

 private:
  /// n x blocks x d' numbers, each row times H.
  Tensor transform(const Tensor& v) const {
    const Tensor square = v.reshape({v.size(0), blocks_, left_.size(0), right_.size(0)});
    return torch::matmul(torch::matmul(left_, square), right_).reshape({v.size(0), blocks_, size_});
  }

  std::int64_t dims_, count_, size_ = 0, blocks_ = 0;
  Tensor left_, right_;  ///< H is their Kronecker product; both symmetric
  std::vector<Tensor> signs_;
  Tensor lengths_;
};

}  // namespace

TwinKind structured_rff_twin() {
  return {"structured-rff",
          [](const features::FeatureMap& map, const TwinPlace& place) -> std::unique_ptr<MapTwin> {
            return std::make_unique<StructuredRffTwin>(dynamic_cast<const features::StructuredRffMap&>(map),
                                                       place);
          }};
}

}  // namespace muffle::model
