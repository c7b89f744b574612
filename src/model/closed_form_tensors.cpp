#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "muffle/core/error.hpp"
#include "network.hpp"

namespace muffle::model {
namespace {

using torch::Tensor;

/// k of images with `channels` k^2 coefficients; 0: none.
std::size_t side_of(std::size_t coefficients, std::size_t channels) {
  const auto side = static_cast<std::size_t>(
      std::lround(std::sqrt(static_cast<double>(coefficients) / static_cast<double>(channels))));
  return side * side * channels == coefficients ? side : 0;
}

bool fits(const NetworkSettings& network, const schema::Schema& schema) {
  const auto& shape = schema.shape;
  if (network.code == 0 || shape.empty()) return false;
  if (!schema.is_image()) return network.code == schema.dims();
  const std::size_t side = side_of(network.code, shape[0]);
  return side > 0 && side <= std::min(shape[1], shape[2]);
}

void fill(Tensor& tensor, std::span<const double> numbers) {
  require(static_cast<std::size_t>(tensor.numel()) == numbers.size(),
          "a closed form does not fit the tensors made for it: this is a bug in muffle.");
  auto* out = tensor.data_ptr<float>();
  for (std::size_t i = 0; i < numbers.size(); ++i) out[i] = static_cast<float>(numbers[i]);
}

}  // namespace

ClosedFormTensors::ClosedFormTensors(const NetworkSettings& network, const schema::Schema& schema)
    : coefficients_(as_int(network.code)), plain_share_(network.plain_share) {
  if (!fits(network, schema)) {
    throw ConfigError(fmt::format(
        "a closed form of {} coefficients does not go with records of {} numbers: train again from a release",
        network.code, schema.dims()));
  }
  const bool image = schema.is_image();
  const std::int64_t classes = as_int(schema.classes), d = as_int(schema.dims());
  channels_ = image ? as_int(schema.shape[0]) : 1;
  side_ = image ? as_int(side_of(network.code, schema.shape[0])) : 0;
  height_ = image ? as_int(schema.shape[1]) : 0;
  width_ = image ? as_int(schema.shape[2]) : 0;
  factor_ = register_buffer("factor", torch::zeros({classes, coefficients_, coefficients_}));
  centre_ = register_buffer("centre", torch::zeros({classes, d}));
  location_ = register_buffer("location", torch::zeros({classes, d}));
  stretch_ = register_buffer("stretch", torch::zeros({classes, d}));
  rows_ = register_buffer("rows", torch::zeros({side_, height_}));
  columns_ = register_buffer("columns", torch::zeros({side_, width_}));
  unweight_ = register_buffer("unweight", torch::ones({coefficients_}));
}

void ClosedFormTensors::set(const MomentsModel& model) {
  const torch::NoGradGuard no_grad;
  const features::AffineLift* lift = model.moments.lift->affine();
  require(!model.grid && lift != nullptr && as_int(model.moments.lift->coefficients()) == coefficients_ &&
              as_int(model.mean.size()) == factor_.size(0),
          "a closed form does not fit the tensors made for it: this is a bug in muffle.");
  for (std::size_t c = 0; c < model.mean.size(); ++c) {
    const moments::PixelLaw law = moments::make_pixel_law(*lift, model.mean[c], model.factor[c]);
    // Eigen's matrices lie column by column.
    const Eigen::MatrixXd rowwise = model.factor[c].transpose();
    Tensor factor = factor_[as_int(c)], centre = centre_[as_int(c)], location = location_[as_int(c)],
           stretch = stretch_[as_int(c)];
    fill(factor, {rowwise.data(), static_cast<std::size_t>(rowwise.size())});
    fill(centre, law.centre);
    fill(location, law.location);
    fill(stretch, law.stretch);
  }
  if (side_ == 0) return;
  fill(rows_, lift->rows);
  fill(columns_, lift->columns);
  std::vector<double> unweight;
  for (const double w : lift->weights) unweight.push_back(1.0 / w);
  fill(unweight_, unweight);
}

Tensor ClosedFormTensors::back(const Tensor& around) const {
  if (side_ == 0) return around;
  const std::int64_t n = around.size(0);
  const Tensor u = (around * unweight_).view({n, channels_, side_, side_});
  return torch::matmul(rows_.t(), torch::matmul(u, columns_)).reshape({n, channels_ * height_ * width_});
}

Tensor ClosedFormTensors::forward(const Tensor& code, const Tensor& labels) const {
  const Tensor e = code.narrow(1, 0, coefficients_);
  const Tensor plain = code.narrow(1, coefficients_, 1) < plain_share_;
  const Tensor g = back(times_own_factor(e, labels, factor_, rows_on(labels)));
  const Tensor kept = location_.index_select(0, labels) + stretch_.index_select(0, labels) * g;
  return torch::where(plain, centre_.index_select(0, labels) + g, kept);
}

double closed_form_numbers(const NetworkSettings& network, const schema::Schema& schema) {
  if (!fits(network, schema)) return -1e300;
  const auto n = static_cast<double>(network.code), d = static_cast<double>(schema.dims());
  double numbers = static_cast<double>(schema.classes) * (n * n + 3 * d) + n;
  if (schema.is_image())
    numbers += static_cast<double>(side_of(network.code, schema.shape[0])) *
               static_cast<double>(schema.shape[1] + schema.shape[2]);
  return numbers;
}

}  // namespace muffle::model
