#pragma once

#include <cstddef>
#include <vector>

#include "muffle/model/network.hpp"

namespace muffle::model {

/// Settings of the kind "resnet". (Its members: resnet_generator.cpp; the network itself:
/// resnet_network.cpp.)
class ResnetSettings : public NetworkSettings {
 public:
  /// Channels of the first small image, and after each block, which doubles height and width.
  std::vector<std::size_t> blocks{128, 64, 32};

  std::string_view kind() const override { return "resnet"; }
  std::unique_ptr<GeneratorSettings> clone() const override {
    return std::make_unique<ResnetSettings>(*this);
  }
  void declare(settings::Keys& keys) override;
  nlohmann::json to_json() const override;
  void read_json(const JsonFields& fields) override;

  /// By how much the blocks enlarge height and width.
  std::size_t enlargement() const { return std::size_t{1} << (blocks.size() - 1); }

 protected:
  bool needs_hidden() const override { return false; }
  void own_problems(const schema::Schema* schema, settings::Problems& problems) const override;
  void add_last(const schema::Schema& schema, Count& count) const override;
  double last_numbers_at_once(const schema::Schema& schema) const override;
};

}  // namespace muffle::model
