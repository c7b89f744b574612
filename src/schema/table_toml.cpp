#include "muffle/schema/table_toml.hpp"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "bins.hpp"
#include "combinations.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/core/settings.hpp"
#include "muffle/core/text.hpp"
#include "muffle/schema/date_differences.hpp"
#include "muffle/schema/day_and_time.hpp"
#include "muffle/schema/key_text.hpp"
#include "muffle/schema/plain_text.hpp"
#include "muffle/schema/table_text.hpp"

namespace muffle::schema {
namespace {

constexpr std::size_t kDefaultBins = 16;
constexpr std::size_t kMostTomlBytes = std::size_t{1} << 24;

constexpr std::pair<std::string_view, ColumnRole> kRoles[] = {
    {"feature", ColumnRole::kFeature}, {"label", ColumnRole::kLabel}, {"person", ColumnRole::kPerson}};
constexpr std::pair<std::string_view, Constraint::Op> kOps[] = {{"<", Constraint::Op::kLess},
                                                                {"<=", Constraint::Op::kAtMost},
                                                                {">=", Constraint::Op::kAtLeast},
                                                                {">", Constraint::Op::kGreater},
                                                                {"=", Constraint::Op::kEqual}};

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

/// The least number of places after the point that write the number exactly enough.
int places_of(double number) {
  for (int places = 0; places <= 15; ++places) {
    const double units = std::pow(10.0, places);
    if (std::abs(number * units - std::round(number * units)) <= 1e-9) return places;
  }
  return 15;
}

/// Reads one file; collects what is wrong with it.
class TableReader {
 public:
  TableReader(const toml::table& file, std::string name, PublicFiles files)
      : file_(file), name_(std::move(name)), files_(std::move(files)) {}

  Table read() {
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

 private:
  template <class Read>
  void each_of(const std::string& key, const Read& read) {
    const toml::node* list = file_.get(key);
    if (list == nullptr) return;
    if (!list->is_array_of_tables())
      return add(line(*list), fmt::format("{0} is a list of tables: write [[{0}]]", key));
    for (const toml::node& node : *list->as_array()) read(*node.as_table());
  }

  static std::size_t line(const toml::node& node) { return node.source().begin.line; }
  void add(std::size_t at, const std::string& what) {
    problems_.push_back(fmt::format("line {}: {}", at, what));
  }

  void keys(const toml::table& table, const std::vector<std::string>& known, const std::string& of) {
    for (const auto& [key, value] : table) {
      const std::string name(key.str());
      if (std::find(known.begin(), known.end(), name) != known.end()) continue;
      const std::string near = settings::nearest(name, known);
      add(line(value), fmt::format("{} has no key '{}'{}", of, printable(name),
                                   near.empty() ? "" : "; did you mean '" + near + "'"));
    }
  }

  std::string text(const toml::table& table, const char* key, const std::string& of, bool needed) {
    const toml::node* node = table.get(key);
    if (node == nullptr) {
      if (needed) add(line(table), fmt::format("{} needs '{}'", of, key));
      return {};
    }
    const auto value = node->value<std::string>();
    if (!node->is_string()) add(line(*node), fmt::format("{}: {} needs a text in quotes", of, key));
    if (value && *value == kFillIn) fill_in(*node, key, of);
    return node->is_string() ? *value : std::string();
  }

  void fill_in(const toml::node& node, const std::string& key, const std::string& of) {
    add(line(node), fmt::format("{}: '{}' is still \"{}\"", of, key, kFillIn));
    open_ = true;
  }

  /// A number, a date or a time, as the column's type has it.
  std::optional<double> number(const toml::node& node, ColumnType type, const std::string& key,
                               const std::string& of) {
    if (const auto* s = node.as_string()) {
      if (s->get() == kFillIn) {
        fill_in(node, key, of);
        return std::nullopt;
      }
      if (const auto value = is_temporal_type(type) ? parse_bound(type, s->get()) : std::nullopt)
        return value;
    }
    if (const auto* d = node.as_date(); d != nullptr && type == ColumnType::kDate) {
      const toml::date& v = d->get();
      return parse_number(type, fmt::format("{:04}-{:02}-{:02}", static_cast<int>(v.year),
                                            static_cast<int>(v.month), static_cast<int>(v.day)));
    }
    if (const auto* t = node.as_date_time(); t != nullptr && type == ColumnType::kDatetime) {
      const toml::date_time& v = t->get();
      return parse_bound(
          type, fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:09}", static_cast<int>(v.date.year),
                            static_cast<int>(v.date.month), static_cast<int>(v.date.day),
                            static_cast<int>(v.time.hour), static_cast<int>(v.time.minute),
                            static_cast<int>(v.time.second), v.time.nanosecond));
    }
    if (const auto* t = node.as_time(); t != nullptr && type == ColumnType::kTime) {
      const toml::time& v = t->get();
      return v.hour * 3600.0 + v.minute * 60.0 + v.second + v.nanosecond * 1e-9;
    }
    if (node.is_number() && !is_temporal_type(type)) {
      const auto value = node.value<double>();  // none: a double would be another number
      if (!value) {
        add(line(node), fmt::format("{}: {} has more digits than muffle counts exactly: whole numbers lie "
                                    "within 2^52 (4503599627370496) of 0",
                                    of, key));
      }
      return value;
    }
    add(line(node), fmt::format("{}: {} needs {}", of, key,
                                type == ColumnType::kDate       ? "a date, YYYY-MM-DD"
                                : type == ColumnType::kDatetime ? "a date and time, YYYY-MM-DDThh:mm:ss"
                                : type == ColumnType::kTime     ? "a time of day, hh:mm:ss"
                                                                : "a number"));
    return std::nullopt;
  }

