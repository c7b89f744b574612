#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "by_class.hpp"
#include "muffle/model/closed_forms.hpp"
#include "muffle/model/generator.hpp"
#include "muffle/model/network.hpp"
#include "muffle/model/sync_batch_norm.hpp"

namespace muffle::model {

/// Types of numbers as TorchScript spells them.
inline constexpr int kScriptInt64 = static_cast<int>(torch::kInt64),
                     kScriptFloat32 = static_cast<int>(torch::kFloat32),
                     kScriptFloat64 = static_cast<int>(torch::kFloat64);

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
  /// forward() in TorchScript: from_closed_form(code, labels), of a module that has this one as closed_form.
  std::string script() const;

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

/// What all networks share: code + one-hot -> hidden layers.
class BaseGenerator : public Generator {
 public:
  torch::Tensor codes(std::uint64_t seed, bool training, std::uint32_t substream, std::uint64_t first,
                      std::size_t n) const override;
  void set_closed_form(const MomentsModel& model) override;
  std::string script() const override;

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

  /// The kind's part of script(): draw(), which may call hidden(code, labels), records(last, code, labels)
  /// and normed(x, weight, bias, running_mean, running_var).
  virtual std::string draw_script() const = 0;
  /// codes(); base_codes() are those of all networks.
  virtual std::string codes_script() const;

  /// @param biased  false before a norm, which subtracts the bias again, so that its gradient is zero but for
  /// rounding errors, which Adam would blow up to whole steps
  torch::nn::Linear add_linear(const std::string& name, std::int64_t in, std::int64_t out,
                               bool biased = true);
  torch::nn::Conv2d add_convolution(const std::string& name, std::int64_t in, std::int64_t out,
                                    std::int64_t kernel, bool biased = true);
  std::shared_ptr<SyncBatchNorm> add_norm(const std::string& name, std::int64_t features);

  /// Layer `name` and its norm, of x, in TorchScript.
  static std::string normed_script(const std::string& x, const std::string& layer, const std::string& norm);

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

/// A line of the table (network_kinds.inc).
struct NetworkKind {
  std::string_view name;  ///< NetworkSettings::kind()
  /// The settings have no problems with the schema.
  std::shared_ptr<Generator> (*build)(const NetworkSettings& settings, const schema::Schema& schema,
                                      std::uint64_t seed, std::shared_ptr<TensorCollective> collective);
};

/// NetworkKind::build of a network whose constructor takes the same.
template <class Settings, class Network>
std::shared_ptr<Generator> build_as(const NetworkSettings& settings, const schema::Schema& schema,
                                    std::uint64_t seed, std::shared_ptr<TensorCollective> collective) {
  return std::make_shared<Network>(dynamic_cast<const Settings&>(settings), schema, seed,
                                   std::move(collective));
}

}  // namespace muffle::model
