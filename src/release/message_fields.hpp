// What the messages of a round and of a consortium share: how their fields are read.
#pragma once

#include <fmt/format.h>

#include <array>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "muffle/core/hash.hpp"
#include "muffle/core/json_fields.hpp"
#include "muffle/crypto/site_keys.hpp"
#include "muffle/privacy/ledger.hpp"

namespace muffle::release {

inline constexpr std::size_t kMostSites = std::size_t{1} << 16, kMostHolders = 10;

inline JsonDocument message_document(const std::string& name) {
  return {name, "a message of a round that muffle can use",
          "Fetch it again from where it was put; if it stays so, its sender has to send it again."};
}

template <std::size_t kSize>
std::array<unsigned char, kSize> bytes_at(const JsonFields& f, std::string_view key) {
  std::array<unsigned char, kSize> out{};
  (void)crypto::from_hex(f.hex(key, 2 * kSize), out);
  return out;
}

template <std::size_t kSize>
nlohmann::json hex_json(const std::vector<std::array<unsigned char, kSize>>& list) {
  nlohmann::json out = nlohmann::json::array();
  for (const auto& bytes : list) out.push_back(to_hex(bytes));
  return out;
}

/// @param list  of `key`, or within it
template <std::size_t kSize>
std::vector<std::array<unsigned char, kSize>> hex_list(const JsonFields& f, std::string_view key,
                                                       const nlohmann::json& list, std::size_t least,
                                                       std::size_t most) {
  if (!list.is_array() || list.size() < least || list.size() > most)
    f.fail(key, fmt::format("is no list of {}",
                            least == most ? fmt::format("{}", most) : fmt::format("{} to {}", least, most)));
  std::vector<std::array<unsigned char, kSize>> out;
  for (const nlohmann::json& entry : list) {
    std::array<unsigned char, kSize>& bytes = out.emplace_back();
    const auto* text = entry.get_ptr<const std::string*>();
    if (text == nullptr || !is_hex(*text, 2 * kSize) || !crypto::from_hex(*text, bytes))
      f.fail(key, fmt::format("has an entry that is not {} hexadecimal digits", 2 * kSize));
  }
  return out;
}

template <std::size_t kSize>
std::vector<std::array<unsigned char, kSize>> hex_list(const JsonFields& f, std::string_view key,
                                                       std::size_t least, std::size_t most) {
  return hex_list<kSize>(f, key, f.at(key), least, most);
}

/// What a site calls its records, as its ledger does.
inline std::string read_data_id(const JsonFields& f) {
  std::string id = f.text("data_id", 128);
  if (!privacy::is_data_id(id)) f.fail("data_id", "is no name of a data set");
  return id;
}

template <class List, class Project>
void require_different(const JsonFields& f, std::string_view key, const List& list, const Project& project) {
  std::set<std::decay_t<decltype(project(list.front()))>> seen;
  for (const auto& entry : list) {
    if (!seen.insert(project(entry)).second) f.fail(key, "names somebody, or a key, twice");
  }
}

}  // namespace muffle::release
