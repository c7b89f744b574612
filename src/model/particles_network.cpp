#include <fmt/format.h>

#include <cmath>
#include <vector>

#include "muffle/core/error.hpp"
#include "muffle/core/philox.hpp"
#include "network.hpp"
#include "particles.hpp"

namespace muffle::model {
namespace {

using torch::Tensor;

/// Standard deviation of the numbers, around 1/2, that particles start with, and of a colour's own part
/// beside its grey one.
constexpr double kSpread = 0.2, kColour = 0.4;

/// Records of each class in place of a network: what is trained is the records themselves. Under a full-batch
/// gradient they follow the gradient flow of the squared distance of mean embeddings (Arbel, Korba, Salim,
/// Gretton: "Maximum mean discrepancy gradient flow", NeurIPS 2019), as distribution matching has it for
/// distilled data sets (Zhao, Bilen, WACV 2023).
///
/// An image is a sum of octaves, small images of 1, 2, 4, ... pixels a side that are enlarged, and its
/// colours are parts beside a grey. So normal numbers are noise with as much power in each octave, as
/// photographs have, and Adam, whose steps are as long in every number, moves all octaves alike; of pixels it
/// would move mostly the finest.
class Particles : public Generator {
 public:
  Particles(const ParticlesSettings& settings, const schema::Schema& schema, std::uint64_t seed,
            std::shared_ptr<TensorCollective>)
      : particles_(as_int(settings.particles)), dims_(as_int(schema.dims())) {
    const std::int64_t all = as_int(schema.classes) * particles_;
    for (const Octave& octave : octaves(schema)) {
      const CounterStream stream(seed, Stream::kParameters, static_cast<std::uint32_t>(octaves_.size()));
      Tensor z = torch::empty({all, as_int(octave.channels), as_int(octave.height), as_int(octave.width)});
      float* out = z.data_ptr<float>();
      for (std::int64_t i = 0; i < z.numel(); ++i)
        out[i] = static_cast<float>(stream.normal(static_cast<std::uint64_t>(i)));
      octaves_.push_back(register_parameter(fmt::format("octave{}", octaves_.size()), z));
    }
    height_ = octaves_.back().size(2);
    width_ = octaves_.back().size(3);
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
    std::string out = fmt::format(R"(
def codes(self, seed: int, first: int, n: int) -> Tensor:
    return torch.arange(first, first + n).remainder({0}).to({1}).view([n, 1])

def enlarged(self, octave: Tensor, at: Tensor) -> Tensor:
    z = octave.index_select(0, at)
    grey = z.mean([1], True)
    return torch.upsample_bilinear2d(grey + (z - grey) * {2:.17e}, [{3}, {4}], False)

def draw(self, code: Tensor, labels: Tensor) -> Tensor:
    at = labels * {0} + code.select(1, 0).to({5})
)",
                                  particles_, kScriptFloat32, kColour, height_, width_, kScriptInt64);
    for (std::size_t i = 0; i < octaves_.size(); ++i) {
      out += i == 0 ? fmt::format("    sum = self.enlarged(self.octave{}, at)\n", i)
                    : fmt::format("    sum = sum + self.enlarged(self.octave{}, at)\n", i);
    }
    return out + fmt::format("    return (sum * {:.17e} + 0.5).reshape([-1, {}]).clamp(0.0, 1.0)\n", scale(),
                             dims_);
  }

 private:
  double scale() const { return kSpread / std::sqrt(static_cast<double>(octaves_.size())); }

  Tensor chosen(const Tensor& code, const Tensor& labels) const {
    const Tensor at = labels * particles_ + code.select(1, 0).to(torch::kInt64);
    Tensor sum;
    for (const Tensor& octave : octaves_) {
      const Tensor z = octave.index_select(0, at);
      const Tensor grey = z.mean({1}, /*keepdim=*/true);
      const Tensor enlarged = torch::upsample_bilinear2d(grey + (z - grey) * kColour, {height_, width_},
                                                         /*align_corners=*/false);
      sum = sum.defined() ? sum + enlarged : enlarged;
    }
    return (sum * scale() + 0.5).reshape({-1, dims_});
  }

  std::int64_t particles_, dims_, height_ = 0, width_ = 0;
  std::vector<Tensor> octaves_;  ///< each C n x channels x height x width
};

}  // namespace

NetworkKind particles_network() { return {"particles", build_as<ParticlesSettings, Particles>}; }

}  // namespace muffle::model
