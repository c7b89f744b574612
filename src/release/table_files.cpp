#include "muffle/release/table_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <list>
#include <nlohmann/json.hpp>
#include <set>
#include <string_view>

#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/core/json_fields.hpp"
#include "muffle/core/text.hpp"
#include "muffle/core/watchdog.hpp"
#include "muffle/schema/table_text.hpp"

namespace muffle::release {
namespace {

namespace fs = std::filesystem;

constexpr const char* kTablesFormat = "muffle-tables";
constexpr const char* kTablesJson = "tables.json";

std::string file_of_table(std::size_t t) { return fmt::format("table-{:04}.csv", t); }

bool is_file_of_table(std::string_view name) {
  constexpr std::string_view kBegin = "table-", kEnd = ".csv";
  if (!name.starts_with(kBegin) || !name.ends_with(kEnd) || name.size() < file_of_table(0).size())
    return false;
  name = name.substr(kBegin.size(), name.size() - kBegin.size() - kEnd.size());
  return std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; });
}

[[noreturn]] void refuse_place(const fs::path& file) {
  throw ConfigError(fmt::format(
      "--export-tables: '{}' is in the way, and no earlier export wrote it. Move it away, or choose "
      "another folder.",
      printable(file.string())));
}

/// The tables' files that an earlier export's description names; a job that was killed may not have written
/// them all. @throws ConfigError  what has the description's name is none.
std::set<std::string> described_tables(const fs::path& folder) {
  std::set<std::string> names;
  const fs::path file = folder / kTablesJson;
  if (!is_there(file, "an earlier export", "Nothing was changed.")) return names;
  const auto stated = nlohmann::json::parse(read_file(file), nullptr, /*allow_exceptions=*/false);
  try {
    const JsonDocument document;
    const JsonFields fields(stated, document);
    (void)fields.choice("format", {kTablesFormat});
    for (const JsonFields& table : fields.objects("tables", SIZE_MAX)) names.insert(table.text("file", 64));
  } catch (const ProtocolError&) {
    refuse_place(file);
  }
  if (!std::all_of(names.begin(), names.end(), is_file_of_table)) refuse_place(file);
  return names;
}

/// The same, where there are no others that the next export would replace. @throws ConfigError.
std::set<std::string> earlier_tables(const fs::path& folder) {
  std::set<std::string> names = described_tables(folder);
  const WatchedStep step("listing", folder);
  std::error_code none;
  for (auto i = fs::directory_iterator(folder, none); i != fs::directory_iterator(); i.increment(none)) {
    const std::string name = i->path().filename().string();
    if (is_file_of_table(name) && !names.contains(name)) refuse_place(i->path());
  }
  return names;
}

/// What each code of a column stands for: a category, the values of a bin ("17..24") or the missing value.
std::vector<std::string> code_texts(const schema::Column& column) {
  std::vector<std::string> out;
  if (column.is_number()) {
    const schema::Grid grid(column);
    for (std::uint32_t bin = 0; bin < column.bins(); ++bin) {
      const auto text = [&](std::uint64_t index) {
        const double value = grid.value(index);
        if (const auto special = schema::special_text(column, value)) return *special;
        std::string own;
        schema::write_number(column, value, own);
        return own;
      };
      const std::string from = text(grid.first(bin)), to = text(grid.first(bin + 1) - 1);
      out.push_back(from == to ? from : from + ".." + to);
    }
  } else {
    for (const schema::Category& category : column.values) out.push_back(category.name);
  }
  if (column.codes() > column.bins()) out.push_back(column.spellings.empty() ? "" : column.spellings.front());
  return out;
}

struct NamedColumn {
  std::string name;
  std::vector<std::string> codes;
};

/// A column as a table counts it that does not tell all its codes apart: "a or b".
NamedColumn in_groups(const NamedColumn& column, const std::vector<std::uint32_t>& groups, std::size_t size) {
  NamedColumn out{column.name, std::vector<std::string>(size)};
  for (std::size_t code = 0; code < groups.size(); ++code) {
    std::string& text = out.codes[groups[code]];
    text += (text.empty() ? "" : " or ") + column.codes[code];
  }
  return out;
}

/// As RFC 4180 has it.
std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? std::string("\"\"") : std::string(1, c);
  return out + "\"";
}

/// A line for each cell: a value of every column, and the count.
void write_csv(const std::filesystem::path& path, const NoisyTable& table,
               const std::vector<const NamedColumn*>& columns) {
  constexpr std::size_t kBlock = std::size_t{1} << 20;
  NewFile file(path);
  std::string out;
  const auto flush = [&] {
    file.write(std::as_bytes(std::span(out)));
    out.clear();
  };
  for (const NamedColumn* column : columns) out += csv_field(column->name) + ",";
  out += "count\n";
  std::vector<std::vector<std::string>> fields;
  for (const NamedColumn* column : columns) {
    fields.emplace_back();
    for (const std::string& code : column->codes) fields.back().push_back(csv_field(code) + ",");
  }
  std::vector<std::size_t> at(columns.size());
  for (const double count : table.counts) {
    for (std::size_t j = 0; j < at.size(); ++j) out += fields[j][at[j]];
    out += exact_text(count) + "\n";
    for (std::size_t j = at.size(); j-- > 0;) {
      if (++at[j] < fields[j].size()) break;
      at[j] = 0;
    }
    if (out.size() >= kBlock) flush();
  }
  flush();
  file.commit();
}

nlohmann::json described(const NamedColumn& column) {
  return {{"name", column.name}, {"codes", column.codes}};
}

