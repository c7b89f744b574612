#include "muffle/core/json_fields.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "muffle/core/error.hpp"
#include "muffle/core/hash.hpp"
#include "muffle/core/text.hpp"

namespace muffle {

using nlohmann::json;

JsonFields::JsonFields(const json& object, const JsonDocument& document, std::string path)
    : object_(object), document_(document), path_(std::move(path)) {
  if (!object.is_object()) fail("", "is no JSON object");
}

void JsonFields::only(std::initializer_list<std::string_view> keys) const {
  for (const auto& item : object_.items()) {
    if (std::find(keys.begin(), keys.end(), item.key()) == keys.end())
      fail(printable(item.key().substr(0, 64)), "is one that this muffle does not know");
  }
}

bool JsonFields::has(std::string_view key) const { return object_.contains(std::string(key)); }

JsonFields JsonFields::object(std::string_view key) const {
  return {at(key), document_, path_ + std::string(key) + "."};
}

std::vector<JsonFields> JsonFields::objects(std::string_view key, std::size_t most) const {
  std::vector<JsonFields> out;
  for (const json& entry : list(key, 1, most))
    out.emplace_back(entry, document_, path_ + std::string(key) + ".");
  return out;
}

std::uint64_t JsonFields::integer(std::string_view key, std::uint64_t low, std::uint64_t high) const {
  const json& v = at(key);
  if (!v.is_number_unsigned()) fail(key, "is not a whole number, 0 or more");
  const auto value = v.get<std::uint64_t>();
  if (value < low || value > high) fail(key, fmt::format("is {}, out of range {} .. {}", value, low, high));
  return value;
}

double JsonFields::number(std::string_view key) const {
  const json& v = at(key);
  if (!v.is_number()) fail(key, "is not a number");
  const auto value = v.get<double>();
  if (!std::isfinite(value)) fail(key, "is not finite");
  return value;
}

bool JsonFields::flag(std::string_view key) const {
  const json& v = at(key);
  if (!v.is_boolean()) fail(key, "is neither true nor false");
  return v.get<bool>();
}

std::string JsonFields::text(std::string_view key, std::size_t max_length) const {
  const json& v = at(key);
  if (!v.is_string()) fail(key, "is not a text");
  const auto& value = v.get_ref<const std::string&>();
  if (value.size() > max_length)
    fail(key, fmt::format("has {} characters, more than {}", value.size(), max_length));
  return value;
}

std::string JsonFields::hex(std::string_view key, std::size_t digits) const {
  std::string value = text(key, digits);
  if (!is_hex(value, digits)) fail(key, fmt::format("is not {} hexadecimal digits", digits));
  return value;
}

std::size_t JsonFields::choice(std::string_view key, std::initializer_list<std::string_view> words) const {
  const std::string value = text(key, 64);
  const auto at = std::find(words.begin(), words.end(), value);
  if (at == words.end()) fail(key, "is a word that this muffle does not know");
  return static_cast<std::size_t>(at - words.begin());
}

std::vector<std::size_t> JsonFields::sizes(std::string_view key, std::size_t most, std::uint64_t low,
                                           std::uint64_t high, bool may_be_empty) const {
  std::vector<std::size_t> out;
  for (const json& v : list(key, may_be_empty ? 0 : 1, most)) {
    if (!v.is_number_unsigned() || v.get<std::uint64_t>() < low || v.get<std::uint64_t>() > high)
      fail(key, fmt::format("holds something that is not a whole number in {} .. {}", low, high));
    out.push_back(v.get<std::uint64_t>());
  }
  return out;
}

std::vector<double> JsonFields::numbers(std::string_view key, std::size_t count) const {
  std::vector<double> out;
  for (const json& v : list(key, count, count)) {
    if (!v.is_number() || !std::isfinite(v.get<double>()))
      fail(key, "holds something that is not a finite number");
    out.push_back(v.get<double>());
  }
  return out;
}

std::vector<std::string> JsonFields::texts(std::string_view key, std::size_t most,
                                           std::size_t max_length) const {
  const json& list = at(key);
  if (!list.is_array() || list.size() > most) fail(key, "is no list of texts, or too long");
  std::vector<std::string> out;
  for (const json& item : list) {
    if (!item.is_string() || item.get_ref<const std::string&>().size() > max_length)
      fail(key, "is no list of texts, or one of them is too long");
    out.push_back(item.get<std::string>());
  }
  return out;
}

const json& JsonFields::at(std::string_view key) const {
  const auto it = object_.find(key);
  if (it == object_.end()) fail(key, "is missing");
  return *it;
}

const json& JsonFields::list(std::string_view key, std::size_t least, std::size_t most) const {
  const json& v = at(key);
  if (!v.is_array() || v.size() < least || v.size() > most)
    fail(key, fmt::format("is not a list of {} to {}", least, most));
  return v;
}

void JsonFields::fail(std::string_view key, const std::string& what) const {
  const std::string field = path_ + std::string(key);
  const std::string problem = (field.empty() ? "it " : "the field '" + field + "' ") + what;
  if (document_.name.empty()) throw ProtocolError(problem);
  throw ProtocolError(
      fmt::format("'{}' is not {}: {}. {}", document_.name, document_.what, problem, document_.remedy));
}

}  // namespace muffle
