#include "muffle/train/proxy.hpp"

#include <torch/torch.h>

#include <cmath>

#include "muffle/core/error.hpp"

namespace muffle::train {
namespace {

using torch::Tensor;

Tensor doubles(const Tensor& t) { return t.to(torch::kCPU, torch::kFloat64); }

/// sum_c w_c <a_c, b_c>.
double product(const Tensor& a, const Tensor& b, const Tensor& weights) {
  return ((a * b).sum(1) * weights).sum().item<double>();
}

}  // namespace

Tensor sampling_error(const Tensor& mean, const Measurement& m) {
  const Tensor share = torch::tensor(m.class_share, torch::kFloat64);
  const Tensor square = doubles(mean).square().sum(1);
  return (share - square / share.clamp_min(1e-12)).clamp_min(0.0) / static_cast<double>(m.batch * m.batches);
}

model::ProxyChoice choose(const Matching& proxy, const std::vector<Tensor>& closed,
                          const std::vector<Tensor>& trained, const Measurement& m, double noise) {
  require(closed.size() == trained.size() && closed.size() > 1,
          "a choice needs as many batches of one model as of the other: this is a bug in muffle.");
  const Tensor target = doubles(proxy.target);
  const Tensor weights = torch::tensor(proxy.weights, torch::kFloat64);

  double sum = 0, squares = 0;
  for (std::size_t i = 0; i < closed.size(); ++i) {
    const Tensor a = doubles(closed[i]), b = doubles(trained[i]);
    const double difference = product(a - b, a + b - 2 * target, weights);
    sum += difference;
    squares += difference * difference;
  }
  const auto batches = static_cast<double>(closed.size());
  const double spread = std::fmax(0.0, squares / batches - (sum / batches) * (sum / batches));
  const double sampling = std::sqrt(spread / (batches - 1));

  const Tensor mean_closed = doubles(average(closed)), mean_trained = doubles(average(trained));
  const Tensor moved = mean_closed - mean_trained;
  const double from_noise = 2 * noise * std::sqrt(product(moved, moved, weights * weights));

  const double noise_square =
      noise * noise * static_cast<double>(target.size(1)) * weights.sum().item<double>();
  const auto distance = [&](const Tensor& mean) {
    const Tensor off = mean - target;
    return product(off, off, weights) - noise_square -
           (sampling_error(mean, m) * weights).sum().item<double>();
  };
  model::ProxyChoice choice;
  choice.closed_form = distance(mean_closed);
  choice.after_training = distance(mean_trained);
  choice.deviation = std::hypot(sampling, from_noise);
  // Written so that NaN keeps the closed form.
  const double gain = choice.closed_form - choice.after_training;
  choice.trained = gain > kDeviationsToSwitch * choice.deviation && gain > kLeastGain * choice.closed_form;
  return choice;
}

Tensor credible_target(const Tensor& noisy, const Tensor& start, double noise_square, const Tensor& error) {
  const Tensor off = doubles(noisy) - doubles(start);
  const Tensor square = off.square().sum(1);
  const Tensor factor = (1.0 - (noise_square + error) / square.clamp_min(1e-300)).clamp_min(0.0);
  return (doubles(start) + off * factor.unsqueeze(1)).to(noisy.options()).contiguous();
}

}  // namespace muffle::train
