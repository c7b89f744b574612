#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <memory>

#include "muffle/model/collective.hpp"
#include "muffle/model/spec.hpp"

namespace muffle::model {

struct MomentsModel;

/// A conditional generator G(z, y) -> records in [0, 1].
class Generator : public torch::nn::Module {
 public:
  /// @param code    n x code, as codes() gives them
  /// @param labels  n, int64, in 0..C-1
  /// @returns n x dims (images flattened channel, height, width)
  virtual torch::Tensor forward(const torch::Tensor& code, const torch::Tensor& labels) = 0;

  /// forward()'s codes for samples first..first+n-1 of a stream: latent_codes(), and beside a closed form, in
  /// one more column, each record's coin between its two laws. At the start such a generator so draws the
  /// very records that the closed form draws (moments_generator.hpp).
  virtual torch::Tensor codes(std::uint64_t seed, bool training, std::uint32_t substream, std::uint64_t first,
                              std::size_t n) const = 0;
  /// Puts the closed form under a residual generator. @throws InvariantError  another shape, or none.
  virtual void set_closed_form(const MomentsModel& model) = 0;
};

/// Builds the generator with parameters that are a pure function of (spec, seed) (Philox; not torch's
/// generator). Batch norms average over all ranks of `collective` (so that K ranks of batch b equal one of K
/// b); null: this process alone.
/// @throws ConfigError  a shape the architecture cannot produce.
std::shared_ptr<Generator> make_generator(const GeneratorSpec& spec, std::uint64_t seed,
                                          std::shared_ptr<TensorCollective> collective);

/// z for samples first..first+n-1 of a stream: n x code, standard normal, counter-based: the value for a
/// sample index does not depend on who asks for it. `substream` is the training step (0 when sampling).
torch::Tensor latent_codes(std::uint64_t seed, bool training, std::uint32_t substream, std::uint64_t first,
                           std::size_t n, std::size_t code);

/// Labels for samples first..first+n-1 out of `total`, int64. Stratified: class shares are met as closely as
/// whole numbers allow, over the `total` samples; otherwise drawn independently.
torch::Tensor draw_labels(std::uint64_t seed, bool training, std::uint32_t substream, std::uint64_t first,
                          std::size_t n, std::uint64_t total, const std::vector<double>& class_share,
                          bool stratified);

}  // namespace muffle::model
