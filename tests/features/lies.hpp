#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "muffle/core/error.hpp"
#include "support/maps.hpp"

// What the settings of a kind must refuse, in configurations and in releases.
namespace muffle::test {

/// ProtocolError from the reader, or ConfigError from what resolves the settings.
inline bool refuses(const nlohmann::json& json, const std::function<void(const nlohmann::json&)>& read) {
  try {
    read(json);
  } catch (const ProtocolError&) {
    return true;
  } catch (const ConfigError&) {
    return true;
  }
  return false;
}

/// Every field of a description is needed, but for those that it leaves out for `one_value`; none may be
/// added, and none may have another type or an absurd value.
inline void refuses_lies(const nlohmann::json& stated, const std::function<void(const nlohmann::json&)>& read,
                         const std::set<std::string>& one_value = {}) {
  using nlohmann::json;
  const json good = json::parse(stated.dump());
  const auto no_such_field = [&](json bad) { EXPECT_THROW(read(bad), ProtocolError) << bad; };
  ASSERT_NO_THROW(read(good));
  for (const json& other : {json(), json(3), json("x"), json::array()}) no_such_field(other);
  std::vector<json::json_pointer> objects{json::json_pointer()};
  for (std::size_t o = 0; o < objects.size(); ++o) {
    json more = good;
    more[objects[o]]["audited_by"] = "everybody";
    no_such_field(more);
    for (const auto& [key, value] : good.at(objects[o]).items()) {
      const json::json_pointer field = objects[o] / key;
      json less = good;
      less[objects[o]].erase(key);
      if (!one_value.contains(key)) no_such_field(less);
      for (const json& lie :
           {json(), json(true), json("no such word"), json::array({1}), json(json::object())}) {
        if (!value.is_string() && lie.type() == value.type()) continue;
        json bad = good;
        bad[field] = lie;
        no_such_field(bad);
      }
      for (const double absurd :
           {-1.5e300, -0.5e10, 1.5e300, std::numeric_limits<double>::infinity(), std::nan("")}) {
        json bad = good;
        bad[field] = absurd;
        EXPECT_TRUE(refuses(bad, read)) << bad;
      }
      if (value.is_object()) objects.push_back(field);
    }
  }
}

/// No key takes what means nothing, a refusal changes nothing, and a key takes what it shows.
template <class Kind>
void refuses_nonsense(Kind& kind) {
  settings::Value list;
  list.kind = settings::Value::Kind::kArray;
  list.items.resize(1);
  for (std::size_t i = 0; i < keys_of(kind).size(); ++i) {
    const settings::Key key = keys_of(kind)[i];
    const std::string before = key.get();
    EXPECT_FALSE(key.help.empty()) << key.name;
    EXPECT_EQ(key.stage, settings::Stage::kRelease) << key.name;
    EXPECT_NE(key.set(list), "") << key.name;
    for (const char* nonsense : {"nan", "inf", "-1e300", "-9223372036854775808", "no such word", ""})
      EXPECT_NE(key.set(value_of(nonsense)), "") << key.name << " = " << nonsense;
    EXPECT_EQ(key.get(), before);
    EXPECT_EQ(key.set(value_of(before)), "") << key.name;
    EXPECT_EQ(keys_of(kind)[i].get(), before);
  }
}

}  // namespace muffle::test
