// A table's schema as people write it, in TOML: one reader, whose parts are the columns and what is said
// between them.
#pragma once

#include <fmt/format.h>
#include <toml++/toml.h>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "combinations.hpp"
#include "muffle/schema/table.hpp"
#include "muffle/schema/table_toml.hpp"
#include "toml_values.hpp"

namespace muffle::schema {

template <class T, std::size_t N>
std::string words_of(const std::pair<std::string_view, T> (&table)[N]) {
  std::string all;
  for (std::size_t i = 0; i < N; ++i)
    all += fmt::format("{}\"{}\"", i == 0 ? "" : i + 1 == N ? " or " : ", ", table[i].first);
  return all;
}

template <class T, std::size_t N>
const T* find_word(const std::pair<std::string_view, T> (&table)[N], std::string_view word) {
  for (const auto& [name, value] : table) {
    if (name == word) return &value;
  }
  return nullptr;
}

/// Reads one file; collects what is wrong with it.
class TableReader : TomlValues {
 public:
  TableReader(const toml::table& file, std::string name, PublicFiles files)
      : file_(file), name_(std::move(name)), files_(std::move(files)) {}

  /// @throws ConfigError  with all problems.
  Table read();

 private:
  template <class Read>
  void each_of(const std::string& key, const Read& read);

  // Columns, each by itself (table_toml_columns.cpp).
  using Words = std::initializer_list<const char*>;
  void without(const toml::table& t, std::initializer_list<Words> lists, const std::string& of);
  /// Surrogate keys: nothing but how they are written.
  void key(const toml::table& t, Column& c, const std::string& of);
  void key_notation(const toml::table& t, Column& c, const std::string& of);
  void person(const toml::table& t, Column& c, const std::string& of);
  Column column(const toml::table& t);
  void type(const std::string& word, Column& c, const toml::node& node, const std::string& of);
  void missing(const toml::table& t, Column& c, const std::string& of);
  void numbers(const toml::table& t, Column& c, const std::string& of);
  /// A bound or an edge; where a column counts since another, in days.
  std::optional<double> position(const toml::node& node, const Column& c, const std::string& key,
                                 const std::string& of);
  void steps(const toml::table& t, Column& c, const std::string& of);
  void bins(const toml::table& t, Column& c, const std::string& of);
  void categories(const toml::table& t, Column& c, const std::string& of);

  // What is said of several columns, once all are known (table_toml_relations.cpp).
  /// Datetimes become a day and a time of day, but for those that say that they do not.
  void times_of_day();
  /// Of a column that is derived, once all columns are known.
  void derive(std::size_t j, const toml::node& node);
  /// Of a column that another determines, once all columns are known: from = { A = ["A1", "A2"] }.
  void determine(Column& c, const toml::table& t);
  std::optional<std::size_t> column_named(const toml::node& node, const std::string& of);
  /// Of {column = "x", is = ["a", "b"]}.
  bool condition(const toml::table& t, const char* key, const std::string& of,
                 std::vector<std::size_t>& columns, std::vector<std::uint32_t>& codes);
  void constraint(const toml::table& t);
  /// Two columns, and which of their values go together.
  void combination(const toml::table& t);
  NamedPairs from_file(const toml::table& t, const std::string& of, const Constraint& c);
  NamedPairs listed(const toml::table& t, const std::string& of);

  const toml::table& file_;
  std::string name_;
  PublicFiles files_;
  Table table_;
  std::vector<std::pair<std::size_t, const toml::node*>> since_, derived_;  ///< columns, and where they name
                                                                            ///< others
  std::vector<std::pair<std::size_t, const toml::node*>> timed_;  ///< columns that say whether their time of
                                                                  ///< day is apart
  std::vector<std::pair<std::size_t, const toml::table*>> determined_;  ///< columns, and what is said of them
  std::size_t combinations_ = 0;                                        ///< read so far
};

}  // namespace muffle::schema
