#include "muffle/schema/draft.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <iostream>

#include "muffle/core/settings.hpp"
#include "muffle/core/text.hpp"
#include "muffle/schema/table_text.hpp"
#include "muffle/schema/table_toml.hpp"

namespace muffle::schema {
namespace {

constexpr std::string_view kRoleNames[] = {"feature", "label", "person"};
constexpr std::string_view kNever = "never", kEmptyField = "empty";

bool is_numeric(ColumnType type) {
  return type == ColumnType::kInteger || type == ColumnType::kDecimal || type == ColumnType::kDate ||
         type == ColumnType::kDatetime;
}

bool has_bounds(const DraftColumn& c) { return is_numeric(c.type) && c.role == ColumnRole::kFeature; }
bool has_values(const DraftColumn& c) {
  return !is_numeric(c.type) && c.type != ColumnType::kIgnore && c.role != ColumnRole::kPerson;
}
bool may_lack_values(const DraftColumn& c) {
  return c.type != ColumnType::kIgnore && c.role == ColumnRole::kFeature;
}

std::string list_literal(const std::vector<std::string>& texts) {
  std::vector<std::string> quoted;
  for (const std::string& text : texts) quoted.push_back(settings::toml_string(text));
  return fmt::format("[{}]", fmt::join(quoted, ", "));
}

/// "key = VALUE", or the placeholder and what belongs there.
std::string line_of(std::string_view key, const std::optional<std::string>& value, std::string_view wanted) {
  return value ? fmt::format("{} = {}\n", key, *value)
               : fmt::format("{} = \"{}\"  # {}\n", key, kFillIn, wanted);
}

std::string column_toml(const DraftColumn& c) {
  std::string out = "\n[[columns]]\n";
  if (!c.note.empty()) out += "# " + c.note + "\n";
  out += fmt::format("name = {}\ntype = \"{}\"{}\n", settings::toml_string(c.name), type_name(c.type),
                     c.guessed ? "  # a guess" : "");
  if (c.role != ColumnRole::kFeature)
    out += fmt::format("role = \"{}\"\n", kRoleNames[static_cast<int>(c.role)]);
  if (has_bounds(c)) {
    Column format;
    format.type = c.type;
    format.decimals = c.type == ColumnType::kDecimal ? c.decimals.value_or(6) : 0;
    const auto literal = [&](const std::optional<double>& bound) -> std::optional<std::string> {
      if (!bound) return std::nullopt;
      std::string text;
      write_number(format, *bound, text);
      return text;
    };
    if (c.type == ColumnType::kDecimal) {
      out += line_of("decimals", c.decimals ? std::optional(std::to_string(*c.decimals)) : std::nullopt,
                     "places after the point");
      if (c.step) out += fmt::format("step = {}\n", exact_text(*c.step));
    }
    out += line_of("lo", literal(c.lo), "the least value that there can be");
    out += line_of("hi", literal(c.hi), "the largest value that there can be");
  }
  if (has_values(c)) {
    out += line_of("values", c.values ? std::optional(list_literal(*c.values)) : std::nullopt,
                   c.type == ColumnType::kBoolean   ? "[\"no\", \"yes\"]: the false one first"
                   : c.type == ColumnType::kOrdinal ? "all categories, in their order: [\"low\", \"high\"]"
                                                    : "all categories: [\"a\", \"b\"]");
  }
  if (may_lack_values(c)) {
    std::optional<std::string> spellings;
    if (c.missing) spellings = c.missing->empty() ? "false" : list_literal(*c.missing);
    out += line_of("missing", spellings, "false, or how a missing value is spelt: [\"\", \"NA\"]");
  }
  return out;
}

/// Questions and answers.
class Interview {
 public:
  Interview(std::istream& in, std::ostream& out) : in_(in), out_(out) {}
  bool over() const { return !in_; }

  void column(DraftColumn& c, std::size_t number, std::size_t of) {
    out_ << fmt::format("\nColumn {} of {}: {}\n", number, of, printable(c.name));
    if (!c.note.empty()) out_ << "  " << c.note << "\n";
    // What a public sample has filled in is not asked again; a role nobody can read off a file.
    if (c.is_open() || c.type == ColumnType::kIgnore) type(c);
    if (over()) return;
    c.guessed = false;
    if (c.type == ColumnType::kIgnore) return;
    role(c);
    if (c.type == ColumnType::kIgnore) return;
    if (c.role != ColumnRole::kFeature) holders_[static_cast<std::size_t>(c.role)] = c.name;
    if (has_bounds(c)) {
      if (c.type == ColumnType::kDecimal && !c.decimals) decimals(c);
      if (!c.lo) c.lo = bound(c, "the least value that there can be");
      if (!c.hi) c.hi = bound(c, "the largest value that there can be");
      while (c.lo && c.hi && *c.lo > *c.hi) {
        out_ << "  The largest value is below the least one.\n";
        c.lo = bound(c, "the least value that there can be");
        c.hi = bound(c, "the largest value that there can be");
      }
    }
    if (has_values(c) && !c.values) values(c);
    if (may_lack_values(c) && !c.missing) missing(c);
  }

 private:
  /// @returns empty at the end, too.
  std::string answer(std::string_view question) {
    if (over()) return {};
    out_ << "  " << question << ": " << std::flush;
    std::string line;
    std::getline(in_, line);
    const auto first = line.find_first_not_of(" \t\r");
    return first == std::string::npos ? "" : line.substr(first, line.find_last_not_of(" \t\r") - first + 1);
  }

