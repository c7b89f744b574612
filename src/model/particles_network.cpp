#include <fmt/format.h>

#include <algorithm>

#include "muffle/core/error.hpp"
#include "muffle/core/philox.hpp"
#include "network.hpp"
#include "particles.hpp"

namespace muffle::model {
namespace {

using torch::Tensor;

/// Standard deviation of the numbers, and the colours' share of it, that particles start with around 1/2.
constexpr double kSpread = 0.2, kColour = 0.4;

Tensor normals(std::uint64_t seed, std::uint32_t substream, at::IntArrayRef sizes) {
  const CounterStream stream(seed, Stream::kParameters, substream);
  Tensor z = torch::empty(sizes);
  float* out = z.data_ptr<float>();
  for (std::int64_t i = 0; i < z.numel(); ++i)
    out[i] = static_cast<float>(stream.normal(static_cast<std::uint64_t>(i)));
  return z;
}

/// Noise with as much power in each octave of frequencies, as photographs have: a sum of small noisy images,
/// each twice as large as the one before, enlarged. Public: it knows no record. @returns n x c x h x w
Tensor noise_of_octaves(std::uint64_t seed, std::uint32_t substream, std::int64_t n, std::int64_t channels,
                        std::int64_t height, std::int64_t width) {
  Tensor sum = torch::zeros({n, channels, height, width});
  for (std::int64_t side = 1; side < 2 * std::max(height, width); side *= 2) {
    const std::int64_t h = std::min(side, height), w = std::min(side, width);
    Tensor z = normals(seed, substream++, {n, channels, h, w});
    const Tensor grey = z.mean(1, /*keepdim=*/true);
    z = grey + kColour * (z - grey);
    sum += torch::upsample_bilinear2d(z, {height, width}, /*align_corners=*/false);
  }
  return sum / sum.std().clamp_min(1e-12);
}

/// Records of each class in place of a network: what is trained is the records themselves. Under a full-batch
/// gradient they follow the gradient flow of the squared distance of mean embeddings (Arbel, Korba, Salim,
/// Gretton: "Maximum mean discrepancy gradient flow", NeurIPS 2019), as distribution matching has it for
/// distilled data sets (Zhao, Bilen, WACV 2023).
class Particles : public Generator {
 public:
  Particles(const ParticlesSettings& settings, const schema::Schema& schema, std::uint64_t seed,
            std::shared_ptr<TensorCollective>)
      : particles_(as_int(settings.particles)), dims_(as_int(schema.dims())) {
    const std::int64_t classes = as_int(schema.classes);
    Tensor start = torch::empty({classes, particles_, dims_});
    for (std::int64_t c = 0; c < classes; ++c) {
      const auto substream = static_cast<std::uint32_t>(c) * kMostOctaves;
      Tensor z = schema.is_image() ? noise_of_octaves(seed, substream, particles_, as_int(schema.shape[0]),
                                                      as_int(schema.shape[1]), as_int(schema.shape[2]))
                                   : normals(seed, substream, {particles_, dims_});
      start[c].copy_((0.5 + kSpread * z.reshape({particles_, dims_})).clamp(0.0, 1.0));
    }
    records_ = register_parameter("records", start);
  }

  /// Past a bound the gradient goes on as if there were none, so that no number is stuck there.
  Tensor forward(const Tensor& code, const Tensor& labels) override {
    const Tensor x = chosen(code, labels);
    return x + (x.clamp(0.0, 1.0) - x).detach();
  }
  Tensor draw(const Tensor& code, const Tensor& labels) override {
    return chosen(code, labels).clamp(0.0, 1.0);
  }

  /// The particle's number among its class's: at random in training, one after the other in samples, so that
  /// C n of them with equal shares of classes are all particles, each once.
  Tensor codes(std::uint64_t seed, bool training, std::uint32_t substream, std::uint64_t first,
               std::size_t n) const override {
    const CounterStream stream(seed, Stream::kTrainLatent, substream);
    const auto all = static_cast<std::uint64_t>(particles_);
    Tensor code = torch::empty({as_int(n), 1});
    for (std::size_t i = 0; i < n; ++i)
      code.data_ptr<float>()[i] =
          static_cast<float>(training ? stream.below(first + i, all) : (first + i) % all);
    return code;
  }

  void set_closed_form(const MomentsModel&) override {
    throw InvariantError("particles were given a closed form: this is a bug in muffle.");
  }

  std::string script() const override {
    return fmt::format(R"(
def codes(self, seed: int, first: int, n: int) -> Tensor:
    return torch.arange(first, first + n).remainder({0}).to({1}).view([n, 1])

def draw(self, code: Tensor, labels: Tensor) -> Tensor:
    at = labels * {0} + code.select(1, 0).to({2})
    return self.records.view([-1, {3}]).index_select(0, at).clamp(0.0, 1.0)
)",
                       particles_, kScriptFloat32, kScriptInt64, dims_);
  }

 private:
  static constexpr std::uint32_t kMostOctaves = 64;  ///< of noise_of_octaves()

  Tensor chosen(const Tensor& code, const Tensor& labels) const {
    const Tensor at = labels * particles_ + code.select(1, 0).to(torch::kInt64);
    return records_.view({-1, dims_}).index_select(0, at);
  }

  std::int64_t particles_, dims_;
  Tensor records_;  ///< C x n x d
};

}  // namespace

NetworkKind particles_network() { return {"particles", build_as<ParticlesSettings, Particles>}; }

}  // namespace muffle::model
