#pragma once

#include <cstddef>
#include <vector>

#include "muffle/model/network.hpp"

namespace muffle::model {

/// Settings of the kind "convolutional". (Its members: convolutional_generator.cpp; the network itself:
/// convolutional_network.cpp.)
class ConvolutionalSettings : public NetworkSettings {
 public:
  static constexpr std::size_t kKernel = 5;  ///< side of its convolutions

  std::vector<std::size_t> channels{16, 8};  ///< after the linear part, and between the convolutions

  std::string_view kind() const override { return "convolutional"; }
  std::unique_ptr<GeneratorSettings> clone() const override {
    return std::make_unique<ConvolutionalSettings>(*this);
  }
  void declare(settings::Keys& keys) override;
  nlohmann::json to_json() const override;
  void read_json(const JsonFields& fields) override;

 protected:
  void own_problems(const schema::Schema* schema, settings::Problems& problems) const override;
  void add_last(const schema::Schema& schema, Count& count) const override;
  /// Also the library's copy of images in an order of its own.
  double last_numbers_at_once(const schema::Schema& schema) const override;
};

}  // namespace muffle::model
