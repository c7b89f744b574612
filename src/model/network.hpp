#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "by_class.hpp"
#include "closed_form_tensors.hpp"
#include "muffle/model/generator.hpp"
#include "muffle/model/sync_batch_norm.hpp"

namespace muffle::model {

/// What all networks share: code + one-hot -> hidden layers.
class BaseGenerator : public Generator {
 public:
  torch::Tensor codes(std::uint64_t seed, bool training, std::uint32_t substream, std::uint64_t first,
                      std::size_t n) const override;
  void set_closed_form(const MomentsModel& model) override;

 protected:
  BaseGenerator(const NetworkSettings& settings, const schema::Schema& schema, std::uint64_t seed,
                std::shared_ptr<TensorCollective> collective);

  torch::Tensor hidden(const torch::Tensor& code, const torch::Tensor& labels);
  /// Records in [0, 1] from the last layer's numbers, n x d. The clip's gradient is exact: that of a record's
  /// number outside [0, 1] is 0, and the mean over the closed form's normal law is smooth.
  torch::Tensor records(const torch::Tensor& last, const torch::Tensor& code,
                        const torch::Tensor& labels) const;
  /// The last layer of a residual network starts at 0, so that the closed form is what is drawn at first.
  void start_at_zero(const torch::Tensor& weight, const torch::Tensor& bias) const;

  /// @param biased  false before a norm, which subtracts the bias again, so that its gradient is zero but for
  /// rounding errors, which Adam would blow up to whole steps
  torch::nn::Linear add_linear(const std::string& name, std::int64_t in, std::int64_t out,
                               bool biased = true);
  torch::nn::Conv2d add_convolution(const std::string& name, std::int64_t in, std::int64_t out,
                                    std::int64_t kernel);
  std::shared_ptr<SyncBatchNorm> add_norm(const std::string& name, std::int64_t features);

  /// Width of what hidden() returns.
  std::int64_t width_ = 0;

 private:
  /// Fills a layer with torch's default law, U(-1/sqrt(fan_in), 1/sqrt(fan_in)) for weight and bias
  /// (kaiming_uniform with a = sqrt(5)), drawn from Philox: substream 2 l is layer l's weight, 2 l + 1 its
  /// bias.
  void initialize(const torch::Tensor& weight, const torch::Tensor& bias);

  std::int64_t code_, classes_;
  std::uint64_t seed_;
  std::uint32_t substream_ = 0;              ///< of the next parameter
  std::shared_ptr<ClosedFormTensors> base_;  ///< of residual generators
  std::shared_ptr<TensorCollective> collective_;
  std::vector<torch::nn::Linear> linear_;
  std::vector<std::shared_ptr<SyncBatchNorm>> norm_;
};

}  // namespace muffle::model