  void type(DraftColumn& c) {
    while (!over()) {
      const std::string word = answer(
          fmt::format("type: integer, decimal, category, ordinal, boolean, date, datetime or ignore [{}]",
                      type_name(c.type)));
      if (word.empty()) break;
      for (int i = 0; i <= static_cast<int>(ColumnType::kIgnore); ++i) {
        if (type_name(static_cast<ColumnType>(i)) != word) continue;
        // What was known is of the other type.
        if (static_cast<ColumnType>(i) != c.type)
          c.lo = c.hi = c.step = std::nullopt, c.decimals.reset(), c.values.reset();
        c.type = static_cast<ColumnType>(i);
        return;
      }
    }
  }

  void role(DraftColumn& c) {
    while (!over()) {
      const std::string word =
          answer(fmt::format("role: feature, label (the class) or person (whose a row is) [{}]",
                             kRoleNames[static_cast<int>(c.role)]));
      const auto known =
          std::find(std::begin(kRoleNames), std::end(kRoleNames), word) - std::begin(kRoleNames);
      if (known == 1 || known == 2) {
        if (const std::string& holder = holders_[static_cast<std::size_t>(known)]; !holder.empty()) {
          out_ << fmt::format("  '{}' has this role already, and one column at most can.\n",
                              printable(holder));
          continue;
        }
      }
      if (word == kRoleNames[1] && is_numeric(c.type)) {
        out_ << "  A label is a category, an ordinal or a boolean: choose one of those as its type.\n";
        type(c);
        if (is_numeric(c.type)) continue;
        if (c.type != ColumnType::kIgnore) be_label(c);
        return;
      }
      if (known == 1) {
        be_label(c);
      } else if (known < std::ssize(kRoleNames)) {
        c.role = static_cast<ColumnRole>(known);
      }
      if (word.empty() || known < std::ssize(kRoleNames)) return;
    }
  }

  /// A label is always there: how it was spelt where it was not is one of its values.
  static void be_label(DraftColumn& c) {
    c.role = ColumnRole::kLabel;
    if (!c.values || !c.missing) return;
    c.values->insert(c.values->end(), c.missing->begin(), c.missing->end());
    c.missing.reset();
  }

  void decimals(DraftColumn& c) {
    while (!over()) {
      const std::string text = answer("places after the point, 0 to 15");
      if (text.empty()) return;
      const auto value = parse_number(ColumnType::kInteger, text);
      if (value && *value >= 0 && *value <= 15) {
        c.decimals = static_cast<int>(*value);
        return;
      }
    }
  }

  std::optional<double> bound(const DraftColumn& c, std::string_view question) {
    while (!over()) {
      const std::string text = answer(question);
      if (text.empty()) break;
      const auto value = parse_number(c.type, text);
      Column column;
      column.type = c.type;
      column.decimals = c.decimals.value_or(15);
      if (value && c.type == ColumnType::kDecimal) {
        std::string written;
        write_number(column, *value, written);
        if (parse_number(c.type, written) == value) return value;
        out_ << "  This has more places after the point.\n";
        continue;
      }
      if (value) return value;
      out_ << "  This " << misfit_text(Misfit::kNotANumber, column) << ".\n";
    }
    return std::nullopt;
  }

  void values(DraftColumn& c) {
    out_ << "  its categories, one a line" << (c.type == ColumnType::kOrdinal ? " in their order" : "")
         << (c.type == ColumnType::kBoolean ? ", the false one first" : "") << "; an empty line ends them\n";
    std::vector<std::string> values;
    for (std::string value = answer(">"); !value.empty(); value = answer(">")) {
      if (std::find(values.begin(), values.end(), value) == values.end()) {
        values.push_back(std::move(value));
      } else {
        out_ << "  This one is there already.\n";
      }
    }
    if (!values.empty()) c.values = std::move(values);
  }

  void missing(DraftColumn& c) {
    const std::string text = answer(
        fmt::format("how is a missing value spelt? \"{}\" if none is missing, \"{}\" for an empty field; "
                    "several with commas",
                    kNever, kEmptyField));
    if (text.empty()) return;
    std::vector<std::string> spellings;
    for (std::size_t at = 0; text != kNever && at <= text.size();) {
      const std::size_t end = std::min(text.find(',', at), text.size());
      std::string word = text.substr(at, end - at);
      word.erase(0, word.find_first_not_of(' '));
      word.erase(word.find_last_not_of(' ') + 1);
      spellings.push_back(word == kEmptyField ? "" : word);
      at = end + 1;
    }
    c.missing = std::move(spellings);
  }

  std::istream& in_;
  std::ostream& out_;
  std::array<std::string, std::size(kRoleNames)> holders_;  ///< the column that has a role
};

}  // namespace

bool DraftColumn::is_open() const {
  return (has_bounds(*this) && (!lo || !hi || (type == ColumnType::kDecimal && !decimals))) ||
         (has_values(*this) && !values) || (may_lack_values(*this) && !missing);
}

std::string draft_toml(std::span<const DraftColumn> columns, std::string_view comment) {
  std::string out;
  for (std::size_t at = 0; at < comment.size();) {
    const std::size_t end = std::min(comment.find('\n', at), comment.size());
    out += fmt::format("# {}\n", comment.substr(at, end - at));
    at = end + 1;
  }
  for (const DraftColumn& c : columns) out += column_toml(c);
  return out;
}

void ask_for_columns(std::span<DraftColumn> columns, std::istream& in, std::ostream& out) {
  Interview interview(in, out);
  for (std::size_t j = 0; j < columns.size() && !interview.over(); ++j)
    interview.column(columns[j], j + 1, columns.size());
}

}  // namespace muffle::schema
