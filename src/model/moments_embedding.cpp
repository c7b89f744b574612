#include "muffle/model/moments_embedding.hpp"

#include <torch/torch.h>

#include <span>

#include "as_int.hpp"
#include "by_class.hpp"
#include "muffle/core/error.hpp"

namespace muffle::model {
namespace {

using torch::Tensor;

Tensor tensor_of(std::span<const double> numbers, std::vector<std::int64_t> shape,
                 const torch::TensorOptions& like) {
  const Tensor plain = torch::tensor(c10::ArrayRef<double>(numbers.data(), numbers.size()), torch::kFloat64);
  return plain.view(shape).to(like.device(), c10::typeMetaToScalarType(like.dtype()));
}

}  // namespace

MomentsEmbedding::MomentsEmbedding(const features::MomentsSpec& spec, std::int64_t classes,
                                   const torch::TensorOptions& like)
    : classes_(classes), order_(as_int(features::moments_order(spec))), offset_(spec.offset) {
  const features::MomentLift lift(spec);
  require(lift.is_affine(), "only affine lifts have a differentiable embedding: this is a bug in muffle.");
  blob_ = tensor_of(lift.blob(), {as_int(lift.dims())}, like);
  if (spec.kind != features::MomentLiftKind::kImage) return;
  const std::int64_t side = as_int(spec.coefficients);
  channels_ = as_int(spec.shape[0]);
  height_ = as_int(spec.shape[1]);
  width_ = as_int(spec.shape[2]);
  weights_ = tensor_of(lift.weights(), {order_ - 1}, like);
  rows_ = tensor_of(lift.rows(), {side, height_}, like);
  columns_ = tensor_of(lift.columns(), {side, width_}, like);
}

Tensor MomentsEmbedding::lifted(const Tensor& x) const {
  const Tensor centred = x - blob_;
  if (channels_ == 0) return centred;
  const std::int64_t n = x.size(0);
  const Tensor images = centred.view({n, channels_, height_, width_});
  const Tensor u = torch::matmul(rows_, torch::matmul(images, columns_.t()));
  return u.reshape({n, order_ - 1}) * weights_;
}

Tensor MomentsEmbedding::class_sums(const Tensor& x, const Tensor& labels) const {
  require(x.dim() == 2 && x.size(1) == blob_.size(0) && labels.dim() == 1 && labels.size(0) == x.size(0),
          "records and labels do not fit the moments' embedding: this is a bug in muffle.");
  const Tensor u = lifted(x);
  const Tensor z = torch::cat({torch::full({x.size(0), 1}, offset_, x.options()), u}, 1);
  const Tensor unit = z / z.square().sum(1, true).sqrt();
  return sums_of_squares(unit, labels, classes_, rows_on(labels));
}

}  // namespace muffle::model
