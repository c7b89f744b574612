#pragma once

#include <fmt/format.h>

#include <cmath>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "muffle/core/error.hpp"
#include "muffle/model/model_info.hpp"

// What the headers of all kinds of model files have in common.
namespace muffle::model {

/// Larger sizes than any real model has; keeps products of the header's numbers inside 64 bits.
constexpr std::uint64_t kMaxSize = std::uint64_t{1} << 24;

/// Strict reader of one JSON object: every key is known, present (but those in `optional`) and in range, or
/// ProtocolError names it.
class Fields {
 public:
  Fields(const nlohmann::json& object, std::string where, std::initializer_list<const char*> keys,
         std::initializer_list<const char*> optional = {})
      : object_(object), where_(std::move(where)) {
    if (!object_.is_object()) fail("is not an object");
    const std::set<std::string> known(keys.begin(), keys.end()), more(optional.begin(), optional.end());
    for (const auto& item : object_.items()) {
      if (!known.contains(item.key()) && !more.contains(item.key()))
        fail(fmt::format("has an unknown key '{}'", item.key()));
    }
    for (const auto& key : known) {
      if (!object_.contains(key)) fail(fmt::format("lacks the key '{}'", key));
    }
  }

  bool has(const char* key) const { return object_.contains(key); }

  const nlohmann::json& at(const char* key) const { return object_.at(key); }

  std::uint64_t size(const char* key, std::uint64_t low) const { return size_of(object_.at(key), key, low); }

  std::vector<std::size_t> sizes(const char* key, std::size_t most) const {
    const nlohmann::json& list = object_.at(key);
    if (!list.is_array() || list.size() > most)
      fail(fmt::format("has a '{}' that is no short list of sizes", key));
    std::vector<std::size_t> out;
    for (const auto& v : list) out.push_back(size_of(v, key, 1));
    return out;
  }

  double number(const char* key) const {
    const nlohmann::json& v = object_.at(key);
    if (!v.is_number() || !std::isfinite(v.get<double>()))
      fail(fmt::format("has a '{}' that is no number", key));
    return v.get<double>();
  }

  bool boolean(const char* key) const {
    if (!object_.at(key).is_boolean()) fail(fmt::format("has a '{}' that is neither true nor false", key));
    return object_.at(key).get<bool>();
  }

  std::string text(const char* key) const {
    if (!object_.at(key).is_string()) fail(fmt::format("has a '{}' that is no text", key));
    return object_.at(key).get<std::string>();
  }

  [[noreturn]] void fail(const std::string& what) const {
    throw ProtocolError(
        fmt::format("{} {}: it was not written by this version of muffle; train again", where_, what));
  }

 private:
  std::size_t size_of(const nlohmann::json& v, const char* key, std::uint64_t low) const {
    if (!v.is_number_unsigned() || v.get<std::uint64_t>() < low || v.get<std::uint64_t>() > kMaxSize) {
      fail(fmt::format("has a '{}' outside {}..{}", key, low, kMaxSize));
    }
    return v.get<std::size_t>();
  }

  const nlohmann::json& object_;
  std::string where_;
};

/// {"shape", "classes", "lo", "hi", "on_error"}.
nlohmann::json schema_header(const schema::Schema& schema);
/// @param header  the whole header; `name` is the file. @throws ProtocolError.
schema::Schema parse_schema(const nlohmann::json& header, const std::string& name);

/// Reads class_share, release_hash, train_hash, is_private, counts_released and choice; info.spec.schema must
/// be there. @throws ProtocolError.
void parse_provenance(const Fields& fields, ModelInfo& info);
/// Writes them.
void add_provenance(nlohmann::json& header, const ModelInfo& info);

}  // namespace muffle::model
