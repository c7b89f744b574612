#pragma once

#include <torch/types.h>

#include <cstdint>
#include <vector>

#include "muffle/core/heartbeat.hpp"
#include "muffle/model/generator.hpp"
#include "muffle/model/model_file.hpp"
#include "muffle/train/objective.hpp"

namespace muffle::train {

/// Samples of one batch, and how many batches: each is an estimate of its own, whose spread tells the error.
struct Measurement {
  std::uint64_t seed = 1;
  std::uint64_t batch = 1000, batches = 20;
  std::vector<double> class_share;
  torch::Device device = torch::kCPU;
  Heartbeat heartbeat = {};  ///< after each batch, on every rank
};

/// A map's mean embeddings of a generator in evaluation mode, of each batch: C x D. Codes are a function
/// of (seed, sample index) alone, so two generators with codes of the same length are measured on the same
/// ones, and most of the sampling error cancels in their difference. Collective; the ranks share the samples.
std::vector<torch::Tensor> mean_embeddings(model::Generator& generator, const Matching& map,
                                           const Measurement& measurement,
                                           model::TensorCollective& collective);

/// Their mean over all batches, of which it holds two at a time: C x D may be large.
torch::Tensor mean_embedding(model::Generator& generator, const Matching& map, const Measurement& measurement,
                             model::TensorCollective& collective);

/// The mean of a map's batches.
torch::Tensor average(const std::vector<torch::Tensor>& batches);

/// By how many standard deviations the trained model must be nearer to be kept.
inline constexpr double kDeviationsToSwitch = 2.0;
/// And by how much of the closed form's distance at most: kernel distances are not scores, and a model that
/// was nearer by a twentieth scored worse (docs/explanation/moments.md).
inline constexpr double kLeastGain = 1.0 / 3.0;

/// sum_c w_c ||mu_c - mu~_c||^2 less what noise and sampling add to it on average: it may fall below 0. Of
/// models that are measured with the same codes against the same target, the smallest is the nearest.
/// @param mean          a model's mean embedding, C x D
/// @param noise_square  expected ||noise||^2 of a row of the target
double squared_distance(const Matching& map, const torch::Tensor& mean, const Measurement& measurement,
                        double noise_square);

/// Which of two models is nearer to the data, by the private proxy: features that neither was trained on,
/// released with noise of their own (docs/explanation/moments.md). With d = sum_c w_c ||mu_c - mu~_c||^2 the
/// noise's square cancels in d_closed - d_trained, and what is left of it has the standard deviation 2 s
/// sqrt(sum_c w_c^2 ||mu_closed,c - mu_trained,c||^2), s that of a number of mu~. The sampling error of the
/// difference is found from the batches' spread.
///
/// d_closed itself does carry the noise's square: closed_form_deviation is by the formula there, of D
/// features. At small epsilon it is larger than the distance, which then may come out below 0.
///
/// The closed form is kept unless the trained model is nearer by kDeviationsToSwitch deviations of the
/// difference, and by kLeastGain of the largest distance that the closed form may well have, d_closed +
/// kDeviationsToSwitch closed_form_deviation.
/// @param proxy    the noisy target and the classes' weights
/// @param closed, trained  each model's mean embeddings, batch by batch, as `measurement` had them: C x D
/// @param noise    s
/// Post-processing; a pure function.
model::ProxyChoice choose(const Matching& proxy, const std::vector<torch::Tensor>& closed,
                          const std::vector<torch::Tensor>& trained, const Measurement& measurement,
                          double noise);

/// A noisy target drawn towards what a model has already: for each class, mu0 + f (mu~ - mu0), where f =
/// max(0, 1 - (D s^2 + error) / ||mu~ - mu0||^2) is James and Stein's factor: what noise and sampling alone
/// would make of the distance is not chased.
/// @param noise_square  expected ||noise||^2 of a row
/// @param error         C: expected squared sampling error of the rows of mu0
torch::Tensor credible_target(const torch::Tensor& noisy, const torch::Tensor& start, double noise_square,
                              const torch::Tensor& error);

/// What sampling adds to the squared distance of a class's mean embedding mu_c of features of norm b:
/// (p_c b^2 - ||mu_c||^2 / p_c) / N, p_c the class's share of N samples. @returns C, float64, on the CPU.
/// @param norm_square  b^2
torch::Tensor sampling_error(const torch::Tensor& mean, const Measurement& measurement, double norm_square);

}  // namespace muffle::train
