#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "by_class.hpp"
#include "muffle/core/error.hpp"
#include "muffle/features/structured_rff.hpp"
#include "muffle/model/map_twin.hpp"
#include "muffle/moments/fourier_kernel.hpp"

namespace muffle::model {
namespace {

using torch::Tensor;

/// The unnormalised Hadamard matrix of that size, a power of two.
Tensor hadamard_matrix(std::int64_t size, const torch::TensorOptions& like) {
  Tensor h = torch::ones({1, 1}, like);
  while (h.size(0) < size) h = torch::cat({torch::cat({h, h}, 1), torch::cat({h, -h}, 1)}, 0);
  return h;
}

/// Calls of(first record, how many) for all n, as many at a time as the kernels take, on LibTorch's threads.
template <class Of>
void in_groups(std::int64_t n, const Of& of) {
  const std::int64_t most = as_int(features::StructuredPhases::kRecords);
  at::parallel_for(0, (n + most - 1) / most, 1, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t i = begin * most; i < std::min(end * most, n); i += most)
      of(i, static_cast<std::size_t>(std::min(most, n - i)));
  });
}

/// float32 on the CPU: our own kernels; phases are kept for backward, sines and cosines are computed again.
struct HostStructuredSums : torch::autograd::Function<HostStructuredSums> {
  using Transform = std::shared_ptr<const features::StructuredPhases>;
  /// What backward() goes by may outlive the twin.
  struct Held : torch::CustomClassHolder {
    explicit Held(Transform of) : transform(std::move(of)) {}
    Transform transform;
  };

  static Tensor forward(torch::autograd::AutogradContext* ctx, const Tensor& x, const Tensor& labels,
                        const Transform& transform, std::int64_t half, std::int64_t classes) {
    const Tensor records = x.contiguous(), phases = torch::empty({x.size(0), half}, x.options());
    in_groups(x.size(0), [&](std::int64_t i, std::size_t n) {
      transform->phases(records.data_ptr<float>() + i * x.size(1), n, phases.data_ptr<float>() + i * half);
    });
    Tensor sums = torch::zeros({classes, 2 * half}, x.options());
    moments::add_class_sums({phases.data_ptr<float>()}, labels.data_ptr<std::int64_t>(), as_size(x.size(0)),
                            as_size(half), sums.data_ptr<float>(), at::get_num_threads());
    ctx->save_for_backward({phases, labels});
    ctx->saved_data["dims"] = x.size(1);
    ctx->saved_data["transform"] = c10::IValue::make_capsule(c10::make_intrusive<Held>(transform));
    return sums.mul_(1.0 / std::sqrt(static_cast<double>(half)));
  }

  static torch::autograd::tensor_list backward(torch::autograd::AutogradContext* ctx,
                                               torch::autograd::tensor_list gradients) {
    const auto saved = ctx->get_saved_variables();
    const Tensor &phases = saved[0], &labels = saved[1], g = gradients[0].contiguous();
    const std::int64_t n = phases.size(0), half = phases.size(1), dims = ctx->saved_data["dims"].toInt();
    const auto held = ctx->saved_data["transform"].toCapsule();
    const Transform& transform = dynamic_cast<const Held&>(*held).transform;
    const Tensor of_phases = torch::empty_like(phases), out = torch::empty({n, dims}, phases.options());
    moments::add_gradients({phases.data_ptr<float>()}, labels.data_ptr<std::int64_t>(), g.data_ptr<float>(),
                           as_size(n), as_size(half),
                           static_cast<float>(2.0 * M_PI / std::sqrt(static_cast<double>(half))),
                           of_phases.data_ptr<float>(), at::get_num_threads());
    in_groups(n, [&](std::int64_t i, std::size_t count) {
      transform->gradients(of_phases.data_ptr<float>() + i * half, count, out.data_ptr<float>() + i * dims);
    });
    return {out, Tensor(), Tensor(), Tensor(), Tensor()};
  }

 private:
  static std::size_t as_size(std::int64_t n) { return static_cast<std::size_t>(n); }
};

/// Structured random Fourier features of generated records. Where our kernels do not reach (a GPU, float64),
/// a transform of size d' is two products with Hadamard matrices of about sqrt(d').
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
    if (place.like.device().is_cpu() && place.like.dtype() == torch::kFloat32)
      kernels_ = std::make_shared<const features::StructuredPhases>(all, map.dims());
    lengths_ = (torch::tensor(all.lengths, torch::kFloat64) / (size * std::sqrt(size))).to(place.like);
  }

  Tensor class_sums(const Tensor& x, const Tensor& labels) const override {
    require(x.dim() == 2 && x.size(1) == dims_ && labels.dim() == 1 && labels.size(0) == x.size(0),
            "records and labels do not fit the structured features' twin: this is a bug in muffle.");
    const std::int64_t n = x.size(0);
    if (kernels_) {
      const Tensor own = labels.contiguous();
      const std::int64_t* const y = own.data_ptr<std::int64_t>();
      require(
          std::all_of(y, y + n, [&](std::int64_t label) { return label >= 0 && label < place().classes; }),
          "labels are no classes of the structured features' twin: this is a bug in muffle.");
      return HostStructuredSums::apply(x, own, kernels_, count_, place().classes);
    }
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
  HostStructuredSums::Transform kernels_;  ///< null: LibTorch's operations
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
