// What a schema says of several columns: what counts since, follows from or goes with what, and rules.
#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "muffle/core/error.hpp"
#include "muffle/core/settings.hpp"
#include "muffle/core/text.hpp"
#include "muffle/schema/date_differences.hpp"
#include "muffle/schema/day_and_time.hpp"
#include "muffle/schema/plain_text.hpp"
#include "table_reader.hpp"

namespace muffle::schema {
namespace {

constexpr std::pair<std::string_view, Constraint::Op> kOps[] = {{"<", Constraint::Op::kLess},
                                                                {"<=", Constraint::Op::kAtMost},
                                                                {">=", Constraint::Op::kAtLeast},
                                                                {">", Constraint::Op::kGreater},
                                                                {"=", Constraint::Op::kEqual}};

}  // namespace

void TableReader::times_of_day() {
  std::set<std::size_t> whole;
  for (const auto& [j, node] : timed_) {
    if (!node->as_boolean()->get()) {
      whole.insert(j);
    } else if (const std::string why = why_one_number(table_, j); !why.empty()) {
      add(line(*node),
          fmt::format("column '{}': it has no time of day of its own: {}", table_.columns[j].name, why));
    }
  }
  split_datetimes(table_, whole);
}

void TableReader::derive(std::size_t j, const toml::node& node) {
  Column& c = table_.columns[j];
  const auto* text = node.as_string();
  c.derived = text != nullptr ? parse_derivation(text->get(), table_) : std::nullopt;
  if (!c.derived)
    return add(line(node), fmt::format("column '{}': derive needs \"days(LATER - EARLIER)\" or "
                                       "\"years(LATER - EARLIER)\", of two columns of dates by their names",
                                       printable(c.name)));
  if (!is_number_type(c.type)) return;  // said before
  const DateBounds bounds = derived_bounds(table_, c);
  c.lo = bounds.lo;
  c.hi = bounds.hi;
  c.edges = {c.lo, c.hi + c.step};
}

void TableReader::determine(Column& c, const toml::table& t) {
  const std::string of = fmt::format("column '{}'", printable(c.name));
  const auto by = column_named(*t.get("determined_by"), of + ": determined_by");
  const toml::table* from = t["from"].as_table();
  if (from == nullptr)
    return add(line(t), fmt::format("{} needs from = {{ VALUE = [\"value of the other column\"] }}", of));
  if (!by) return;
  const std::vector<Category>& values = table_.columns[*by].values;
  std::vector<std::optional<std::uint32_t>> codes(values.size());
  const auto place = [](const std::vector<Category>& all, const std::string& name) {
    return static_cast<std::size_t>(std::ranges::find(all, name, &Category::name) - all.begin());
  };
  for (const auto& [key, node] : *from) {
    const std::size_t own = place(c.values, plain_text(key.str()));
    if (own == c.values.size())
      add(line(node), fmt::format("{}: from says of \"{}\", which is not among its values", of,
                                  printable(std::string(key.str()))));
    for (const std::string& name : texts(node, "from", of)) {
      const std::size_t other = place(values, name);
      if (other == values.size() || codes[other]) {
        add(line(node), fmt::format("{}: from has \"{}\" {}", of, printable(name),
                                    other == values.size() ? "which the other column lacks" : "twice"));
      } else {
        codes[other] = static_cast<std::uint32_t>(own);
      }
    }
  }
  c.determined = Determination{*by, {}};
  for (std::size_t other = 0; other < values.size(); ++other) {
    if (!codes[other])
      add(line(t), fmt::format("{}: from does not say what \"{}\" gives", of, printable(values[other].name)));
    c.determined->codes.push_back(codes[other].value_or(0));
  }
}

std::optional<std::size_t> TableReader::column_named(const toml::node& node, const std::string& of) {
  const auto* name = node.as_string();
  if (name == nullptr) {
    add(line(node), fmt::format("{} needs columns' names", of));
    return std::nullopt;
  }
  const std::string plain = plain_text(name->get());
  std::vector<std::string> names;
  for (std::size_t j = 0; j < table_.columns.size(); ++j) {
    if (table_.columns[j].name == plain) return j;
    names.push_back(table_.columns[j].name);
  }
  const std::string near = settings::nearest(name->get(), names);
  add(line(node), fmt::format("{}: there is no column '{}'{}", of, printable(name->get()),
                              near.empty() ? "" : "; did you mean '" + near + "'"));
  return std::nullopt;
}

bool TableReader::condition(const toml::table& t, const char* key, const std::string& of,
                            std::vector<std::size_t>& columns, std::vector<std::uint32_t>& codes) {
  const toml::table* at = t[key].as_table();
  if (at == nullptr || !at->contains("column") || !at->contains("is")) {
    add(line(t), fmt::format("{} needs {} = {{column = \"NAME\", is = [\"VALUE\"]}}", of, key));
    return false;
  }
  keys(*at, {"column", "is"}, of);
  const auto j = column_named(*at->get("column"), of);
  if (!j) return false;
  columns.push_back(*j);
  const Column& c = table_.columns[*j];
  if (c.is_number() && !c.missing) {
    add(line(*at), fmt::format("{}: column '{}' has no values to name; implications are between categories",
                               of, printable(c.name)));
    return false;
  }
  for (const std::string& name : texts(*at->get("is"), "is", of)) {
    const auto value =
        std::find_if(c.values.begin(), c.values.end(), [&](const Category& v) { return v.name == name; });
    if (value != c.values.end()) {
      codes.push_back(static_cast<std::uint32_t>(value - c.values.begin()));
    } else if (c.missing && std::find(c.spellings.begin(), c.spellings.end(), name) != c.spellings.end()) {
      codes.push_back(c.missing_code());
    } else {
      add(line(*at), fmt::format("{}: \"{}\" is not among the values of column '{}'", of, printable(name),
                                 printable(c.name)));
    }
  }
  return true;
}

void TableReader::constraint(const toml::table& t) {
  const std::size_t before = problems_.size();
  const std::string of = fmt::format("constraint {}", table_.constraints.size() + 1);
  Constraint c;
  const std::string kind = text(t, "kind", of, true);
  if (kind == "compare") {
    keys(t, {"kind", "left", "op", "right", "value"}, of);
    if (const Constraint::Op* op = find_word(kOps, text(t, "op", of, true))) {
      c.op = *op;
    } else if (t.contains("op")) {
      add(line(*t.get("op")), fmt::format("{}: op must be {}", of, words_of(kOps)));
    }
    if (!t.contains("left") || t.contains("right") == t.contains("value"))
      return add(line(t), fmt::format("{} needs 'left', and 'right' (a column) or 'value'", of));
    if (const auto j = column_named(*t.get("left"), of)) c.columns.push_back(*j);
    if (t.contains("right")) {
      if (const auto j = column_named(*t.get("right"), of)) c.columns.push_back(*j);
    } else if (!c.columns.empty()) {
      c.value = number(*t.get("value"), table_.columns[c.columns[0]].type, "value", of);
    }
  } else if (kind == "sum") {
    keys(t, {"kind", "total", "parts"}, of);
    c.kind = Constraint::Kind::kSum;
    const toml::array* parts = t["parts"].as_array();
    if (!t.contains("total") || parts == nullptr)
      return add(line(t), fmt::format("{} needs 'total' and 'parts', a list of columns", of));
    if (const auto j = column_named(*t.get("total"), of)) c.columns.push_back(*j);
    for (const toml::node& part : *parts) {
      if (const auto j = column_named(part, of)) c.columns.push_back(*j);
    }
  } else if (kind == "implies") {
    keys(t, {"kind", "if", "then"}, of);
    c.kind = Constraint::Kind::kImplies;
    if (!condition(t, "if", of, c.columns, c.when) || !condition(t, "then", of, c.columns, c.then)) return;
  } else if (t.contains("kind")) {
    add(line(*t.get("kind")), fmt::format("{}: kind must be \"compare\", \"sum\" or \"implies\"", of));
  }
  if (problems_.size() == before) table_.constraints.push_back(std::move(c));
}

void TableReader::combination(const toml::table& t) {
  const std::string of = fmt::format("combinations {}", ++combinations_);
  keys(t, {"columns", "file", "allowed"}, of);
  const toml::array* columns = t["columns"].as_array();
  if (columns == nullptr || columns->size() != 2)
    return add(line(t), fmt::format("{} needs columns = [\"A\", \"B\"], two columns; of three, list those "
                                    "of each two by themselves",
                                    of));
  Constraint c;
  c.kind = Constraint::Kind::kAmong;
  for (const toml::node& node : *columns) {
    if (const auto j = column_named(node, of)) c.columns.push_back(*j);
  }
  if (c.columns.size() != 2) return;
  if (t.contains("file") == t.contains("allowed"))
    return add(line(t), fmt::format("{} needs either 'file', a CSV file of what can be, or 'allowed', a list "
                                    "of [\"value of the first\", \"value of the second\"]",
                                    of));
  const bool categories = std::ranges::all_of(c.columns, [&](std::size_t j) {
    const Column& column = table_.columns[j];
    return !column.is_number() && !column.is_unread() && column.role != ColumnRole::kPerson;
  });
  if (problems_.empty() && categories) {  // else what is wrong is said of the columns
    try {
      const NamedPairs named = t.contains("file") ? from_file(t, of, c) : listed(t, of);
      c.allowed = allowed_codes(named, table_.columns[c.columns[0]], table_.columns[c.columns[1]]);
    } catch (const ConfigError& e) {
      return add(line(t), fmt::format("{}: {}", of, e.what()));
    }
  }
  table_.constraints.push_back(std::move(c));
}

NamedPairs TableReader::from_file(const toml::table& t, const std::string& of, const Constraint& c) {
  const std::string file = text(t, "file", of, true);
  if (file.empty() || !files_.folder) throw ConfigError("'file' names no file that can be read here");
  if (files_.private_file && files_.private_file(*files_.folder / file))
    throw ConfigError(
        fmt::format("'{}' is a file with records of this configuration. What a list allows is "
                    "published as it is: take it from a public source, never from records",
                    printable(file)));
  return read_combinations(*files_.folder / file, table_.columns[c.columns[0]].name,
                           table_.columns[c.columns[1]].name);
}

NamedPairs TableReader::listed(const toml::table& t, const std::string& of) {
  NamedPairs out{"line", {}};
  const toml::array* list = t["allowed"].as_array();
  if (list == nullptr) throw ConfigError("'allowed' is no list");
  for (const toml::node& node : *list) {
    std::vector<std::string> both = texts(node, "allowed", of);
    if (both.size() != 2)
      throw ConfigError(fmt::format("line {}: 'allowed' needs two values in each of its lists", line(node)));
    out.pairs.push_back({std::move(both[0]), std::move(both[1]), line(node)});
  }
  return out;
}

}  // namespace muffle::schema
