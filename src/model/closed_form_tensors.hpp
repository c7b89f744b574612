#pragma once

#include <torch/torch.h>

#include "muffle/model/moments_model.hpp"
#include "muffle/model/network.hpp"

namespace muffle::model {

/// The closed form of an affine lift (moments_model.hpp) in tensors, as the base of a residual generator:
/// fixed buffers that travel with its model and its checkpoints. Built empty; set() fills it.
class ClosedFormTensors : public torch::nn::Module {
 public:
  /// @param network  residual; the schema's shape tells the lift: images, or plain vectors. @throws
  /// ConfigError  code is no number of coefficients that the shape can have.
  explicit ClosedFormTensors(const NetworkSettings& network, const schema::Schema& schema);

  /// @throws InvariantError  a model of another shape.
  void set(const MomentsModel& model);

  /// Records before they are clipped to [0, 1].
  /// @param code    n x (coefficients + 1): e, and the record's coin in [0, 1)
  /// @param labels  n, int64
  torch::Tensor forward(const torch::Tensor& code, const torch::Tensor& labels) const;

 private:
  torch::Tensor back(const torch::Tensor& around) const;

  std::int64_t coefficients_, channels_, side_, height_, width_;  ///< of plain vectors: side 0
  double plain_share_;
  torch::Tensor factor_;                       ///< C x n x n
  torch::Tensor centre_, location_, stretch_;  ///< C x d
  torch::Tensor rows_, columns_;               ///< side x height and side x width; of plain vectors empty
  torch::Tensor unweight_;                     ///< n: 1 / W
};

/// Numbers in its buffers, for readers that must know before they allocate; negative: no such base.
double closed_form_numbers(const NetworkSettings& network, const schema::Schema& schema);

}  // namespace muffle::model
