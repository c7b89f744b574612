#include <nlohmann/json.hpp>

#include "muffle/model/generator_kind.hpp"
#include "particles.hpp"

namespace muffle::model {
namespace {

/// An index must be a float32 code.
constexpr std::size_t kMostParticles = std::size_t{1} << 24;

}  // namespace

// The networks' keys are not its own.
void ParticlesSettings::declare(settings::Keys& keys) {
  keys.count("particles", particles, 1, kMostParticles,
             "particles: how many records of each class are moved");
}

void ParticlesSettings::own_problems(const schema::Schema*, settings::Problems& p) const {
  p.unless(!residual,
           "model.generator = \"particles\" starts from noise: train.init = \"moments\" is for networks");
}

nlohmann::json ParticlesSettings::to_json() const { return {{"particles", particles}}; }

void ParticlesSettings::read_json(const JsonFields& fields) {
  fields.only({"kind", "particles"});
  particles = fields.integer("particles", 1, kMostParticles);
}

void ParticlesSettings::add_last(const schema::Schema& schema, Count& count) const {
  count.parameters += static_cast<double>(schema.classes) * static_cast<double>(particles) *
                      static_cast<double>(schema.dims());
}

GeneratorKind particles_generator() {
  return {"particles",
          "no network: so many records of each class, which are moved (gradient flow of the MMD)",
          make_default<ParticlesSettings>};
}

}  // namespace muffle::model
