#pragma once

#include <functional>
#include <string>
#include <vector>

#include "muffle/app/config.hpp"

namespace muffle::app {

using settings::Value;

/// One key: how to set it and how to write it. set() returns an empty string, or what is wrong with the
/// value.
struct Key {
  std::string name;
  Stage stage;
  std::string help;
  std::function<std::string(Config&, const Value&)> set;
  std::function<std::string(const Config&)> get;
};

// The keys section by section, in the order of config.resolved.toml.
std::vector<Key> data_keys();      ///< [data]
std::vector<Key> feature_keys();   ///< [features] and [proxy]
std::vector<Key> moments_keys();   ///< [moments]
std::vector<Key> privacy_keys();   ///< [privacy]
std::vector<Key> training_keys();  ///< [model] and [train]
std::vector<Key> output_keys();    ///< [sample], [evaluate] and [runtime]

/// All of them.
const std::vector<Key>& keys();
const Key* find_key(const std::string& name);
/// Letters to insert, remove or replace.
std::size_t edit_distance(const std::string& a, const std::string& b);

/// The nearest known key by edit distance; empty if none is near.
std::string nearest_key(const std::string& name);
/// Everything that `stages` would stumble over: what they need and is not there, and values that do not go
/// together. Values that no stage could use are refused by the keys themselves.
std::vector<std::string> contradictions(const Config& config, const Stages& stages);

}  // namespace muffle::app
