#include "step_graph.hpp"

#include <spdlog/spdlog.h>

#include <string>
#include <utility>

#include "muffle/core/error.hpp"

#ifdef MUFFLE_TORCH_CUDA
#include <ATen/cuda/CUDAGraph.h>
#endif

namespace muffle::train {

using torch::Tensor;

#ifdef MUFFLE_TORCH_CUDA

namespace {

/// A graph, and whether it is being recorded at the moment.
struct Recording {
  at::cuda::CUDAGraph graph;
  bool open = false;

  void begin() {
    // Errors are for this thread's own calls: NCCL's threads go on meanwhile. This thread alone may end it:
    // the backward pass, and with it all sums, run on it too (objective.cpp).
    graph.capture_begin({0, 0}, cudaStreamCaptureModeThreadLocal);
    open = true;
  }
  void end() {
    if (std::exchange(open, false)) graph.capture_end();
  }
  /// After an error: or the stream stays in capture mode.
  void give_up() noexcept {
    try {
      end();
    } catch (...) {
    }
  }
  /// Before the collective ends: an abort would wait for a half-recorded graph too.
  void drop() {
    give_up();
    graph.reset();
  }
};

struct RecordedStep : StepGraph {
  Tensor codes, labels, stop_request, learning_rate, seen;
  std::vector<Tensor> parameters, gradients, means, squares, steps;
  torch::optim::Adam* optimizer = nullptr;
  /// Shared with nobody, but looked at by the collective, which may end before or after it.
  std::shared_ptr<Recording> recording = std::make_shared<Recording>();
  model::TensorCollective* collective = nullptr;
  std::vector<comm::CollectiveUse> calls;  ///< in the graph

  /// Adam with its step counter and learning rate on the device: torch::optim::Adam keeps them on the host,
  /// where a graph would freeze them.
  void adam() {
    const auto& o =
        static_cast<const torch::optim::AdamOptions&>(optimizer->param_groups().front().options());
    at::_foreach_add_(steps, 1.0);
    at::_fused_adam_(parameters, gradients, means, squares, {}, steps, learning_rate, std::get<0>(o.betas()),
                     std::get<1>(o.betas()), o.weight_decay(), o.eps(), o.amsgrad(), /*maximize=*/false);
  }

  /// @returns what cannot be recorded; empty: nothing. @throws CommError, InvariantError  as `body`.
  std::string record(const Body& body) {
    try {
      recording->begin();
      try {
        seen = body(codes, labels, stop_request);
        const torch::NoGradGuard no_grad;
        adam();
      } catch (...) {
        recording->give_up();
        throw;
      }
      recording->end();
      return {};
    } catch (const DeviceError& e) {
      return e.what();  // a call that cannot be captured; the collective lives
    } catch (const Error&) {
      throw;  // the collective is dead, or a promise is broken: no step can follow
    } catch (const c10::Error& e) {
      return e.what_without_backtrace();
    } catch (const std::exception& e) {
      return e.what();
    }
  }

  Tensor replay(const Tensor& new_codes, const Tensor& new_labels, bool stop, double rate) override {
    const torch::NoGradGuard no_grad;
    codes.copy_(new_codes);
    labels.copy_(new_labels);
    stop_request.fill_(stop ? 1.0 : 0.0);
    learning_rate.fill_(rate);
    recording->graph.replay();
    collective->replayed(calls);
    for (const Tensor& p : parameters) {  // for checkpoints: the host's counter
      auto& state = adam_state(*optimizer, p);
      state.step(state.step() + 1);
    }
    return seen;
  }
};

}  // namespace

std::unique_ptr<StepGraph> StepGraph::capture(const Tensor& codes, const Tensor& labels,
                                              model::TensorCollective& collective,
                                              torch::optim::Adam& optimizer,
                                              const std::vector<Tensor>& parameters, std::uint64_t step,
                                              const Body& body) {
  if (!codes.device().is_cuda() || !collective.capturable()) {
    spdlog::info("train: no CUDA graph: {}",
                 codes.device().is_cuda() ? "sums go through host memory" : "the training runs on CPUs");
    return nullptr;
  }
  auto s = std::make_unique<RecordedStep>();
  s->optimizer = &optimizer;
  s->codes = codes.clone();
  s->labels = labels.clone();
  s->stop_request = torch::zeros({1}, codes.options());
  s->learning_rate = torch::zeros({}, codes.options());
  for (const Tensor& p : parameters) {
    auto& adam = adam_state(optimizer, p);
    s->parameters.push_back(p);
    s->gradients.push_back(p.grad());
    s->means.push_back(adam.exp_avg());
    s->squares.push_back(adam.exp_avg_sq());
    s->steps.push_back(torch::full({}, static_cast<double>(step), codes.options()));
  }
  s->collective = &collective;
  collective.before_end([weak = std::weak_ptr(s->recording)] {
    if (const auto recording = weak.lock()) recording->drop();
  });
  collective.wait();  // the recording finds nothing under way
  const std::vector<comm::CollectiveUse> before = collective.use();
  const std::string problem = s->record(body);
  // After a recording that CUDA has called invalid LibTorch (before 2.12, pytorch #180395) keeps pointing to
  // it.
  if (!problem.empty()) static_cast<void>(new std::shared_ptr<Recording>(s->recording));  // never deleted
  s->calls = comm::use_between(before, collective.use());
  Tensor failed = torch::full({1}, problem.empty() ? 0.0 : 1.0, codes.options());
  collective.all_reduce_sum(failed);
  collective.wait();
  if (failed.item<float>() > 0) {
    spdlog::warn(
        "train: the step was not recorded as a CUDA graph, so steps are launched kernel by kernel: {}",
        problem.empty() ? "another rank's log says why" : problem);
    return nullptr;
  }
  spdlog::info("train: from step {} on, a step is one CUDA graph", step);
  return s;
}

#else

std::unique_ptr<StepGraph> StepGraph::capture(const Tensor&, const Tensor&, model::TensorCollective&,
                                              torch::optim::Adam&, const std::vector<Tensor>&, std::uint64_t,
                                              const Body&) {
  spdlog::info("train: no CUDA graph: this LibTorch has no CUDA");
  return nullptr;
}

#endif

}  // namespace muffle::train
