#pragma once

#include <cstdint>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace muffle::release {

/// Reads typed fields of a release's JSON header; every complaint is a ProtocolError that names the field. No
/// JSON exception escapes. Refers to its arguments.
class Fields {
 public:
  /// @param path  in front of the fields' names, ending with '.' unless empty  @param file  what it is called
  Fields(const nlohmann::json& object, std::string path, const std::string& file);

  Fields object(const char* key) const { return {at(key), path_ + key + ".", file_}; }
  /// An element of the list `key`.
  Fields element(const char* key, const nlohmann::json& entry) const {
    return {entry, path_ + key + ".", file_};
  }
  bool has(const char* key) const { return object_.contains(key); }

  std::uint64_t integer(const char* key, std::uint64_t low, std::uint64_t high) const;
  /// Finite.
  double number(const char* key) const;
  bool flag(const char* key) const;
  std::string text(const char* key, std::size_t max_length) const;
  /// One of `words`; its index.
  std::size_t choice(const char* key, std::initializer_list<std::string_view> words) const;
  const nlohmann::json& list(const char* key, std::size_t max_length) const;
  [[noreturn]] void fail(const std::string& key, const std::string& what) const;

 private:
  const nlohmann::json& at(const char* key) const;

  const nlohmann::json& object_;
  std::string path_;
  const std::string& file_;
};

}  // namespace muffle::release
