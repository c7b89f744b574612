#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "muffle/model/network.hpp"

namespace muffle::test {

inline const JsonDocument kTestDocument{"test", "a test's", "Mend the test."};

/// A generator's settings: the defaults, but for `with`, which is spelt as in a model file.
inline std::shared_ptr<const model::GeneratorSettings> generator(
    const std::string& kind, const nlohmann::json& with = nlohmann::json::object()) {
  std::unique_ptr<model::GeneratorSettings> settings = model::make_generator_settings(kind);
  nlohmann::json json = settings->to_json();
  json.update(with);
  json["kind"] = kind;
  json = nlohmann::json::parse(json.dump());  // numbers as a file has them
  settings->read_json(JsonFields(json, kTestDocument));
  return settings;
}

inline std::shared_ptr<const model::NetworkSettings> network(
    const std::string& kind, const nlohmann::json& with = nlohmann::json::object()) {
  return std::dynamic_pointer_cast<const model::NetworkSettings>(generator(kind, with));
}

}  // namespace muffle::test
