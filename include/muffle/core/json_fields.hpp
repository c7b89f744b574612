#pragma once

#include <cstdint>
#include <initializer_list>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace muffle {

/// What the errors of a JsonFields say around the field's name.
struct JsonDocument {
  std::string name;    ///< of the file; empty: errors speak of the field alone, and the reader says the rest
  std::string what;    ///< "'x.mfl' is not WHAT: the field ..."; such as "a release that muffle can use"
  std::string remedy;  ///< the last sentence, such as "Copy the file again from where it was made."
};

/// Reads typed fields of one object of an untrusted JSON document, strictly: one that is missing, of a wrong
/// type or out of range is a ProtocolError that names it. No JSON exception escapes. Refers to its arguments.
class JsonFields {
 public:
  JsonFields(const nlohmann::json& object, const JsonDocument& document, std::string path = {});

  /// No other fields than these may be there. @throws ProtocolError naming the first one.
  void only(std::initializer_list<std::string_view> keys) const;

  bool has(std::string_view key) const;
  JsonFields object(std::string_view key) const;
  /// The objects of the list `key`, 1 to `most` of them.
  std::vector<JsonFields> objects(std::string_view key, std::size_t most) const;

  std::uint64_t integer(std::string_view key, std::uint64_t low, std::uint64_t high) const;
  /// Finite.
  double number(std::string_view key) const;
  bool flag(std::string_view key) const;
  std::string text(std::string_view key, std::size_t max_length) const;
  /// At most `most` texts, each of at most max_length bytes.
  std::vector<std::string> texts(std::string_view key, std::size_t most, std::size_t max_length) const;
  /// Exactly so many hexadecimal digits, in lower case.
  std::string hex(std::string_view key, std::size_t digits) const;
  /// One of `words`; its index.
  std::size_t choice(std::string_view key, std::initializer_list<std::string_view> words) const;
  /// 1 to `most` whole numbers in low .. high; none if `may_be_empty`.
  std::vector<std::size_t> sizes(std::string_view key, std::size_t most, std::uint64_t low,
                                 std::uint64_t high, bool may_be_empty = false) const;
  /// Exactly `count` finite numbers.
  std::vector<double> numbers(std::string_view key, std::size_t count) const;
  const nlohmann::json& at(std::string_view key) const;

  [[noreturn]] void fail(std::string_view key, const std::string& what) const;

 private:
  const nlohmann::json& list(std::string_view key, std::size_t least, std::size_t most) const;

  const nlohmann::json& object_;
  const JsonDocument& document_;
  std::string path_;  ///< in front of the fields' names; empty or ending with '.'
};

}  // namespace muffle
