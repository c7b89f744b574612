#pragma once

#include <algorithm>
#include <cstdlib>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "muffle/core/error.hpp"
#include "muffle/features/feature_map.hpp"
#include "muffle/features/lift.hpp"
#include "muffle/features/rff.hpp"

// Feature maps and lifts as a configuration makes them, from names and values.
namespace muffle::test {

/// Keys without their section, and values as TOML writes them; the quotes of texts may be left out.
using MapKeys = std::vector<std::pair<std::string, std::string>>;

inline schema::Schema schema_of(std::vector<std::size_t> shape, std::size_t classes = 1) {
  return {std::move(shape), classes};
}

/// Of a table whose columns are categories with so many codes each, named a, b, c and so on.
/// @param numbers  the first columns are integers in bins of 1, 2, 3 ... values instead; every second one of
/// those may lack a value, which is its last code
inline schema::Schema table_schema(const std::vector<std::size_t>& codes, std::size_t classes = 1,
                                   std::size_t numbers = 0) {
  auto table = std::make_shared<schema::Table>();
  for (std::size_t j = 0; j <= codes.size(); ++j) {
    schema::Column column;
    column.name = std::string(1, static_cast<char>('a' + j));
    const bool label = j == codes.size();
    if (label) column.name = "label", column.role = schema::ColumnRole::kLabel;
    if (label && classes == 1) break;
    if (j < numbers && !label) {
      column.type = schema::ColumnType::kInteger;
      column.missing = j % 2 == 1;
      if (column.missing) column.spellings = {"?"};
      column.edges = {0.0};
      while (column.codes() < codes[j])
        column.edges.push_back(column.edges.back() + static_cast<double>(column.edges.size()));
      column.hi = column.edges.back() - 1.0;
      table->columns.push_back(std::move(column));
      continue;
    }
    for (std::size_t k = 0; k < (label ? classes : codes[j]); ++k)
      column.values.push_back({column.name + std::to_string(k), {}});
    table->columns.push_back(std::move(column));
  }
  schema::Schema schema{{codes.size()}, classes, 0.0, 1.0};
  schema.table = std::move(table);
  return schema;
}

inline settings::Value value_of(const std::string& text) {
  settings::Value v;
  v.shown = text;
  if (text.starts_with('[')) {  // of texts without commas
    v.kind = settings::Value::Kind::kArray;
    for (std::size_t i = 1, end = 0; i + 1 < text.size(); i = end + 1) {
      end = std::min(text.find(',', i), text.size() - 1);
      const std::size_t first = text.find_first_not_of(' ', i);
      v.items.push_back(value_of(text.substr(first, end - first)));
    }
    return v;
  }
  char* end = nullptr;
  v.integer = std::strtoll(text.c_str(), &end, 10);
  if (!text.empty() && *end == '\0') {
    v.kind = settings::Value::Kind::kInteger;
    return v;
  }
  v.number = std::strtod(text.c_str(), &end);
  if (!text.empty() && *end == '\0') {
    v.kind = settings::Value::Kind::kFloat;
  } else if (text == "true" || text == "false") {
    v.kind = settings::Value::Kind::kBool;
    v.boolean = text == "true";
  } else {
    v.text = text.starts_with('"') ? text.substr(1, text.size() - 2) : text;
  }
  return v;
}

/// The keys of a map or a lift, as they are now: one that is set may bring others.
template <class Kind>
std::vector<settings::Key> keys_of(Kind& kind) {
  settings::Keys keys("map.x", settings::Stage::kRelease);
  kind.declare(keys);
  return keys.take();
}

/// @throws std::invalid_argument  the key refuses the value. @returns false  there is no such key.
template <class Kind>
bool set_key(Kind& kind, const std::string& name, const std::string& value) {
  for (const settings::Key& key : keys_of(kind)) {
    if (key.name != "map.x." + name) continue;
    if (const std::string problem = key.set(value_of(value)); !problem.empty())
      throw std::invalid_argument(name + " " + problem);
    return true;
  }
  return false;
}

/// A map of this kind with these settings, not resolved yet.
inline std::unique_ptr<features::FeatureMap> prepared_map(const std::string& kind, const MapKeys& settings,
                                                          const schema::Schema& schema) {
  std::unique_ptr<features::FeatureMap> map = features::make_map(kind);
  for (const auto& [name, value] : settings) {
    if (set_key(*map, name, value)) continue;
    map->prepare(schema);  // what the records decide brings more keys
    if (!set_key(*map, name, value)) throw std::invalid_argument(kind + " has no key " + name);
  }
  return map;
}

/// A map of this kind, resolved.
inline std::unique_ptr<features::FeatureMap> make_map(const std::string& kind, const MapKeys& settings,
                                                      const schema::Schema& schema) {
  std::unique_ptr<features::FeatureMap> map = prepared_map(kind, settings, schema);
  map->resolve(schema);
  return map;
}

inline std::unique_ptr<features::FeatureMap> make_moments(MapKeys settings, const schema::Schema& schema) {
  return make_map("moments", settings, schema);
}

/// A lift of this kind, built.
inline std::unique_ptr<features::Lift> make_lift(const std::string& kind, const MapKeys& settings,
                                                 const schema::Schema& schema) {
  std::unique_ptr<features::Lift> lift = features::make_lift(kind);
  for (const auto& [name, value] : settings) {
    if (!set_key(*lift, name, value)) throw std::invalid_argument(kind + " has no key " + name);
  }
  lift->resolve(schema);
  lift->build();
  return lift;
}

inline std::shared_ptr<const features::FeatureMap> make_rff(const features::RffSpec& spec) {
  return features::make_rff_map(spec);
}

/// A small map of the kind. Null: it takes no such records. @param more  keys of kinds that have them
inline std::unique_ptr<features::FeatureMap> small_map(std::string_view kind, const schema::Schema& schema,
                                                       const MapKeys& more = {}) {
  std::unique_ptr<features::FeatureMap> map = features::make_map(kind);
  try {
    for (const auto& [name, value] : more) set_key(*map, name, value);
    set_key(*map, "count", "602");  // more than a kernel's tile, and no multiple of a vector
    map->prepare(schema);
    set_key(*map, "coefficients", "3");
    map->resolve(schema);
  } catch (const ConfigError&) {
    return nullptr;
  }
  return map;
}

/// Records that a kind takes by default: columns, or an image where `make` throws ConfigError at those.
inline std::vector<std::size_t> shape_for(const std::function<void(const schema::Schema&)>& make) {
  try {
    make(schema_of({3}));
    return {3};
  } catch (const ConfigError&) {
    return {2, 8, 12};
  }
}

/// A kind's name, as a test can be called.
inline std::string test_name(std::string name) {
  std::ranges::replace(name, '-', '_');
  return name;
}

inline features::NamedMap named(std::string name, std::shared_ptr<const features::FeatureMap> map,
                                double weight = 1.0, features::MapRole role = features::MapRole::kMatch) {
  return {std::move(name), role, weight, std::move(map)};
}

}  // namespace muffle::test
