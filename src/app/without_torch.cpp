// In builds without LibTorch: what only LibTorch builds, draws or trains. Everything else that the tables of
// kinds name is there, so that configurations and model files are read, and fuzzed, as in any other build.
#include <algorithm>
#include <stdexcept>

#include "muffle/core/error.hpp"
#include "muffle/core/process.hpp"
#include "muffle/evaluate/evaluate.hpp"
#include "muffle/model/network.hpp"
#include "muffle/networks/network_block.hpp"
#include "muffle/sampling/sampler.hpp"
#include "muffle/synth/sampler.hpp"

namespace muffle {

namespace networks {

NetworkBlockKind perceptual_block();

NetworkBlockKind perceptual_block() {
  return {
      "perceptual",
      [](const features::FeatureMap&, const features::Lattice&, Code) -> std::unique_ptr<features::Block> {
        throw ConfigError(
            "the records are summed by a map that needs LibTorch, and this program was not passed on to "
            "the one that has it: name the map's kind in the configuration file, or use `muffle run`; at "
            "a site, start `muffle site run` again, for features.networks was changed since. Nothing was "
            "charged.");
      }};
}

}  // namespace networks

namespace {

[[noreturn]] void no_torch() { throw std::logic_error("this build has no LibTorch"); }

}  // namespace

std::shared_ptr<model::Generator> model::NetworkSettings::build(const schema::Schema&, std::uint64_t,
                                                                std::shared_ptr<TensorCollective>) const {
  no_torch();
}

std::unique_ptr<sampling::Sampler> model::NetworkSettings::open(const ModelInfo&, const JsonFields&,
                                                                std::span<const std::byte>) const {
  no_torch();
}

evaluate::ClassifierReport evaluate::evaluate_classifiers(const Subject&, const EvaluateSpec&) { no_torch(); }

evaluate::FeatureDistances evaluate::feature_distances(const Subject&) { no_torch(); }

evaluate::NetworkDistances evaluate::network_distances(const Subject&, const features::PerceptualSpec&,
                                                       bool) {
  no_torch();
}

/// There is no count of LibTorch's to set, nor one to go back to.
synth::ScopedThreads::ScopedThreads(int threads) : before_(std::max(1, threads)) {
  set_compute_threads(before_);
}
synth::ScopedThreads::~ScopedThreads() = default;

}  // namespace muffle
