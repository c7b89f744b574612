#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "combinations.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/hash.hpp"
#include "muffle/core/text.hpp"
#include "muffle/schema/key_text.hpp"
#include "muffle/schema/table.hpp"

namespace muffle::schema {
namespace {

using nlohmann::json;

constexpr std::size_t kLongestText = 4096;
constexpr std::size_t kMostConstraints = 4096;
// In the order of their enumerators.
const std::initializer_list<std::string_view> kTypeNames = {
    "integer", "decimal", "category", "ordinal", "boolean", "date", "datetime", "time", "key", "ignore"};
const std::initializer_list<std::string_view> kRoleTexts = {"feature", "label", "person", "target",
                                                            "counted-person"};
const std::initializer_list<std::string_view> kKindNames = {"compare", "sum", "implies", "among"};
const std::initializer_list<std::string_view> kOpNames = {"<", "<=", ">=", ">", "="};
const std::initializer_list<std::string_view> kUnitNames = {"days", "years"};

template <class Enum>
std::string_view name_of(std::initializer_list<std::string_view> names, Enum value) {
  return names.begin()[static_cast<std::size_t>(value)];
}

json category_json(const Category& c) { return {{"name", c.name}, {"aliases", c.aliases}}; }

/// Only what is not muffle's own way: schemas without a notation have the hashes that they always had.
json notation_json(const Notation& n) {
  const Notation own;
  json out = json::object();
  for (const auto& [key, field] : kNotationFields) {
    if (n.*field != own.*field) out[std::string(key)] = n.*field;
  }
  return out;
}

Notation read_notation(const JsonFields& f) {
  Notation n;
  f.only({"format", "decimal_mark", "thousands_mark", "prefix", "suffix", "negative", "top_code",
          "bottom_code"});
  for (const auto& [key, field] : kNotationFields) {
    if (f.has(key)) n.*field = f.text(key, kLongestText);
  }
  return n;
}

json column_json(const Column& c) {
  json out{{"name", c.name},
           {"type", name_of(kTypeNames, c.type)},
           {"role", name_of(kRoleTexts, c.role)},
           {"unit", c.unit},
           {"missing", c.missing},
           {"spellings", c.spellings}};
  if (c.type == ColumnType::kIgnore) return out;
  if (c.type == ColumnType::kKey) {
    out["digits"] = static_cast<unsigned>(c.digits);
    if (c.notation != Notation()) out["notation"] = notation_json(c.notation);
  } else if (c.is_number()) {
    out.update({{"lo", c.lo},
                {"hi", c.hi},
                {"step", c.step},
                {"decimals", static_cast<unsigned>(c.decimals)},
                {"edges", c.edges}});
    if (c.learned) out["learned"] = true;
    if (c.notation != Notation()) out["notation"] = notation_json(c.notation);
    if (c.since) out["since"] = *c.since;
    if (c.dates) out["dates"] = {c.dates->lo, c.dates->hi};
    if (c.apart) out["apart"] = {c.apart->lo, c.apart->hi};
    if (c.time_of) out["time_of"] = *c.time_of;
    if (c.derived)
      out["derived"] = {{"unit", name_of(kUnitNames, c.derived->unit)},
                        {"later", c.derived->later},
                        {"earlier", c.derived->earlier}};
  } else {
    out["values"] = json::array();
    for (const Category& v : c.values) out["values"].push_back(category_json(v));
    if (c.numeric) out["numeric"] = true;  // of a person alone
    if (c.rows > 0) {                      // likewise
      out.update({{"rows", c.rows}, {"digits", static_cast<unsigned>(c.digits)}});
      if (c.notation != Notation()) out["notation"] = notation_json(c.notation);
    }
    if (c.determined) out["determined"] = {{"by", c.determined->by}, {"codes", c.determined->codes}};
  }
  return out;
}

json constraint_json(const Constraint& c) {
  json out{{"kind", name_of(kKindNames, c.kind)}, {"columns", c.columns}};
  if (c.kind == Constraint::Kind::kCompare) {
    out["op"] = name_of(kOpNames, c.op);
    if (c.value) out["value"] = *c.value;
  }
  if (c.kind == Constraint::Kind::kImplies) out.update({{"when", c.when}, {"then", c.then}});
  if (c.kind == Constraint::Kind::kAmong) {
    std::vector<std::uint32_t> first, second;
    for (const CodePair& pair : c.allowed) {
      first.push_back(pair.first);
      second.push_back(pair.second);
    }
    out.update({{"first", first}, {"second", second}});
  }
  return out;
}

std::vector<double> reals(const JsonFields& fields, std::string_view key, std::size_t most) {
  const json& list = fields.at(key);
  if (!list.is_array() || list.size() > most) fields.fail(key, "is no list of numbers, or too long");
  return fields.numbers(key, list.size());
}

std::vector<std::uint32_t> read_codes(const JsonFields& f, std::string_view key) {
  const auto sizes = f.sizes(key, kMostCodes, 0, kMostCodes);
  return {sizes.begin(), sizes.end()};
}

void read_person(const JsonFields& f, Column& c) {
  if (f.has("numeric")) c.numeric = f.flag("numeric");
  if (!f.has("rows")) return;
  c.rows = f.integer("rows", 1, kMostRowsOfAPerson);
  c.digits = static_cast<int>(f.integer("digits", 0, kMostKeyDigits));
  if (f.has("notation")) c.notation = read_notation(f.object("notation"));
}

std::optional<DateBounds> read_bounds(const JsonFields& f, std::string_view key) {
  if (!f.has(key)) return std::nullopt;
  const std::vector<double> bounds = f.numbers(key, 2);
  return DateBounds{bounds[0], bounds[1]};
}

Column read_column(const JsonFields& f) {
  Column c;
  c.name = f.text("name", kLongestText);
  c.type = static_cast<ColumnType>(f.choice("type", kTypeNames));
  c.role = static_cast<ColumnRole>(f.choice("role", kRoleTexts));
  c.unit = f.text("unit", kLongestText);
  c.missing = f.flag("missing");
  c.spellings = f.texts("spellings", kMostCodes, kLongestText);
  if (c.type == ColumnType::kIgnore) {
    f.only({"name", "type", "role", "unit", "missing", "spellings"});
  } else if (c.type == ColumnType::kKey) {
    f.only({"name", "type", "role", "unit", "missing", "spellings", "digits", "notation"});
    c.digits = static_cast<int>(f.integer("digits", 0, kMostKeyDigits));
    if (f.has("notation")) c.notation = read_notation(f.object("notation"));
  } else if (c.is_number()) {
    f.only({"name", "type", "role", "unit", "missing", "spellings", "lo", "hi", "step", "decimals", "edges",
            "learned", "notation", "since", "dates", "apart", "time_of", "derived"});
    if (f.has("since")) c.since = f.integer("since", 0, kMostColumns - 1);
    c.dates = read_bounds(f, "dates");
    c.apart = read_bounds(f, "apart");
    if (f.has("time_of")) c.time_of = f.integer("time_of", 0, kMostColumns - 1);
    if (f.has("derived")) {
      const JsonFields d = f.object("derived");
      d.only({"unit", "later", "earlier"});
      c.derived =
          Derivation{static_cast<Derivation::Unit>(d.choice("unit", kUnitNames)),
                     d.integer("later", 0, kMostColumns - 1), d.integer("earlier", 0, kMostColumns - 1)};
    }
    if (f.has("notation")) c.notation = read_notation(f.object("notation"));
    c.lo = f.number("lo");
    c.hi = f.number("hi");
    c.step = f.number("step");
    c.decimals = static_cast<int>(f.integer("decimals", 0, 17));
    c.edges = reals(f, "edges", kMostCodes);
    c.learned = f.has("learned") && f.flag("learned");
  } else {
    if (c.is_person()) {
      f.only({"name", "type", "role", "unit", "missing", "spellings", "values", "numeric", "rows", "digits",
              "notation"});
      read_person(f, c);
    } else {
      f.only({"name", "type", "role", "unit", "missing", "spellings", "values", "determined"});
    }
    if (f.has("determined")) {
      const JsonFields d = f.object("determined");
      d.only({"by", "codes"});
      c.determined = Determination{d.integer("by", 0, kMostColumns - 1), read_codes(d, "codes")};
    }
    // A person's column lists nobody.
    if (f.at("values").empty() && f.at("values").is_array()) return c;
    for (const JsonFields& v : f.objects("values", kMostCodes)) {
      v.only({"name", "aliases"});
      c.values.push_back({v.text("name", kLongestText), v.texts("aliases", kMostCodes, kLongestText)});
    }
  }
  return c;
}

Constraint read_constraint(const JsonFields& f) {
  Constraint c;
  c.kind = static_cast<Constraint::Kind>(f.choice("kind", kKindNames));
  c.columns = f.sizes("columns", kMostColumns, 0, kMostColumns - 1);
  f.only({"kind", "columns", "op", "value", "when", "then", "first", "second"});
  if (c.kind == Constraint::Kind::kCompare) {
    c.op = static_cast<Constraint::Op>(f.choice("op", kOpNames));
    if (c.columns.size() == 1) c.value = f.number("value");
  } else if (c.kind == Constraint::Kind::kImplies) {
    c.when = read_codes(f, "when");
    c.then = read_codes(f, "then");
  } else if (c.kind == Constraint::Kind::kAmong) {
    const auto first = f.sizes("first", kMostAllowed, 0, kMostCodes),
               second = f.sizes("second", kMostAllowed, 0, kMostCodes);
    if (first.size() != second.size()) f.fail("second", "are not as many codes as 'first' has");
    for (std::size_t i = 0; i < first.size(); ++i)
      c.allowed.emplace_back(static_cast<std::uint32_t>(first[i]), static_cast<std::uint32_t>(second[i]));
  }
  return c;
}

std::string hash_of(const json& spelling) {
  return to_hex(sha256(PublicBytes(spelling.dump(-1, ' ', false, json::error_handler_t::replace))));
}

}  // namespace

json to_json(const Table& table) {
  json out{{"columns", json::array()}, {"constraints", json::array()}};
  for (const Column& c : table.columns) out["columns"].push_back(column_json(c));
  for (const Constraint& c : table.constraints) out["constraints"].push_back(constraint_json(c));
  return out;
}

Table read_table(const JsonFields& fields) {
  fields.only({"columns", "constraints"});
  Table table;
  for (const JsonFields& c : fields.objects("columns", kMostColumns)) table.columns.push_back(read_column(c));
  const json& constraints = fields.at("constraints");
  if (!constraints.is_array()) fields.fail("constraints", "is no list");
  if (!constraints.empty()) {
    for (const JsonFields& c : fields.objects("constraints", kMostConstraints))
      table.constraints.push_back(read_constraint(c));
  }
  if (const std::vector<std::string> problems = table.problems(); !problems.empty())
    fields.fail("columns", "describe no table: " + problems.front());
  return table;
}

std::string table_hash(const Table& table) { return hash_of(to_json(table)); }

std::map<std::string, std::string> column_hashes(const Table& table) {
  constexpr std::size_t kDigits = 16;
  std::map<std::string, std::string> out;
  for (std::size_t j = 0; j < table.columns.size(); ++j) {
    json at = column_json(table.columns[j]);
    at["place"] = j;
    out[fmt::format("the schema's column '{}'", printable(table.columns[j].name))] =
        hash_of(at).substr(0, kDigits);
  }
  json constraints = json::array();
  for (const Constraint& c : table.constraints) constraints.push_back(constraint_json(c));
  if (!constraints.empty()) out["the schema's constraints"] = hash_of(constraints).substr(0, kDigits);
  return out;
}

std::string differences(const Table& one, const Table& other) {
  std::vector<std::string> found;
  const auto add = [&](const std::string& name, const std::string& what) {
    found.push_back(fmt::format("column '{}': {}", name, what));
  };
  const std::size_t common = std::min(one.columns.size(), other.columns.size());
  if (one.columns.size() != other.columns.size())
    found.push_back(fmt::format("{} columns, and {}", one.columns.size(), other.columns.size()));
  for (std::size_t j = 0; j < common; ++j) {
    const Column &a = one.columns[j], &b = other.columns[j];
    if (a == b) continue;
    if (a.name != b.name) {
      found.push_back(fmt::format("column {} is '{}', and '{}'", j + 1, a.name, b.name));
      continue;
    }
    std::string what;
    const auto say = [&](bool same, const char* text) {
      if (!same) what += (what.empty() ? "" : ", ") + std::string(text);
    };
    say(a.type == b.type && a.numeric == b.numeric, "type");
    say(a.role == b.role, "role");
    say(a.rows == b.rows, "rows");
    say(a.lo == b.lo && a.hi == b.hi, "bounds");
    say(a.step == b.step && a.decimals == b.decimals, "step");
    say(a.edges == b.edges && a.learned == b.learned, "bins");
    say(a.notation == b.notation && a.digits == b.digits, "notation");
    say(a.since == b.since && (!a.since || a.dates == b.dates), "since");
    say(a.is_day() == b.is_day() && (!a.is_day() || a.dates == b.dates) && a.apart == b.apart &&
            a.time_of == b.time_of,
        "time of day");
    say(a.derived == b.derived, "derive");
    say(a.determined == b.determined, "determined_by");
    say(a.values == b.values, "values");
    say(a.missing == b.missing && a.spellings == b.spellings, "missing values");
    say(a.unit == b.unit, "unit");
    add(a.name, what);
  }
  if (one.constraints != other.constraints) found.push_back("constraints");
  std::string all;
  for (const std::string& text : found) all += (all.empty() ? "" : "; ") + text;
  return all;
}

}  // namespace muffle::schema
