#include "draft_answers.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <utility>

#include "draft_keys.hpp"
#include "muffle/core/text.hpp"
#include "muffle/schema/plain_text.hpp"
#include "muffle/schema/table_text.hpp"
#include "muffle/schema/table_toml.hpp"

namespace muffle::schema {
namespace {

bool be_type(const std::string& word, DraftColumn& c) {
  for (int i = 0; i <= static_cast<int>(kLastType); ++i) {
    const auto type = static_cast<ColumnType>(i);
    if (type_name(type) != word) continue;
    const bool both_numbers = is_number_type(type) && is_number_type(c.type) && !is_temporal_type(type) &&
                              !is_temporal_type(c.type);
    if (type == c.type) return true;
    // What was known is of the other type.
    c.lo = c.hi = c.step = std::nullopt;
    c.decimals.reset();
    if (is_number_type(type) || is_number_type(c.type) || is_unread_type(type)) c.values.reset();
    if (!both_numbers) c.notation = Notation();
    if (is_unread_type(type)) c.role = ColumnRole::kFeature;
    c.type = type;
    return true;
  }
  return false;
}

/// A label is always there: how it was spelt where it was not is one of its values.
void be_label(DraftColumn& c) {
  if (c.values && c.missing) c.values->insert(c.values->end(), c.missing->begin(), c.missing->end());
  c.missing.reset();
}

bool is_amount(ColumnType type) { return type == ColumnType::kInteger || type == ColumnType::kDecimal; }

/// A bound: as the column's fields are written, or in muffle's own way. Of numbers in the file's marks the
/// text becomes one in muffle's own; empty: it can be read in two ways.
std::optional<double> bound(const DraftColumn& c, std::string& text) {
  std::optional<double> in_file;
  if (!c.notation.is_plain() && c.notation.format != kFillIn) {
    in_file = NumberText(c.type, c.notation, c.decimals.value_or(15), c.lo.value_or(0)).parse(text);
    if (in_file && !is_amount(c.type)) return in_file;
    Notation marks = c.notation;
    marks.prefix.clear();
    marks.suffix.clear();
    if (!in_file && !marks.is_plain() && is_amount(c.type) && negative_style(marks))
      in_file = NumberText(c.type, marks, 15, 0).parse(text);
  }
  if (const auto own = parse_number(c.type, text); own && in_file && *own != *in_file) {
    text.clear();
    return std::nullopt;
  } else if (!own && in_file) {
    const std::size_t mark = text.rfind(c.notation.decimal_mark);
    const std::size_t places =
        mark == std::string::npos
            ? 0
            : std::min(text.find_first_not_of("0123456789", mark + c.notation.decimal_mark.size()),
                       text.size()) -
                  mark - c.notation.decimal_mark.size();
    text = fmt::format("{:.{}f}", *in_file, places);
    return in_file;
  }
  return parse_bound(c.type, text);
}

int places(const std::string& text) {
  const std::size_t point = text.find('.');
  if (point == std::string::npos) return 0;
  const std::size_t end = text.find_first_not_of("0123456789", point + 1);
  return static_cast<int>(std::min(end, text.size()) - point - 1);
}

}  // namespace

std::string known_text(const DraftColumn& c) {
  std::vector<std::string> words{std::string(type_name(c.type))};
  if (c.role != ColumnRole::kFeature) words.emplace_back(kRoleNames[static_cast<int>(c.role)]);
  if (const std::string notation = notation_text(c); !notation.empty() && c.choices.empty())
    words.push_back(notation);
  if (has_bounds(c) && c.lo && c.hi) words.push_back(bound_text(c, *c.lo) + " to " + bound_text(c, *c.hi));
  if (has_values(c) && c.values) {
    constexpr std::size_t kShown = 8;
    std::vector<std::string> some(c.values->begin(), c.values->begin() + static_cast<std::ptrdiff_t>(std::min(
                                                                             kShown, c.values->size())));
    words.push_back(fmt::format("{} values: {}{}", c.values->size(), fmt::join(some, " | "),
                                c.values->size() > kShown ? " | ..." : ""));
  }
  if (may_lack_values(c))
    words.emplace_back(c.missing && !c.missing->empty() ? "can be missing" : "always there");
  return fmt::format("{}", fmt::join(words, ", "));
}

std::string take_words(const std::string& line, DraftColumn& c, std::span<const DraftColumn> before,
                       const std::vector<std::string>& missing_words) {
  std::string words = line, format;
  if (const std::size_t at = line.find('%'); at != std::string::npos) {
    words = line.substr(0, at);
    format = trimmed(std::string_view(line).substr(at));
  }
  std::replace(words.begin(), words.end(), ',', ' ');
  bool role_said = false;
  bool missing = c.missing && !c.missing->empty();
  for (std::size_t at = 0; at < words.size();) {
    const std::size_t end = std::min(words.find(' ', at), words.size());
    const std::string word = words.substr(at, end - at);
    at = end + 1;
    if (word.empty()) continue;
    if (const auto role = std::find(std::begin(kRoleNames), std::end(kRoleNames), word);
        role != std::end(kRoleNames)) {
      c.role = static_cast<ColumnRole>(role - std::begin(kRoleNames));
      role_said = true;
    } else if (word == "missing" || word == "always") {
      missing = word == "missing";
      if (!missing) c.missing.emplace();
    } else if (!be_type(word, c)) {
      return "No word for a column: its type is integer, decimal, category, ordinal, boolean, date, "
             "datetime, time, key or ignore (help).";
    }
  }
  if (!format.empty()) {
    if (const std::string wrong = TimeFormat::problem(c.type, format);
        !is_temporal_type(c.type) || !wrong.empty())
      return wrong.empty() ? "Only a date, a datetime or a time has a format." : "The format: " + wrong + ".";
    if (format != c.notation.format) c.step.reset();
    c.notation.format = format;
  }
  if (role_said && c.role != ColumnRole::kFeature) {
    for (const DraftColumn& other : before) {
      if (other.role == c.role && !is_unread_type(other.type))
        return fmt::format("'{}' has this role already, and one column at most can.", printable(other.name));
    }
  }
  if (c.role == ColumnRole::kLabel && is_number_type(c.type))
    return "A label is a category, an ordinal or a boolean. Say so: category label.";
  if (c.role == ColumnRole::kPerson && is_unread_type(c.type)) c.type = ColumnType::kCategory;
  if (missing && (!c.missing || c.missing->empty())) c.missing = missing_words;
  if (!c.missing) c.missing.emplace();
  if (c.role == ColumnRole::kLabel) be_label(c);
  return {};
}

std::string bounds_example(const DraftColumn& c) {
  switch (c.type) {
    case ColumnType::kDate:
      return "2020-01-01, 2024-12-31";
    case ColumnType::kDatetime:
      return "2020-01-01T00:00:00, 2024-12-31T23:59:59";
    case ColumnType::kTime:
      return "00:00:00, 23:59:59";
    case ColumnType::kDecimal:
      return c.decimals == 0 ? "0, 100" : "0.00, 99.99 (as many places as fields have)";
    default:
      return "0, 120 (or 0, 90+ where 90+ stands for all above)";
  }
}

std::string take_bounds(const std::string& line, DraftColumn& c) {
  auto list = split_list(line);
  if (!list || list->size() != 2)
    return "Two values with a comma between them. One with a comma in it is put in quotes.";
  const bool number = is_amount(c.type);
  std::array<double, 2> values{};
  std::array<std::string, 2> codes{c.notation.bottom_code, c.notation.top_code};
  for (std::size_t k = 0; k < 2; ++k) {
    const std::string typed = (*list)[k];
    std::string& text = (*list)[k];
    auto value = bound(c, text);
    if (text.empty() && !typed.empty())
      return fmt::format(
          "'{}' can be two numbers: leave out marks of thousands, and put a point before decimals.",
          printable(typed));
    auto code = number && !value ? bound_code(text, c.notation) : std::nullopt;
    if (number && !value && !code) code = bound_code(text);
    if (code && code->top == (k == 1)) {
      const double step =
          c.type == ColumnType::kInteger
              ? 1.0
              : std::pow(10.0, -c.decimals.value_or(std::max(places((*list)[0]), places((*list)[1]))));
      value = code->number + (code->beyond ? (k == 1 ? step : -step) : 0.0);
      codes[k] = text;
    }
    Column own;
    own.type = c.type;
    if (!value) return fmt::format("'{}' {}.", printable(text), misfit_text(Misfit::kNotANumber, own));
    values[k] = *value;
  }
  if (values[0] > values[1]) return "The largest value is below the least one.";
  if (c.type == ColumnType::kDecimal) {
    const int most = std::max(places((*list)[0]), places((*list)[1]));
    if (c.decimals && most > *c.decimals)
      return fmt::format("This has more places after the point than {}.", *c.decimals);
    if (!c.decimals && most > 0 && most <= 15) c.decimals = most;
  }
  if (c.step) {
    const double steps = std::floor((values[1] - values[0]) / *c.step + 1e-6);
    const double last = values[0] + steps * *c.step;
    // Until 23:59 is until 23:45.
    if (std::abs(values[1] - last) > 1e-6 * *c.step && number)
      return fmt::format("The largest value is the least one and a whole number of steps of {}.",
                         exact_text(*c.step));
    values[1] = last;
  }
  c.lo = values[0];
  c.hi = values[1];
  c.notation.bottom_code = codes[0];
  c.notation.top_code = codes[1];
  return {};
}

std::string take_categories(const std::string& line, DraftColumn& c) {
  auto list = split_list(line);
  if (!list) return "Texts with commas between them; one with a comma in it goes in quotes.";
  for (std::size_t i = 0; i < list->size(); ++i) {
    if (std::find(list->begin(), list->begin() + static_cast<std::ptrdiff_t>(i), (*list)[i]) !=
        list->begin() + static_cast<std::ptrdiff_t>(i))
      return fmt::format("'{}' is there twice.", printable((*list)[i]));
  }
  if (c.type == ColumnType::kBoolean && list->size() != 2) return "A boolean has two, the false one first.";
  c.values = std::move(*list);
  return {};
}

std::optional<std::vector<std::string>> split_list(std::string_view line) {
  std::vector<std::string> out;
  for (std::size_t at = 0; at <= line.size();) {
    at = std::min(line.find_first_not_of(" \t", at), line.size());
    std::string item;
    if (at < line.size() && line[at] == '"') {
      for (++at;; ++at) {
        if (at == line.size()) return std::nullopt;
        if (line[at] == '"' && !(at + 1 < line.size() && line[at + 1] == '"')) break;
        if (line[at] == '"') ++at;
        item += line[at];
      }
      at = std::min(line.find_first_not_of(" \t", at + 1), line.size());
      if (at < line.size() && line[at] != ',') return std::nullopt;
    } else {
      const std::size_t end = std::min(line.find(',', at), line.size());
      item = trimmed(line.substr(at, end - at));
      at = end;
      if (item.empty() || item.find('"') != std::string::npos) return std::nullopt;
    }
    out.push_back(plain_text(item));
    ++at;
  }
  return out;
}

}  // namespace muffle::schema