/// A release's tables by their columns' names.
struct NamedTables {
  NoisyTables all;
  std::vector<NamedColumn> columns;  ///< the label first, if there is one
  bool labelled = false;

  /// The columns of a table, the label first.
  std::vector<std::size_t> columns_of(const NoisyTable& table) const {
    std::vector<std::size_t> out;
    if (labelled) out.push_back(0);
    for (const std::size_t j : table.columns) out.push_back(j + (labelled ? 1 : 0));
    return out;
  }
  /// Of column `c` of these, how the table groups its codes; empty: not at all.
  std::vector<std::uint32_t> groups_of(const NoisyTable& table, std::size_t c) const {
    if (table.groups.empty() || (labelled && c == 0)) return {};
    return table.groups[c - (labelled ? 1 : 0)];
  }
};

NamedTables named_tables(const Artifact& a) {
  NamedTables out{make_noisy_tables(a), {}, false};
  const schema::Table& schema = *a.schema.table;
  if (const auto j = schema.label(); j && out.all.classes > 1) {
    out.labelled = true;
    out.columns.push_back({schema.columns[*j].name, code_texts(schema.columns[*j])});
    out.columns.back().codes.resize(out.all.classes);  // a record without a label is in no class
  }
  for (const std::size_t j : schema.features())
    out.columns.push_back({schema.columns[j].name, code_texts(schema.columns[j])});
  return out;
}

/// What every description of a release's tables begins with.
nlohmann::json description_of(const Artifact& a, const NamedTables& tables, const char* format) {
  nlohmann::json stated = {
      {"format", format},
      {"version", 1},
      {"private", a.is_private},
      {"epsilon", a.is_private ? nlohmann::json(promise_of(a).value().epsilon) : nlohmann::json()},
      {"delta", a.is_private ? nlohmann::json(a.noise.delta) : nlohmann::json()},
      {"adjacency", privacy::to_string(a.adjacency)},
      {"records", tables.all.records},
      {"records_known", tables.all.records_known},
      {"label", tables.labelled ? nlohmann::json(tables.columns[0].name) : nlohmann::json()}};
  for (const NamedColumn& column : tables.columns) stated["columns"].push_back(described(column));
  return stated;
}

std::string text_of(const nlohmann::json& stated, int indent) {
  return stated.dump(indent, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

}  // namespace

void require_place_for_tables(const fs::path& folder) { (void)earlier_tables(folder); }

void write_tables(const Artifact& a, const fs::path& folder) {
  const NamedTables tables = named_tables(a);
  ensure_writable_folder(folder);
  for (const std::string& name : earlier_tables(folder)) watched::remove_all(folder / name);
  nlohmann::json stated = description_of(a, tables, kTablesFormat);
  std::list<NamedColumn> coarse;
  std::vector<std::vector<const NamedColumn*>> held;
  for (const NoisyTable& table : tables.all.tables) {
    std::vector<const NamedColumn*>& own = held.emplace_back();
    bool any_grouped = false;
    nlohmann::json names, shape, values;
    for (const std::size_t j : tables.columns_of(table)) {
      const std::size_t c = own.size();
      const std::vector<std::uint32_t> groups = tables.groups_of(table, c);
      const NamedColumn& column = tables.columns[j];
      any_grouped = any_grouped || !groups.empty();
      const std::size_t size = groups.empty() ? 0 : table.sizes[c - (tables.labelled ? 1 : 0)];
      own.push_back(groups.empty() ? &column : &coarse.emplace_back(in_groups(column, groups, size)));
      names.push_back(column.name);
      shape.push_back(own.back()->codes.size());
      values.push_back(own.back()->codes);
    }
    stated["tables"].push_back({{"file", file_of_table(held.size() - 1)},
                                {"columns", names},
                                {"shape", shape},
                                {"sigma", table.sigma}});
    if (any_grouped) stated["tables"].back()["values"] = values;
  }
  const auto written = [&](const fs::path& file) {
    // When it was written would tell how long the release took, and so how many records there are.
    if (a.adjacency == privacy::Adjacency::kAddRemoveOne) round_own_times(file);
  };
  // First, so that it names whatever a job that is killed leaves, and the next export removes it.
  write_file_atomically(folder / kTablesJson, text_of(stated, 2));
  written(folder / kTablesJson);
  for (std::size_t t = 0; t < held.size(); ++t) {
    write_csv(folder / file_of_table(t), tables.all.tables[t], held[t]);
    written(folder / file_of_table(t));
  }
}

std::string domain_text(const Artifact& a) {
  nlohmann::ordered_json stated;
  for (const NamedColumn& column : named_tables(a).columns) stated[column.name] = column.codes.size();
  return stated.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

std::string measurements_text(const Artifact& a) {
  const NamedTables tables = named_tables(a);
  nlohmann::json stated = description_of(a, tables, "muffle-measurements");
  for (const NoisyTable& table : tables.all.tables) {
    nlohmann::json measurement = {{"stddev", table.sigma}, {"values", table.counts}};
    const std::vector<std::size_t> columns = tables.columns_of(table);
    for (std::size_t c = 0; c < columns.size(); ++c) {
      const NamedColumn& column = tables.columns[columns[c]];
      measurement["clique"].push_back(column.name);
      if (const std::vector<std::uint32_t> groups = tables.groups_of(table, c); !groups.empty())
        measurement["groups"][column.name] = groups;
    }
    stated["measurements"].push_back(std::move(measurement));
  }
  return text_of(stated, -1);
}

}  // namespace muffle::release