  std::vector<std::string> texts(const toml::node& node, const std::string& key, const std::string& of) {
    std::vector<std::string> out;
    const toml::array* list = node.as_array();
    if (list == nullptr) {
      if (const auto* s = node.as_string(); s != nullptr && s->get() == kFillIn) {
        fill_in(node, key, of);
      } else {
        add(line(node), fmt::format("{}: {} needs a list of texts in quotes", of, key));
      }
      return out;
    }
    for (const toml::node& item : *list) {
      if (const auto* s = item.as_string()) {
        if (s->get() == kFillIn) fill_in(item, key, of);
        out.push_back(plain_text(s->get()));
      } else if (const auto* i = item.as_integer()) {
        out.push_back(std::to_string(i->get()));
      } else {
        add(line(item), fmt::format("{}: {} needs texts in quotes", of, key));
      }
    }
    return out;
  }

  using Words = std::initializer_list<const char*>;
  /// Keys that say nothing of a column whose values nobody reads, but for those that surrogate keys have.
  static constexpr Words kOfValues = {
      "lo",      "hi",     "step",          "decimals", "bins",           "spacing",  "values",
      "aliases", "format", "decimal_mark",  "negative", "thousands_mark", "top_code", "bottom_code",
      "since",   "derive", "determined_by", "from",     "time_of_day"};
  static constexpr Words kAffixes = {"prefix", "suffix"};

  void without(const toml::table& t, std::initializer_list<Words> lists, const std::string& of) {
    for (const Words& list : lists) {
      for (const char* key : list) {
        if (t.contains(key))
          add(line(*t.get(key)), fmt::format("{}: '{}' says nothing of such a column", of, key));
      }
    }
  }

