#include "muffle/model/fourier_embedding.hpp"

#include <fmt/format.h>
#include <torch/torch.h>

#include <cmath>

#include "muffle/core/error.hpp"
#include "muffle/moments/fourier_kernel.hpp"

namespace muffle::model {
namespace {

using torch::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::tensor_list;

constexpr double kTwoPi = 6.283185307179586476925;
/// Up to this many numbers a record, phases are made twice instead of stored.
constexpr std::int64_t kFewDims = 8;

std::size_t as_size(std::int64_t n) { return static_cast<std::size_t>(n); }

double scale_of(const Tensor& frequencies) {
  return std::sqrt(1.0 / static_cast<double>(frequencies.size(0)));
}

/// @param given  records, or their phases where there are no transposed frequencies
moments::Phases phases_of(const Tensor& given, const Tensor& transposed) {
  const float* numbers = given.data_ptr<float>();
  if (transposed.numel() == 0) return {numbers};
  return {nullptr, numbers, as_size(given.size(1)), transposed.data_ptr<float>()};
}

/// float32 on the CPU: our own kernels; phases are kept for backward, sines and cosines are computed again.
struct HostClassSums : torch::autograd::Function<HostClassSums> {
  static Tensor forward(AutogradContext* ctx, const Tensor& x, const Tensor& labels,
                        const Tensor& frequencies, const Tensor& transposed, std::int64_t classes) {
    const std::int64_t half = frequencies.size(0);
    const Tensor records = x.contiguous();
    const Tensor given = transposed.numel() > 0 ? records : records.mm(frequencies.t()).contiguous();
    Tensor sums = torch::zeros({classes, 2 * half}, x.options());
    moments::add_class_sums(phases_of(given, transposed), labels.data_ptr<std::int64_t>(), as_size(x.size(0)),
                            as_size(half), sums.data_ptr<float>(), at::get_num_threads());
    ctx->save_for_backward({given, labels, frequencies, transposed});
    return sums.mul_(scale_of(frequencies));
  }

  static tensor_list backward(AutogradContext* ctx, tensor_list gradients) {
    const auto saved = ctx->get_saved_variables();
    const Tensor &given = saved[0], &labels = saved[1], &frequencies = saved[2], &transposed = saved[3];
    const Tensor g = gradients[0].contiguous();
    const bool few = transposed.numel() > 0;
    Tensor out = few ? torch::zeros_like(given) : torch::empty_like(given);
    moments::add_gradients(phases_of(given, transposed), labels.data_ptr<std::int64_t>(), g.data_ptr<float>(),
                           as_size(labels.size(0)), as_size(frequencies.size(0)),
                           static_cast<float>(kTwoPi * scale_of(frequencies)), out.data_ptr<float>(),
                           at::get_num_threads());
    const Tensor dx = few ? out : out.mm(frequencies);
    return {dx, Tensor(), Tensor(), Tensor(), Tensor()};
  }
};

/// Any device and type: two matrix products each way, and n x D temporaries.
struct TensorClassSums : torch::autograd::Function<TensorClassSums> {
  static Tensor forward(AutogradContext* ctx, const Tensor& x, const Tensor& labels,
                        const Tensor& frequencies, std::int64_t classes) {
    const Tensor angles = x.mm(frequencies.t()).mul_(kTwoPi);
    const Tensor phi = torch::cat({angles.cos(), angles.sin()}, 1).mul_(scale_of(frequencies));
    const Tensor one_hot =
        torch::zeros({classes, x.size(0)}, x.options()).scatter_(0, labels.unsqueeze(0), 1.0);
    ctx->save_for_backward({phi, labels, frequencies});
    return one_hot.mm(phi);
  }

  static tensor_list backward(AutogradContext* ctx, tensor_list gradients) {
    const auto saved = ctx->get_saved_variables();
    const Tensor &phi = saved[0], &labels = saved[1], &frequencies = saved[2];
    const std::int64_t half = frequencies.size(0);
    const Tensor g = gradients[0].index_select(0, labels);
    const Tensor back =
        phi.narrow(1, 0, half) * g.narrow(1, half, half) - phi.narrow(1, half, half) * g.narrow(1, 0, half);
    return {back.mm(frequencies).mul_(kTwoPi), Tensor(), Tensor(), Tensor()};
  }
};

}  // namespace

FourierEmbedding::FourierEmbedding(torch::Tensor frequencies, std::int64_t classes)
    : frequencies_(frequencies.contiguous()), transposed_(torch::empty({0})), classes_(classes) {
  require(frequencies_.dim() == 2 && frequencies_.numel() > 0 && classes > 0,
          "frequencies must be a (D/2) x d matrix, and classes at least 1");
  if (frequencies_.device().is_cpu() && frequencies_.scalar_type() == torch::kFloat32 &&
      frequencies_.size(1) <= kFewDims) {
    transposed_ = frequencies_.t().contiguous();
  }
}

torch::Tensor FourierEmbedding::class_sums(const torch::Tensor& x, const torch::Tensor& labels) const {
  require(x.dim() == 2 && x.size(1) == frequencies_.size(1) &&
              x.scalar_type() == frequencies_.scalar_type() && x.device() == frequencies_.device(),
          fmt::format(
              "records of {} dimension(s) and last size {} do not fit frequencies for {} numbers a record",
              x.dim(), x.dim() ? x.size(-1) : 0, frequencies_.size(1)));
  require(labels.dim() == 1 && labels.size(0) == x.size(0) && labels.scalar_type() == torch::kInt64 &&
              labels.device() == x.device(),
          fmt::format("{} labels do not fit {} records", labels.numel(), x.size(0)));
  if (!x.device().is_cpu() || x.scalar_type() != torch::kFloat32) {
    return TensorClassSums::apply(x, labels, frequencies_, classes_);
  }
  const Tensor own_labels = labels.contiguous();
  const std::int64_t* y = own_labels.data_ptr<std::int64_t>();
  for (std::int64_t i = 0; i < labels.size(0); ++i) {
    require(y[i] >= 0 && y[i] < classes_,
            fmt::format("label {} of record {} is not in 0..{}", y[i], i, classes_ - 1));
  }
  return HostClassSums::apply(x, own_labels, frequencies_, transposed_, classes_);
}

}  // namespace muffle::model
