// In programs without LibTorch: what only LibTorch builds, draws or trains (maps:
// networks/without_torch.cpp). Everything else that the tables of kinds name is there, so that configurations
// and model files are read, and fuzzed, as in any other build.
#include <algorithm>
#include <stdexcept>

#include "muffle/core/process.hpp"
#include "muffle/evaluate/evaluate.hpp"
#include "muffle/model/network.hpp"
#include "muffle/sampling/sampler.hpp"
#include "muffle/synth/sampler.hpp"

namespace muffle {

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
