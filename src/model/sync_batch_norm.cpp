#include "muffle/model/sync_batch_norm.hpp"

#include <utility>

namespace muffle::model {
namespace {

using torch::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::tensor_list;

/// Carries the collective from forward to backward inside the graph, so that a graph may outlive its module.
struct CollectiveHolder : torch::CustomClassHolder {
  explicit CollectiveHolder(std::shared_ptr<TensorCollective> c) : collective(std::move(c)) {}
  std::shared_ptr<TensorCollective> collective;
};

struct SyncBatchNormFunction : torch::autograd::Function<SyncBatchNormFunction> {
  /// @returns y (n x F), and the global batch's mean (F), variance with N below (F) and N (1), all double but
  /// y.
  static tensor_list forward(AutogradContext* ctx, const Tensor& x, const Tensor& weight, const Tensor& bias,
                             std::shared_ptr<TensorCollective> collective) {
    const std::int64_t features = x.size(1);
    const Tensor wide = x.detach().to(torch::kFloat64);
    // float32 squares are exact in double, so E x^2 - (E x)^2 loses nothing that float32 could have shown.
    Tensor moments = torch::empty({1 + 2 * features}, wide.options());
    moments.narrow(0, 0, 1).fill_(static_cast<double>(x.size(0)));
    moments.narrow(0, 1, features).copy_(wide.sum(0));
    moments.narrow(0, 1 + features, features).copy_(wide.square().sum(0));
    if (collective) collective->all_reduce_sum(moments);

    const Tensor count = moments.narrow(0, 0, 1).clamp_min(1.0);
    const Tensor mean = moments.narrow(0, 1, features) / count;
    const Tensor variance =
        (moments.narrow(0, 1 + features, features) / count - mean.square()).clamp_min(0.0);
    const Tensor inverse_std = (variance + SyncBatchNorm::kEps).rsqrt();
    const Tensor normalised = ((wide - mean) * inverse_std).to(x.scalar_type());

    ctx->save_for_backward({normalised, inverse_std, weight, count});
    ctx->saved_data["collective"] =
        c10::IValue::make_capsule(c10::make_intrusive<CollectiveHolder>(std::move(collective)));
    ctx->mark_non_differentiable({mean, variance, count});
    return {normalised * weight + bias, mean, variance, count};
  }

  static tensor_list backward(AutogradContext* ctx, tensor_list gradients) {
    const auto saved = ctx->get_saved_variables();
    const Tensor &normalised = saved[0], &inverse_std = saved[1], &weight = saved[2], &count = saved[3];
    const auto capsule = ctx->saved_data["collective"].toCapsule();
    const auto& collective = static_cast<CollectiveHolder*>(capsule.get())->collective;

    const std::int64_t features = normalised.size(1);
    const Tensor dy = gradients[0].to(torch::kFloat64);
    const Tensor wide = normalised.to(torch::kFloat64);
    Tensor sums = torch::empty({2, features}, dy.options());
    sums.select(0, 0).copy_(dy.sum(0));
    sums.select(0, 1).copy_((dy * wide).sum(0));
    const Tensor own = sums.clone();
    if (collective) collective->all_reduce_sum(sums);

    const Tensor mean_dy = sums.select(0, 0) / count;
    const Tensor mean_dy_normalised = sums.select(0, 1) / count;
    const Tensor dx = (weight.to(torch::kFloat64) * inverse_std) * (dy - mean_dy - wide * mean_dy_normalised);
    return {dx.to(normalised.scalar_type()), own.select(0, 1).to(weight.scalar_type()),
            own.select(0, 0).to(weight.scalar_type()), Tensor()};
  }
};

}  // namespace

SyncBatchNorm::SyncBatchNorm(std::int64_t features, std::shared_ptr<TensorCollective> collective)
    : collective_(std::move(collective)) {
  weight = register_parameter("weight", torch::ones({features}));
  bias = register_parameter("bias", torch::zeros({features}));
  running_mean = register_buffer("running_mean", torch::zeros({features}));
  running_var = register_buffer("running_var", torch::ones({features}));
}

torch::Tensor SyncBatchNorm::forward(const torch::Tensor& x) {
  if (!is_training()) {
    const Tensor scale = weight * (running_var + kEps).rsqrt();
    return x * scale + (bias - running_mean * scale);
  }
  const tensor_list out = SyncBatchNormFunction::apply(x, weight, bias, collective_);
  const torch::NoGradGuard no_grad;
  const Tensor &mean = out[1], &variance = out[2], &count = out[3];
  const Tensor unbiased = variance * (count / (count - 1.0).clamp_min(1.0));
  running_mean.mul_(1.0 - momentum_).add_(mean.to(running_mean.scalar_type()), momentum_);
  running_var.mul_(1.0 - momentum_).add_(unbiased.to(running_var.scalar_type()), momentum_);
  return out[0];
}

}  // namespace muffle::model
