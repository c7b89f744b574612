#include <algorithm>
#include <nlohmann/json.hpp>

#include "muffle/model/generator_kind.hpp"
#include "particles.hpp"

namespace muffle::model {
namespace {

/// An index must be a float32 code.
constexpr std::size_t kMostParticles = std::size_t{1} << 24;

}  // namespace

std::vector<Octave> octaves(const schema::Schema& schema) {
  if (!schema.is_image()) return {{1, schema.dims(), 1}};
  const std::size_t channels = schema.shape[0], height = schema.shape[1], width = schema.shape[2];
  std::vector<Octave> out;
  for (std::size_t side = 1; side < std::max(height, width); side *= 2)
    out.push_back({channels, std::min(side, height), std::min(side, width)});
  out.push_back({channels, height, width});
  return out;
}

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
  double numbers = 0;
  for (const Octave& octave : octaves(schema))
    numbers += static_cast<double>(octave.channels) * static_cast<double>(octave.height) *
               static_cast<double>(octave.width);
  count.parameters += static_cast<double>(schema.classes) * static_cast<double>(particles) * numbers;
}

GeneratorKind particles_generator() {
  return {"particles", "no network: so many records of each class, which training moves towards the release",
          make_default<ParticlesSettings>};
}

}  // namespace muffle::model
