#include <torch/torch.h>

#include <span>
#include <vector>

#include "by_class.hpp"
#include "muffle/core/error.hpp"
#include "muffle/features/lift.hpp"
#include "muffle/model/map_twin.hpp"

namespace muffle::model {
namespace {

using torch::Tensor;

Tensor tensor_of(std::span<const double> numbers, std::vector<std::int64_t> shape,
                 const torch::TensorOptions& like) {
  return torch::tensor(c10::ArrayRef<double>(numbers.data(), numbers.size()), torch::kFloat64)
      .view(shape)
      .to(like);
}

/// Second moments of affine lifts: S_c = sum of z z^T, z = [c0; u(x)] / ||[c0; u(x)]||, each a symmetric q x
/// q matrix row by row. Both triangles are there, so that squared distances are the features', whose entries
/// beside the diagonal carry sqrt(2). For a loss with gradient R in S_c the gradient in z is (R + R^T) z, two
/// products of matrices: the D numbers of a record's z z^T are never formed.
class MomentsTwin : public MapTwin {
 public:
  MomentsTwin(const features::SecondMoments& moments, const TwinPlace& place)
      : MapTwin(place, moments.order() * moments.order()),
        order_(as_int(moments.order())),
        offset_(moments.offset) {
    const features::AffineLift& lift = *moments.lift->affine();
    origin_ = tensor_of(lift.origin, {as_int(lift.origin.size())}, place.like);
    if (lift.rows.empty()) return;
    channels_ = as_int(lift.channels);
    height_ = as_int(lift.height);
    width_ = as_int(lift.width);
    weights_ = tensor_of(lift.weights, {order_ - 1}, place.like);
    rows_ = tensor_of(lift.rows, {as_int(lift.side), height_}, place.like);
    columns_ = tensor_of(lift.columns, {as_int(lift.side), width_}, place.like);
  }

  Tensor class_sums(const Tensor& x, const Tensor& labels) const override {
    require(x.dim() == 2 && x.size(1) == origin_.size(0) && labels.dim() == 1 && labels.size(0) == x.size(0),
            "records and labels do not fit the moments' twin: this is a bug in muffle.");
    const Tensor u = lifted(x);
    const Tensor z = torch::cat({torch::full({x.size(0), 1}, offset_, x.options()), u}, 1);
    const Tensor unit = z / z.square().sum(1, true).sqrt();
    return sums_of_squares(unit, labels, place().classes, rows_on(labels));
  }

  Tensor target(std::span<const std::int64_t> sums, double scale, double records) const override {
    const auto q = static_cast<std::size_t>(order_), features = q * (q + 1) / 2;
    std::vector<double> second;
    second.reserve(sums.size() / features * q * q);
    for (; !sums.empty(); sums = sums.subspan(features)) {
      for (std::size_t i = 0; i < q; ++i) {
        for (std::size_t j = 0; j < q; ++j)
          second.push_back(static_cast<double>(sums[features::SecondMoments::index(q, i, j)]) / scale);
      }
    }
    const Tensor mean = torch::tensor(second, torch::kFloat64) / records;
    return mean.view({place().classes, -1}).to(place().like);
  }

  double noise_square(std::span<const double> sigmas, double scale, double records) const override {
    const auto q = static_cast<double>(order_);
    const double diagonal = sigmas[0] / scale, beside = sigmas.size() > 1 ? sigmas[1] / scale : 0.0;
    return q * (diagonal * diagonal + (q - 1) * beside * beside) / (records * records);
  }

 private:
  Tensor lifted(const Tensor& x) const {
    const Tensor centred = x - origin_;
    if (channels_ == 0) return centred;
    const std::int64_t n = x.size(0);
    const Tensor images = centred.view({n, channels_, height_, width_});
    const Tensor u = torch::matmul(rows_, torch::matmul(images, columns_.t()));
    return u.reshape({n, order_ - 1}) * weights_;
  }

  std::int64_t order_, channels_ = 0, height_ = 0, width_ = 0;  ///< channels 0: plain vectors
  double offset_;
  Tensor origin_, weights_, rows_, columns_;  ///< of plain vectors the last three are empty
};

}  // namespace

TwinKind moments_twin() {
  return {"moments", [](const features::FeatureMap& map, const TwinPlace& place) -> std::unique_ptr<MapTwin> {
            return std::make_unique<MomentsTwin>(map.second_moments()->moments(), place);
          }};
}

}  // namespace muffle::model
