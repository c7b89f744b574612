#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <sstream>
#include <type_traits>
#include <vector>

#include "muffle/model/collective.hpp"

namespace muffle::train {

/// One training step, optimizer included, as a CUDA graph: recorded once, then launched as a whole, which
/// saves the launches of some hundred small kernels a step. Its inputs are copied to where it was recorded to
/// read them. Holds the tensors that the recorded kernels use.
class StepGraph {
 public:
  /// (codes, labels, stop_request) -> what the host will read; gradients are summed when it returns.
  using Body = std::function<torch::Tensor(const torch::Tensor&, const torch::Tensor&, const torch::Tensor&)>;

  /// Records `body`, run on tensors like `codes` and `labels`, and Adam's step after it; executes nothing.
  /// Collective: null on every rank, with a line in the log, if it cannot be recorded on any.
  /// @param step  that the optimizer has taken so far
  static std::unique_ptr<StepGraph> capture(const torch::Tensor& codes, const torch::Tensor& labels,
                                            model::TensorCollective& collective,
                                            torch::optim::Adam& optimizer,
                                            const std::vector<torch::Tensor>& parameters, std::uint64_t step,
                                            const Body& body);
  virtual ~StepGraph() = default;

  /// Enqueues one step. @returns what `body` returned, of this step, once the device has done it.
  virtual torch::Tensor replay(const torch::Tensor& codes, const torch::Tensor& labels, bool stop_request,
                               double learning_rate) = 0;
};

/// Adam's moments of one parameter; made on demand, as the first step would.
inline torch::optim::AdamParamState& adam_state(torch::optim::Adam& optimizer,
                                                const torch::Tensor& parameter) {
  const auto find = [&](auto& states) -> auto& {  // by the parameter's address, as text in LibTorch 1.x
    using Key = typename std::remove_reference_t<decltype(states)>::key_type;
    if constexpr (std::is_same_v<Key, void*>)
      return states[parameter.unsafeGetTensorImpl()];
    else
      return states[(std::ostringstream() << parameter.unsafeGetTensorImpl()).str()];
  };
  auto& state = find(optimizer.state());
  if (!state) {
    auto fresh = std::make_unique<torch::optim::AdamParamState>();
    const torch::Tensor zeros = torch::zeros_like(parameter, torch::MemoryFormat::Preserve).detach();
    fresh->step(0).exp_avg(zeros).exp_avg_sq(zeros.clone());
    state = std::move(fresh);
  }
  return static_cast<torch::optim::AdamParamState&>(*state);
}

}  // namespace muffle::train
