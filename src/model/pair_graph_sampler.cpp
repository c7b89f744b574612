#include <algorithm>

#include "muffle/core/error.hpp"
#include "muffle/core/philox.hpp"
#include "muffle/model/pair_graph.hpp"
#include "pair_graph_gibbs.hpp"

namespace muffle::model {
namespace {

/// A record takes d uniform numbers for the tree, d for each sweep, and d for its places in the bins.
class PairGraphSampler : public Sampler {
 public:
  explicit PairGraphSampler(const PairGraphModel& model) : codes_(model.codes), sweeps_(model.sweeps) {
    for (const PairGraphLaw& law : model.laws) laws_.emplace_back(model.codes, law);
  }

  void draw(std::uint64_t seed, std::uint64_t first, std::span<const std::int64_t> labels,
            std::span<float> out) const override {
    const std::size_t d = codes_.size();
    require(out.size() == labels.size() * d,
            "records do not fit the place for them: this is a bug in muffle.");
    const CounterStream random(seed, Stream::kSampleLatent);
    std::vector<double> uniforms(d);
    std::vector<std::uint32_t> record(d);
    auto weights = laws_.front().make_weights();
    const std::uint64_t each = (sweeps_ + 2) * d;
    for (std::size_t i = 0; i < labels.size(); ++i) {
      require(labels[i] >= 0 && static_cast<std::size_t>(labels[i]) < laws_.size(),
              "a label is outside the model's classes");
      const GibbsLaw& law = laws_[static_cast<std::size_t>(labels[i])];
      std::uint64_t next = (first + i) * each;
      const auto refill = [&] {
        for (double& u : uniforms) u = random.uniform(next++);
      };
      refill();
      law.draw_tree(uniforms.data(), record.data());
      for (std::size_t s = 0; s < sweeps_; ++s) {
        refill();
        law.sweep(uniforms.data(), record.data(), weights, [](std::size_t, const float*, float) {});
      }
      refill();
      for (std::size_t j = 0; j < d; ++j)
        out[i * d + j] = schema::position({record[j], static_cast<float>(uniforms[j])}, codes_[j]);
    }
  }

 private:
  std::vector<std::size_t> codes_;
  std::size_t sweeps_;
  std::vector<GibbsLaw> laws_;
};

}  // namespace

std::unique_ptr<Sampler> make_sampler(const PairGraphModel& model) {
  return std::make_unique<PairGraphSampler>(model);
}

}  // namespace muffle::model
