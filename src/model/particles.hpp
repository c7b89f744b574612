#pragma once

#include <cstddef>
#include <vector>

#include "muffle/model/network.hpp"

namespace muffle::model {

/// An image of a record's octaves; of a plain vector there is one, 1 x d x 1.
struct Octave {
  std::size_t channels, height, width;
};
/// Sides of 1, 2, 4, ... pixels, at most the record's, and the record's own.
std::vector<Octave> octaves(const schema::Schema& schema);

/// Settings of the kind "particles". (Its members: particles_generator.cpp; what is trained:
/// particles_network.cpp.)
class ParticlesSettings : public NetworkSettings {
 public:
  ParticlesSettings() {
    code = 1;
    hidden = {};
  }
  std::size_t particles = 1000;  ///< n, of each class

  std::string_view kind() const override { return "particles"; }
  std::unique_ptr<GeneratorSettings> clone() const override {
    return std::make_unique<ParticlesSettings>(*this);
  }
  void declare(settings::Keys& keys) override;
  nlohmann::json to_json() const override;
  void read_json(const JsonFields& fields) override;

  std::size_t normal_codes() const override { return 0; }
  std::uint64_t distinct_records() const override { return particles; }

 protected:
  bool needs_hidden() const override { return false; }
  void own_problems(const schema::Schema* schema, settings::Problems& problems) const override;
  void add_last(const schema::Schema& schema, Count& count) const override;
};

}  // namespace muffle::model
