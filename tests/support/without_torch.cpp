// In builds without LibTorch: what the tables of generators and twins name and only files with LibTorch hold,
// so that configurations and model files can be read, and fuzzed, there. Networks have the settings that all
// of them share; nothing can be built or drawn.
#include <stdexcept>

#include "muffle/evaluate/evaluate.hpp"
#include "muffle/features/lift.hpp"
#include "muffle/features/mixed.hpp"
#include "muffle/model/model_file.hpp"
#include "muffle/model/network.hpp"
#include "muffle/model/sampler.hpp"
#include "muffle/model/twin_kind.hpp"

namespace muffle::model {
namespace {

constexpr char kFullyConnected[] = "fully-connected", kConvolutional[] = "convolutional",
               kTabular[] = "tabular";

template <const char* name>
class Described : public NetworkSettings {
 public:
  std::string_view kind() const override { return name; }
  bool makes_relaxed() const override { return name == kTabular; }
  std::unique_ptr<GeneratorSettings> clone() const override { return std::make_unique<Described>(*this); }

 protected:
  void add_last(const schema::Schema& schema, Count& count) const override {
    count.parameters += (count.width + 1) * static_cast<double>(schema.dims());
  }
  std::shared_ptr<Generator> build_checked(const schema::Schema&, std::uint64_t,
                                           std::shared_ptr<TensorCollective>) const override {
    throw std::logic_error("a build without LibTorch builds no network");
  }
};

template <const char* name>
GeneratorKind described() {
  return {name, "described without LibTorch", make_default<Described<name>>};
}

}  // namespace

GeneratorKind fully_connected_generator() { return described<kFullyConnected>(); }
GeneratorKind convolutional_generator() { return described<kConvolutional>(); }
GeneratorKind tabular_generator() { return described<kTabular>(); }

std::unique_ptr<Sampler> NetworkSettings::open(const ModelInfo&, const JsonFields&,
                                               std::span<const std::byte>) const {
  throw std::logic_error("a build without LibTorch draws from no network");
}

std::size_t twin_columns(const features::FeatureMap& map) {
  return map.second_moments() || map.tables() ? 0 : map.features();
}

bool takes_relaxed(const features::FeatureMap& map) {
  return dynamic_cast<const features::TableNumbersMap*>(&map) != nullptr ||
         dynamic_cast<const features::OneHotMap*>(&map) != nullptr;
}

std::string trainable_maps() { return "\"rff\""; }

}  // namespace muffle::model

namespace muffle::evaluate {

std::vector<std::string> classifier_names() { return {"logistic_regression", "mlp", "cnn"}; }

ClassifierReport evaluate_classifiers(const Subject&, const EvaluateSpec&) {
  throw std::logic_error("a build without LibTorch trains no classifier");
}

FeatureDistances feature_distances(const Subject&) {
  throw std::logic_error("a build without LibTorch trains no classifier");
}

}  // namespace muffle::evaluate
