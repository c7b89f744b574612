#include "muffle/train/proxy.hpp"

#include <torch/torch.h>

#include <cmath>
#include <functional>
#include <utility>

#include "muffle/core/error.hpp"
#include "muffle/train/settings.hpp"

namespace muffle::train {
namespace {

using torch::Tensor;

Tensor doubles(const Tensor& t) { return t.to(torch::kCPU, torch::kFloat64); }

/// Calls use(mean embedding of a batch, which is its own to keep), batch by batch.
void measure(model::Generator& generator, const Matching& map, const Measurement& m,
             model::TensorCollective& collective, const std::function<void(Tensor mean)>& use) {
  const torch::NoGradGuard no_grad;
  const bool was_training = generator.is_training();
  generator.eval();
  const auto rank = static_cast<std::uint64_t>(collective.rank());
  const auto ranks = static_cast<std::uint64_t>(collective.size());
  const std::uint64_t first = rank * m.batch / ranks, last = (rank + 1) * m.batch / ranks;
  for (std::uint64_t g = 0; g < m.batches; ++g) {
    const Tensor codes =
        generator.codes(m.seed, true, kMeasuringSubstream, g * m.batch + first, last - first).to(m.device);
    // Every batch meets the class shares.
    const Tensor labels = model::label_tensor(m.seed, true, kMeasuringSubstream, first, last - first, m.batch,
                                              m.class_share, /*stratified=*/true)
                              .to(m.device);
    Tensor mean = map.sums(generator.forward(codes, labels), labels).contiguous();
    collective.all_reduce_sum(mean);
    collective.wait();  // which has a deadline; whoever looks at the numbers has none
    use(mean / static_cast<double>(m.batch));
    beat(m.heartbeat);
  }
  generator.train(was_training);
}

/// sum_c w_c <a_c, b_c>.
double product(const Tensor& a, const Tensor& b, const Tensor& weights) {
  return ((a * b).sum(1) * weights).sum().item<double>();
}

/// Standard deviation of the batches' mean, by their spread.
double error_of_mean(const std::vector<double>& batches) {
  const auto n = static_cast<double>(batches.size());
  double sum = 0, squares = 0;
  for (const double b : batches) {
    sum += b;
    squares += b * b;
  }
  return std::sqrt(std::fmax(0.0, squares / n - (sum / n) * (sum / n)) / (n - 1));
}

}  // namespace

std::vector<Tensor> mean_embeddings(model::Generator& generator, const Matching& map, const Measurement& m,
                                    model::TensorCollective& collective) {
  std::vector<Tensor> out;
  measure(generator, map, m, collective, [&](Tensor mean) { out.push_back(std::move(mean)); });
  return out;
}

Tensor mean_embedding(model::Generator& generator, const Matching& map, const Measurement& m,
                      model::TensorCollective& collective) {
  Tensor sum;
  measure(generator, map, m, collective,
          [&](const Tensor& mean) { sum = sum.defined() ? sum.add_(mean) : mean; });
  return sum / static_cast<double>(m.batches);
}

Tensor average(const std::vector<Tensor>& batches) {
  Tensor sum = batches.front().clone();
  for (std::size_t i = 1; i < batches.size(); ++i) sum += batches[i];
  return sum / static_cast<double>(batches.size());
}

Tensor sampling_error(const Tensor& mean, const Measurement& m, double norm_square) {
  Tensor share = torch::tensor(m.class_share, torch::kFloat64);
  if (mean.size(0) == 1) share = torch::ones({1}, torch::kFloat64);  // without labels
  const Tensor square = doubles(mean).square().sum(1);
  return (share * norm_square - square / share.clamp_min(1e-12)).clamp_min(0.0) /
         static_cast<double>(m.batch * m.batches);
}

double squared_distance(const Matching& map, const Tensor& mean, const Measurement& m, double noise_square) {
  const Tensor weights = torch::tensor(map.weights, torch::kFloat64);
  const Tensor off = doubles(mean) - doubles(map.target);
  return product(off, off, weights) - noise_square * weights.sum().item<double>() -
         (sampling_error(mean, m, map.norm_square) * weights).sum().item<double>();
}

model::ProxyChoice choose(const Matching& proxy, const std::vector<Tensor>& closed,
                          const std::vector<Tensor>& trained, const Measurement& m, double noise) {
  require(closed.size() == trained.size() && closed.size() > 1,
          "a choice needs as many batches of one model as of the other: this is a bug in muffle.");
  const Tensor target = doubles(proxy.target);
  const Tensor weights = torch::tensor(proxy.weights, torch::kFloat64);

  std::vector<double> own, differences;
  for (std::size_t i = 0; i < closed.size(); ++i) {
    const Tensor a = doubles(closed[i]), b = doubles(trained[i]);
    own.push_back(product(a - target, a - target, weights));
    differences.push_back(product(a - b, a + b - 2 * target, weights));
  }

  const Tensor mean_closed = doubles(average(closed)), mean_trained = doubles(average(trained));
  const Tensor moved = mean_closed - mean_trained;
  const double from_noise = 2 * noise * std::sqrt(product(moved, moved, weights * weights));

  const double row_noise = noise * noise * static_cast<double>(target.size(1));
  model::ProxyChoice choice;
  choice.closed_form = squared_distance(proxy, mean_closed, m, row_noise);
  choice.after_training = squared_distance(proxy, mean_trained, m, row_noise);
  choice.deviation = std::hypot(error_of_mean(differences), from_noise);

  // sum_c w_c^2 (2 s^4 D + 4 s^2 ||mu_c - mu_data,c||^2), the last distance debiased.
  const Tensor off = mean_closed - target, squared_weights = weights * weights;
  const double sum_of_squares = squared_weights.sum().item<double>();
  const double model_error = std::fmax(0.0, product(off, off, squared_weights) - row_noise * sum_of_squares);
  const double variance = 2 * noise * noise * row_noise * sum_of_squares + 4 * noise * noise * model_error;
  choice.closed_form_deviation = std::hypot(error_of_mean(own), std::sqrt(variance));

  // Written so that NaN keeps the closed form.
  const double gain = choice.closed_form - choice.after_training;
  const double at_most = choice.closed_form + kDeviationsToSwitch * choice.closed_form_deviation;
  choice.trained =
      gain > kDeviationsToSwitch * choice.deviation && gain > kLeastGain * std::fmax(0.0, at_most);
  return choice;
}

Tensor credible_target(const Tensor& noisy, const Tensor& start, double noise_square, const Tensor& error) {
  const Tensor off = doubles(noisy) - doubles(start);
  const Tensor square = off.square().sum(1);
  const Tensor factor = (1.0 - (noise_square + error) / square.clamp_min(1e-300)).clamp_min(0.0);
  return (doubles(start) + off * factor.unsqueeze(1)).to(noisy.options()).contiguous();
}

}  // namespace muffle::train
