#include "header_fields.hpp"

#include <fmt/format.h>

#include <cmath>

#include "muffle/core/error.hpp"

namespace muffle::release {

using nlohmann::json;

Fields::Fields(const json& object, std::string path, const std::string& file)
    : object_(object), path_(std::move(path)), file_(file) {
  if (!object.is_object()) fail("", "is not an object");
}

std::uint64_t Fields::integer(const char* key, std::uint64_t low, std::uint64_t high) const {
  const json& v = at(key);
  if (!v.is_number_unsigned()) fail(key, "is not a whole number, 0 or more");
  const auto value = v.get<std::uint64_t>();
  if (value < low || value > high) fail(key, fmt::format("is {}, not in {} .. {}", value, low, high));
  return value;
}

double Fields::number(const char* key) const {
  const json& v = at(key);
  if (!v.is_number()) fail(key, "is not a number");
  const auto value = v.get<double>();
  if (!std::isfinite(value)) fail(key, "is not finite");
  return value;
}

bool Fields::flag(const char* key) const {
  const json& v = at(key);
  if (!v.is_boolean()) fail(key, "is neither true nor false");
  return v.get<bool>();
}

std::string Fields::text(const char* key, std::size_t max_length) const {
  const json& v = at(key);
  if (!v.is_string()) fail(key, "is not a text");
  const auto& value = v.get_ref<const std::string&>();
  if (value.size() > max_length)
    fail(key, fmt::format("has {} characters, more than {}", value.size(), max_length));
  return value;
}

std::size_t Fields::choice(const char* key, std::initializer_list<std::string_view> words) const {
  const std::string value = text(key, 64);
  std::size_t i = 0;
  for (const std::string_view word : words) {
    if (value == word) return i;
    ++i;
  }
  fail(key, "is a word that this muffle does not know");
}

const json& Fields::list(const char* key, std::size_t max_length) const {
  const json& v = at(key);
  if (!v.is_array() || v.empty() || v.size() > max_length)
    fail(key, fmt::format("is not a list of 1 to {}", max_length));
  return v;
}

void Fields::fail(const std::string& key, const std::string& what) const {
  throw ProtocolError(
      fmt::format("'{}' is not a release that muffle can use: the header field '{}{}' {}. Copy the file "
                  "again from where it was made; a release must not be drawn again to replace it.",
                  file_, path_, key, what));
}

const json& Fields::at(const char* key) const {
  const auto it = object_.find(key);
  if (it == object_.end()) fail(key, "is missing");
  return *it;
}

}  // namespace muffle::release
