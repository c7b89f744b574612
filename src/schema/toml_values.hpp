// What people wrote in a TOML file, as values of a table's columns, and what is wrong with it.
#pragma once

#include <toml++/toml.h>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "muffle/schema/table.hpp"

namespace muffle::schema {

/// Reads values and collects problems, each with its line. `of` says whose value it is, for messages.
class TomlValues {
 protected:
  static std::size_t line(const toml::node& node) { return node.source().begin.line; }
  void add(std::size_t at, const std::string& what);
  void keys(const toml::table& table, const std::vector<std::string>& known, const std::string& of);
  std::string text(const toml::table& table, const char* key, const std::string& of, bool needed);
  void fill_in(const toml::node& node, const std::string& key, const std::string& of);
  /// A number, a date or a time, as the column's type has it.
  std::optional<double> number(const toml::node& node, ColumnType type, const std::string& key,
                               const std::string& of);
  std::vector<std::string> texts(const toml::node& node, const std::string& key, const std::string& of);

  std::vector<std::string> problems_;
  bool open_ = false;  ///< something is still to be filled in
};

}  // namespace muffle::schema
