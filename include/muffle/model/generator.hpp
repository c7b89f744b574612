#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <string>
#include <vector>

#include "muffle/model/collective.hpp"
#include "muffle/model/network.hpp"

namespace muffle::moments {
struct MomentsModel;
}  // namespace muffle::moments

namespace muffle::model {

struct ModelContent;

/// A conditional generator G(z, y) -> records in [0, 1].
class Generator : public torch::nn::Module {
 public:
  /// @param code    n x code, as codes() gives them
  /// @param labels  n, int64, in 0..C-1
  /// @returns n x dims (images flattened channel, height, width), or relaxed records where
  /// NetworkSettings::makes_relaxed(): what training compares with the release
  virtual torch::Tensor forward(const torch::Tensor& code, const torch::Tensor& labels) = 0;
  /// Records as they are drawn, n x dims. @param code  as codes() gives them for sampling
  virtual torch::Tensor draw(const torch::Tensor& code, const torch::Tensor& labels) {
    return forward(code, labels);
  }

  /// forward()'s codes for samples first..first+n-1 of a stream: latent_codes(), and beside a closed form, in
  /// one more column, each record's coin between its two laws. At the start such a generator so draws the
  /// very records that the closed form draws (moments_model.hpp).
  virtual torch::Tensor codes(std::uint64_t seed, bool training, std::uint32_t substream, std::uint64_t first,
                              std::size_t n) const = 0;
  /// The same in TorchScript, for other programs (muffle/interop/torch_script.hpp): methods
  ///   codes(self, seed: int, first: int, n: int) -> Tensor     as codes() for sampling, substream 0
  ///   draw(self, code: Tensor, labels: Tensor) -> Tensor       as draw() in evaluation mode
  /// of a module whose parameters, buffers and submodules have this one's names, and which also has uniform()
  /// and normal(self, purpose: int, substream: int, seed: int, first: int, n: int) -> Tensor, float64: those
  /// numbers of a CounterStream; and doubles(self, values: List[float]) -> Tensor, float64.
  virtual std::string script() const = 0;
  /// Puts the closed form under a residual generator. @throws InvariantError  another shape, or none.
  virtual void set_closed_form(const moments::MomentsModel& model) = 0;
};

/// Parameters and buffers as raw little-endian float32 by name. @throws InvariantError  one is not finite.
ModelContent content_of(const Generator& generator);

/// z for samples first..first+n-1 of a stream: n x code, standard normal, counter-based: the value for a
/// sample index does not depend on who asks for it. `substream` is the training step (0 when sampling).
torch::Tensor latent_codes(std::uint64_t seed, bool training, std::uint32_t substream, std::uint64_t first,
                           std::size_t n, std::size_t code);

/// draw_labels() (sampler.hpp) as a tensor.
torch::Tensor label_tensor(std::uint64_t seed, bool training, std::uint32_t substream, std::uint64_t first,
                           std::size_t n, std::uint64_t total, const std::vector<double>& class_share,
                           bool stratified);

}  // namespace muffle::model
