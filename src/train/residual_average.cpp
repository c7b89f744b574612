#include "muffle/train/residual_average.hpp"

#include <torch/torch.h>

namespace muffle::train {

using torch::Tensor;

ResidualAverage::ResidualAverage(const Tensor& like, double rate)
    : rate_(rate),
      value_(torch::zeros_like(like)),
      mean_(torch::zeros_like(like)),
      square_(torch::zeros_like(like)),
      steps_(torch::zeros({}, like.options().dtype(torch::kFloat64))) {}

const Tensor& ResidualAverage::step(const Tensor& residual) {
  const torch::NoGradGuard no_grad;
  steps_.add_(1.0);
  const Tensor gradient = (value_ - residual).mul_(2.0);
  mean_.mul_(kBeta1).add_(gradient, 1.0 - kBeta1);
  square_.mul_(kBeta2).addcmul_(gradient, gradient, 1.0 - kBeta2);
  const auto unbiased = [this](const Tensor& moment, double beta) {
    const Tensor share = torch::pow(torch::full_like(steps_, beta), steps_).neg().add_(1.0);
    return moment / share.to(moment.scalar_type());
  };
  value_.sub_(unbiased(mean_, kBeta1).div_(unbiased(square_, kBeta2).sqrt_().add_(kEps)).mul_(rate_));
  return value_;
}

std::vector<std::pair<std::string, Tensor>> ResidualAverage::tensors() const {
  return {{"value", value_}, {"mean", mean_}, {"square", square_}};
}

void ResidualAverage::set_steps(std::uint64_t steps) { steps_.fill_(static_cast<double>(steps)); }

}  // namespace muffle::train
