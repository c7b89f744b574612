#include "muffle/schema/table_toml.hpp"

#include <fmt/format.h>
#include <toml++/toml.h>

#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/core/text.hpp"
#include "muffle/schema/date_differences.hpp"
#include "table_reader.hpp"

namespace muffle::schema {
namespace {

constexpr std::size_t kMostTomlBytes = std::size_t{1} << 24;

}  // namespace

template <class Read>
void TableReader::each_of(const std::string& key, const Read& read) {
  const toml::node* list = file_.get(key);
  if (list == nullptr) return;
  if (!list->is_array_of_tables())
    return add(line(*list), fmt::format("{0} is a list of tables: write [[{0}]]", key));
  for (const toml::node& node : *list->as_array()) read(*node.as_table());
}

Table TableReader::read() {
  keys(file_, {"columns", "constraints", "combinations"}, "the schema");
  const toml::array* columns = file_["columns"].as_array();
  if (columns == nullptr || columns->empty()) {
    add(1, "there are no [[columns]]");
  } else {
    for (const toml::node& node : *columns) {
      const toml::table* at = node.as_table();
      if (at == nullptr) {
        add(line(node), "columns is a list of tables: write [[columns]]");
      } else {
        table_.columns.push_back(column(*at));
      }
    }
  }
  for (const auto& [j, node] : since_) {
    if (const auto base = column_named(*node, fmt::format("column '{}': since", table_.columns[j].name)))
      table_.columns[j].since = *base;
  }
  for (const auto& [j, node] : derived_) derive(j, *node);
  for (const auto& [j, at] : determined_) determine(table_.columns[j], *at);
  each_of("constraints", [this](const toml::table& t) { constraint(t); });
  each_of("combinations", [this](const toml::table& t) { combination(t); });
  if (problems_.empty()) {
    count_since_by_rules(table_);
    times_of_day();
  }
  if (problems_.empty()) {
    for (std::string& p : table_.problems()) problems_.push_back(std::move(p));
  }
  if (!problems_.empty()) {
    std::string all;
    for (std::size_t i = 0; i < problems_.size(); ++i)
      all += (i == 0 ? "" : "; ") +
             (problems_.size() > 1 ? fmt::format("({}) {}", i + 1, problems_[i]) : problems_[i]);
    throw ConfigError(fmt::format(
        "The schema '{}' cannot be used: {}. {} (docs/reference/schema.md explains every key); no "
        "record was read.",
        printable(name_), all,
        open_ ? "Write what is public about each, from experience or from public data, never from "
                "these records"
              : "Correct it"));
  }
  return std::move(table_);
}

Table parse_table_toml(std::string_view text, const std::string& name, PublicFiles files) {
  toml::table file;
  try {
    file = toml::parse(text, name);
  } catch (const toml::parse_error& e) {
    throw ConfigError(
        fmt::format("The schema '{}' line {}: not valid TOML: {}. Mend that line; text needs quotes.",
                    printable(name), e.source().begin.line, std::string(e.description())));
  }
  return TableReader(file, name, std::move(files)).read();
}

Table read_table_toml(const std::filesystem::path& path, PrivateFile is_private) {
  return parse_table_toml(read_file(path, kMostTomlBytes), path.string(),
                          {path.parent_path(), std::move(is_private)});
}

}  // namespace muffle::schema
