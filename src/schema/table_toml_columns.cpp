// The columns of a schema as people write it, each by itself.
#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <cmath>

#include "bins.hpp"
#include "muffle/core/text.hpp"
#include "muffle/schema/key_text.hpp"
#include "muffle/schema/plain_text.hpp"
#include "muffle/schema/table_text.hpp"
#include "table_reader.hpp"

namespace muffle::schema {
namespace {

constexpr std::size_t kDefaultBins = 16;

constexpr std::pair<std::string_view, ColumnRole> kRoles[] = {
    {"feature", ColumnRole::kFeature}, {"label", ColumnRole::kLabel}, {"person", ColumnRole::kPerson}};

/// Keys that say nothing of a column whose values nobody reads, but for those that surrogate keys have.
constexpr std::initializer_list<const char*> kOfValues = {
    "lo",      "hi",     "step",          "decimals", "bins",           "spacing",  "values",
    "aliases", "format", "decimal_mark",  "negative", "thousands_mark", "top_code", "bottom_code",
    "since",   "derive", "determined_by", "from",     "time_of_day"};
constexpr std::initializer_list<const char*> kAffixes = {"prefix", "suffix"};

/// The least number of places after the point that write the number exactly enough.
int places_of(double number) {
  for (int places = 0; places <= 15; ++places) {
    const double units = std::pow(10.0, places);
    if (std::abs(number * units - std::round(number * units)) <= 1e-9) return places;
  }
  return 15;
}
}  // namespace

void TableReader::without(const toml::table& t, std::initializer_list<Words> lists, const std::string& of) {
  for (const Words& list : lists) {
    for (const char* key : list) {
      if (t.contains(key))
        add(line(*t.get(key)), fmt::format("{}: '{}' says nothing of such a column", of, key));
    }
  }
}

void TableReader::key(const toml::table& t, Column& c, const std::string& of) {
  without(t, {kOfValues, {"missing", "role"}}, of);
  key_notation(t, c, of);
}

void TableReader::key_notation(const toml::table& t, Column& c, const std::string& of) {
  c.notation.prefix = text(t, "prefix", of, false);
  c.notation.suffix = text(t, "suffix", of, false);
  const toml::node* digits = t.get("digits");
  if (digits == nullptr) return;
  const auto value = digits->value<std::int64_t>();
  if (!digits->is_integer() || *value < 1 || *value > kMostKeyDigits)
    return add(line(*digits),
               fmt::format("{}: digits needs a whole number from 1 to {}", of, kMostKeyDigits));
  c.digits = static_cast<int>(*value);
}

Column TableReader::column(const toml::table& t) {
  Column c;
  c.name = plain_text(text(t, "name", "a column", true));
  const std::string of = fmt::format("column '{}'", printable(c.name));
  keys(t,
       {"name",         "type",           "role",          "unit",   "lo",       "hi",          "step",
        "decimals",     "bins",           "spacing",       "values", "aliases",  "missing",     "format",
        "decimal_mark", "thousands_mark", "prefix",        "suffix", "negative", "top_code",    "bottom_code",
        "since",        "derive",         "determined_by", "from",   "digits",   "time_of_day", "rows"},
       of);
  const std::string type = text(t, "type", of, true), role = text(t, "role", of, false);
  if (!type.empty() && type != kFillIn) this->type(type, c, *t.get("type"), of);
  if (const ColumnRole* found = find_word(kRoles, role)) {
    c.role = *found;
  } else if (!role.empty()) {
    add(line(*t.get("role")), fmt::format("{}: role must be {}", of, words_of(kRoles)));
  }
  c.unit = text(t, "unit", of, false);
  const bool is_person = c.role == ColumnRole::kPerson && c.type != ColumnType::kKey;
  if (!is_person && t.contains("rows"))
    add(line(*t.get("rows")), fmt::format("{}: only a column of role \"person\" has 'rows'", of));
  if (c.type == ColumnType::kKey) {
    key(t, c, of);
    return c;
  }
  if (t.contains("digits") && !(is_person && t.contains("rows")))
    add(line(*t.get("digits")), fmt::format("{}: only keys, and people with 'rows', have 'digits'", of));
  missing(t, c, of);
  if (is_person) {
    person(t, c, of);
  } else if (c.type == ColumnType::kIgnore) {
    without(t, {kOfValues, kAffixes}, of);
  } else if (c.is_number()) {
    numbers(t, c, of);
  } else {
    categories(t, c, of);
  }
  return c;
}

void TableReader::person(const toml::table& t, Column& c, const std::string& of) {
  c.numeric = c.type == ColumnType::kInteger || c.type == ColumnType::kDecimal;
  c.type = ColumnType::kCategory;
  without(t, {kOfValues}, of);
  const toml::node* rows = t.get("rows");
  if (rows == nullptr) return without(t, {kAffixes}, of);
  const auto value = rows->value<std::int64_t>();
  if (!rows->is_integer() || *value < 2 || *value > static_cast<std::int64_t>(kMostRowsOfAPerson))
    return add(line(*rows),
               fmt::format("{}: rows needs a whole number from 2 to {}: the most rows of a person "
                           "that count, as privacy.max_records_per_person says",
                           of, kMostRowsOfAPerson));
  c.rows = static_cast<std::size_t>(*value);
  key_notation(t, c, of);
}

void TableReader::type(const std::string& word, Column& c, const toml::node& node, const std::string& of) {
  std::string all;
  for (int i = 0; i <= static_cast<int>(kLastType); ++i) {
    c.type = static_cast<ColumnType>(i);
    if (type_name(c.type) == word) return;
    all += fmt::format("{}\"{}\"", i == 0 ? "" : ", ", type_name(c.type));
  }
  add(line(node), fmt::format("{}: type must be one of {}", of, all));
}

void TableReader::missing(const toml::table& t, Column& c, const std::string& of) {
  const toml::node* node = t.get("missing");
  if (node == nullptr) return;
  if (const auto* flag = node->as_boolean()) {
    c.missing = flag->get();
    if (c.missing) c.spellings = {""};
    return;
  }
  if (const auto* s = node->as_string()) {
    c.spellings = {plain_text(s->get())};
    if (s->get() == kFillIn) fill_in(*node, "missing", of);
  } else {
    c.spellings = texts(*node, "missing", of);
  }
  c.missing = true;
}

void TableReader::numbers(const toml::table& t, Column& c, const std::string& of) {
  const std::size_t before = problems_.size();
  for (const char* key : {"values", "aliases", "determined_by", "from"}) {
    if (t.contains(key))
      add(line(*t.get(key)),
          fmt::format("{}: '{}' is for categories; a number has lo, hi and bins", of, key));
  }
  for (const auto& [key, field] : kNotationFields) {
    if (!t.contains(key)) continue;
    const std::string value = text(t, std::string(key).c_str(), of, false);
    c.notation.*field = key == "top_code" || key == "bottom_code" ? plain_text(value) : value;
  }
  if (problems_.size() > before) return;
  if (const std::string problem = notation_problem(c.type, c.notation); !problem.empty())
    return add(line(t), fmt::format("{}: {}", of, problem));
  if (const toml::node* node = t.get("derive")) {
    derived_.emplace_back(table_.columns.size(), node);
    for (const char* key : {"lo", "hi", "step", "bins", "spacing", "since", "role", "time_of_day"}) {
      if (t.contains(key))
        add(line(*t.get(key)), fmt::format("{}: '{}' says nothing of a derived column", of, key));
    }
    if (c.type == ColumnType::kDecimal || t.contains("decimals")) steps(t, c, of);
    return;
  }
  if (const toml::node* node = t.get("time_of_day")) {
    if (!node->is_boolean()) return add(line(*node), fmt::format("{}: time_of_day needs true or false", of));
    timed_.emplace_back(table_.columns.size(), node);
  }
  if (const toml::node* node = t.get("since")) {
    if (c.type != ColumnType::kDate && c.type != ColumnType::kDatetime)
      return add(line(*node), fmt::format("{}: only dates and datetimes have 'since'", of));
    since_.emplace_back(table_.columns.size(), node);
    c.since = 0;  // which one is known when all columns are
  }
  const auto bound = [&](const char* key, double& field) {
    const toml::node* node = t.get(key);
    if (node == nullptr) return add(line(t), fmt::format("{} needs '{}', its public bound", of, key));
    if (const auto value = position(*node, c, key, of)) field = *value;
  };
  if (c.since) steps(t, c, of);  // lo and hi are whole numbers of these
  bound("lo", c.lo);
  bound("hi", c.hi);
  if (!c.since) steps(t, c, of);
  if (problems_.size() > before) return;
  bins(t, c, of);
}

std::optional<double> TableReader::position(const toml::node& node, const Column& c, const std::string& key,
                                            const std::string& of) {
  if (!c.since) return number(node, c.type, key, of);
  const auto days = number(node, ColumnType::kDecimal, key, of);
  if (!days) return std::nullopt;
  return c.type == ColumnType::kDate ? *days : std::round(*days * kSecondsADay / c.step) * c.step;
}

void TableReader::steps(const toml::table& t, Column& c, const std::string& of) {
  const toml::node *step = t.get("step"), *decimals = t.get("decimals");
  if (step != nullptr) {
    if (const auto value = number(*step, ColumnType::kDecimal, "step", of)) c.step = *value;
    if (!(c.step > 0)) add(line(*step), fmt::format("{}: step must be above 0", of));
  }
  if (c.is_temporal() && !c.notation.format.empty() && c.type != ColumnType::kDate) {
    if (step == nullptr) c.step = TimeFormat(c.type, c.notation.format).resolution();
    c.decimals = std::min(places_of(c.step), TimeFormat::kMostFraction);
    if (decimals != nullptr) add(line(*decimals), fmt::format("{}: only decimals have 'decimals'", of));
    return;
  }
  if (c.type != ColumnType::kDecimal) {
    if (decimals != nullptr) add(line(*decimals), fmt::format("{}: only decimals have 'decimals'", of));
    if (c.step != std::floor(c.step)) add(line(*step), fmt::format("{}: step must be a whole number", of));
    return;
  }
  if (decimals != nullptr) {
    if (decimals->value<std::string>() == std::string(kFillIn)) return fill_in(*decimals, "decimals", of);
    const auto value = decimals->value<std::int64_t>();
    if (!decimals->is_integer() || *value < 0 || *value > 15)
      return add(line(*decimals), fmt::format("{}: decimals needs a whole number from 0 to 15", of));
    c.decimals = static_cast<int>(*value);
    if (step == nullptr) c.step = std::pow(10.0, -c.decimals);
  } else if (step != nullptr) {
    c.decimals = std::max(places_of(c.step), places_of(c.lo));
  } else {
    add(line(t),
        fmt::format("{} needs 'decimals' (places after the point) or 'step' (between its values)", of));
  }
}

void TableReader::bins(const toml::table& t, Column& c, const std::string& of) {
  const toml::node* node = t.get("bins");
  const std::string spacing = text(t, "spacing", of, false);
  if (!spacing.empty() && spacing != "equal" && spacing != "logarithmic")
    add(line(*t.get("spacing")), fmt::format("{}: spacing must be \"equal\" or \"logarithmic\"", of));
  if (node != nullptr && node->is_array()) {
    if (!spacing.empty()) add(line(*node), fmt::format("{}: edges have no spacing", of));
    for (const toml::node& edge : *node->as_array()) {
      if (const auto value = position(edge, c, "bins", of)) c.edges.push_back(*value);
    }
    return;
  }
  std::size_t count = kDefaultBins;
  if (node != nullptr) {
    const auto value = node->value<std::int64_t>();
    if (!node->is_integer() || *value < 1 || *value > static_cast<std::int64_t>(kMostCodes))
      return add(line(*node), fmt::format("{}: bins needs a number of bins, or a list of edges", of));
    count = static_cast<std::size_t>(*value);
  }
  // Nonsense is named by Table::problems().
  if (!(c.lo <= c.hi) || !std::isfinite(c.hi - c.lo) || (c.hi - c.lo) / c.step > 0x1p52 ||
      c.step * std::pow(10.0, c.decimals) < 0.5) {
    c.edges = {c.lo, c.hi};
    return;
  }
  c.learned = node == nullptr && spacing.empty();
  c.edges = c.learned                  ? fine_bins(c)
            : spacing == "logarithmic" ? logarithmic_bins(c, count)
                                       : equal_bins(c, count);
  if (c.edges.empty())
    add(line(t), fmt::format("{}: logarithmic bins need lo >= 0; write edges, or equal bins", of));
}

void TableReader::categories(const toml::table& t, Column& c, const std::string& of) {
  for (const char* key :
       {"lo", "hi", "step", "decimals", "bins", "spacing", "format", "decimal_mark", "thousands_mark",
        "prefix", "suffix", "negative", "top_code", "bottom_code", "since", "derive", "time_of_day"}) {
    if (t.contains(key))
      add(line(*t.get(key)), fmt::format("{}: '{}' is for numbers; categories have values", of, key));
  }
  if (const toml::node* values = t.get("values")) {
    for (std::string& name : texts(*values, "values", of)) c.values.push_back({std::move(name), {}});
  } else if (c.type == ColumnType::kBoolean) {
    c.values = {{"false", {}}, {"true", {}}};
  } else {
    add(line(t), fmt::format("{} needs 'values', the public list of its categories", of));
  }
  if (t.contains("determined_by")) {
    determined_.emplace_back(table_.columns.size(), &t);
  } else if (t.contains("from")) {
    add(line(*t.get("from")),
        fmt::format("{}: 'from' needs 'determined_by', the column that it tells of", of));
  }
  if (c.type == ColumnType::kBoolean && c.values.size() != 2 && !t["values"].is_string())
    add(line(t), fmt::format("{}: a boolean has two values, the false one first", of));
  const toml::node* aliases = t.get("aliases");
  if (aliases == nullptr) return;
  if (!aliases->is_table())
    return add(line(*aliases), fmt::format("{}: aliases needs {{ value = [\"other spelling\"] }}", of));
  for (const auto& [key, node] : *aliases->as_table()) {
    const std::string name = plain_text(key.str());
    const auto value =
        std::find_if(c.values.begin(), c.values.end(), [&](const Category& v) { return v.name == name; });
    if (value == c.values.end()) {
      add(line(node),
          fmt::format("{}: aliases of \"{}\", which is not among its values", of, printable(name)));
    } else {
      for (std::string& alias : texts(node, "aliases", of)) {
        // One that differs by blanks or composition alone is no other spelling.
        if (alias != name) value->aliases.push_back(std::move(alias));
      }
    }
  }
}

}  // namespace muffle::schema