  /// Surrogate keys: nothing but how they are written.
  void key(const toml::table& t, Column& c, const std::string& of) {
    without(t, {kOfValues, {"missing", "role"}}, of);
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

  Column column(const toml::table& t) {
    Column c;
    c.name = plain_text(text(t, "name", "a column", true));
    const std::string of = fmt::format("column '{}'", printable(c.name));
    keys(t, {"name",     "type",        "role",         "unit",           "lo",     "hi",
             "step",     "decimals",    "bins",         "spacing",        "values", "aliases",
             "missing",  "format",      "decimal_mark", "thousands_mark", "prefix", "suffix",
             "negative", "top_code",    "bottom_code",  "since",          "derive", "determined_by",
             "from",     "time_of_day", "digits"},
         of);
    const std::string type = text(t, "type", of, true), role = text(t, "role", of, false);
    if (!type.empty() && type != kFillIn) this->type(type, c, *t.get("type"), of);
    if (const ColumnRole* found = find_word(kRoles, role)) {
      c.role = *found;
    } else if (!role.empty()) {
      add(line(*t.get("role")), fmt::format("{}: role must be {}", of, words_of(kRoles)));
    }
    c.unit = text(t, "unit", of, false);
    if (c.type == ColumnType::kKey) {
      key(t, c, of);
      return c;
    }
    if (t.contains("digits")) add(line(*t.get("digits")), fmt::format("{}: only keys have 'digits'", of));
    missing(t, c, of);
    if (c.type == ColumnType::kIgnore || c.role == ColumnRole::kPerson) {
      without(t, {kOfValues, kAffixes}, of);
      if (c.role == ColumnRole::kPerson) {
        c.numeric = c.type == ColumnType::kInteger || c.type == ColumnType::kDecimal;
        c.type = ColumnType::kCategory;
      }
    } else if (c.is_number()) {
      numbers(t, c, of);
    } else {
      categories(t, c, of);
    }
    return c;
  }

  void type(const std::string& word, Column& c, const toml::node& node, const std::string& of) {
    std::string all;
    for (int i = 0; i <= static_cast<int>(kLastType); ++i) {
      c.type = static_cast<ColumnType>(i);
      if (type_name(c.type) == word) return;
      all += fmt::format("{}\"{}\"", i == 0 ? "" : ", ", type_name(c.type));
    }
    add(line(node), fmt::format("{}: type must be one of {}", of, all));
  }

  void missing(const toml::table& t, Column& c, const std::string& of) {
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

  void numbers(const toml::table& t, Column& c, const std::string& of) {
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
      if (!node->is_boolean())
        return add(line(*node), fmt::format("{}: time_of_day needs true or false", of));
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

  /// Datetimes become a day and a time of day, but for those that say that they do not.
  void times_of_day() {
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

  /// A bound or an edge; where a column counts since another, in days.
  std::optional<double> position(const toml::node& node, const Column& c, const std::string& key,
                                 const std::string& of) {
    if (!c.since) return number(node, c.type, key, of);
    const auto days = number(node, ColumnType::kDecimal, key, of);
    if (!days) return std::nullopt;
    return c.type == ColumnType::kDate ? *days : std::round(*days * kSecondsADay / c.step) * c.step;
  }

  /// Of a column that is derived, once all columns are known.
  void derive(std::size_t j, const toml::node& node) {
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

  /// Of a column that another determines, once all columns are known: from = { A = ["A1", "A2"] }.
  void determine(Column& c, const toml::table& t) {
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
        add(line(t),
            fmt::format("{}: from does not say what \"{}\" gives", of, printable(values[other].name)));
      c.determined->codes.push_back(codes[other].value_or(0));
    }
  }

  void steps(const toml::table& t, Column& c, const std::string& of) {
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

  void bins(const toml::table& t, Column& c, const std::string& of) {
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

  void categories(const toml::table& t, Column& c, const std::string& of) {
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

  std::optional<std::size_t> column_named(const toml::node& node, const std::string& of) {
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

  /// Of {column = "x", is = ["a", "b"]}.
  bool condition(const toml::table& t, const char* key, const std::string& of,
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

  void constraint(const toml::table& t) {
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

  /// Two columns, and which of their values go together.
  void combination(const toml::table& t) {
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
      return add(line(t),
                 fmt::format("{} needs either 'file', a CSV file of what can be, or 'allowed', a list "
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

  NamedPairs from_file(const toml::table& t, const std::string& of, const Constraint& c) {
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

  NamedPairs listed(const toml::table& t, const std::string& of) {
    NamedPairs out{"line", {}};
    const toml::array* list = t["allowed"].as_array();
    if (list == nullptr) throw ConfigError("'allowed' is no list");
    for (const toml::node& node : *list) {
      std::vector<std::string> both = texts(node, "allowed", of);
      if (both.size() != 2)
        throw ConfigError(
            fmt::format("line {}: 'allowed' needs two values in each of its lists", line(node)));
      out.pairs.push_back({std::move(both[0]), std::move(both[1]), line(node)});
    }
    return out;
  }

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
  std::vector<std::string> problems_;
  bool open_ = false;  ///< something is still to be filled in
};

}  // namespace

std::optional<double> parse_bound(ColumnType type, std::string_view text) {
  const std::size_t point = text.find('.');
  if (!is_temporal_type(type) || type == ColumnType::kDate) return parse_number(type, text);
  if (point == std::string_view::npos) {
    const auto value = parse_number(type, text);
    return value ? value : parse_number(type, std::string(text) + ":00");
  }
  const std::string fraction = "0" + std::string(trimmed(text.substr(point)));
  if (fraction.find_first_not_of("0123456789", 2) != std::string::npos) return std::nullopt;
  const auto value = parse_number(type, text.substr(0, point)),
             behind = parse_number(ColumnType::kDecimal, fraction);
  return value && behind ? std::optional(*value + *behind) : std::nullopt;
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
