#include "muffle/schema/notation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <utility>

#include "muffle/core/text.hpp"
#include "muffle/schema/plain_text.hpp"
#include "muffle/schema/table.hpp"
#include "muffle/schema/table_text.hpp"

namespace muffle::schema {
namespace {

constexpr std::size_t kLongestMark = 16, kLongestOfNotation = 64;
constexpr std::string_view kMinus = "\u2212";
/// Unicode's no-break, narrow no-break, thin and figure spaces stand where others write a blank.
constexpr std::string_view kBlanks[] = {" ", "\u00A0", "\u202F", "\u2009", "\u2007", "\t"};
constexpr std::string_view kApostrophes[] = {"'", "\u2019"};

bool has_digit(std::string_view text) { return std::any_of(text.begin(), text.end(), is_digit); }

/// How many bytes at the text's beginning are one of these.
template <std::size_t N>
std::size_t one_of(const std::string_view (&all)[N], std::string_view text) {
  for (const std::string_view one : all) {
    if (text.starts_with(one)) return one.size();
  }
  return 0;
}

/// Takes a minus sign off the front.
bool take_minus(std::string_view& text) {
  const std::size_t n = text.starts_with('-') ? 1 : text.starts_with(kMinus) ? kMinus.size() : 0;
  text.remove_prefix(n);
  return n > 0;
}

int year_of(ColumnType type, double lo) {
  if (type == ColumnType::kTime || !std::isfinite(lo)) return 1970;
  const double days = std::floor(type == ColumnType::kDate ? lo : lo / 86400.0);
  if (std::abs(days) > 3e6) return 1970;
  const std::chrono::year_month_day date{
      std::chrono::sys_days(std::chrono::days(static_cast<std::int64_t>(days)))};
  return static_cast<int>(date.year());
}

}  // namespace

std::size_t mark_at(std::string_view text, std::string_view mark) {
  if (mark.empty()) return 0;
  if (one_of(kBlanks, mark) == mark.size()) return one_of(kBlanks, text);
  if (one_of(kApostrophes, mark) == mark.size()) return one_of(kApostrophes, text);
  return text.starts_with(mark) ? mark.size() : 0;
}

std::optional<NegativeStyle> negative_style(const Notation& n) {
  std::string_view sign = n.negative;
  const std::string_view prefix = trimmed(n.prefix), suffix = trimmed(n.suffix);
  bool inside = false;
  if (!prefix.empty() && sign.starts_with(prefix)) {
    sign.remove_prefix(prefix.size());
    inside = true;
  }
  if (!suffix.empty() && sign.ends_with(suffix)) {
    sign.remove_suffix(suffix.size());
    inside = true;
  }
  const auto found = std::find(std::begin(kNegatives), std::end(kNegatives), trimmed(sign));
  if (found == std::end(kNegatives)) return std::nullopt;
  return NegativeStyle{*found, inside};
}

bool Notation::is_plain() const {
  Notation plain;
  plain.top_code = top_code;
  plain.bottom_code = bottom_code;
  return *this == plain;
}

NumberText::NumberText(ColumnType type, Notation notation, int decimals, double lo)
    : type_(type), notation_(std::move(notation)), decimals_(decimals), first_year_(year_of(type, lo)) {
  if (!notation_.format.empty()) format_.emplace(type, notation_.format);
}

std::optional<double> NumberText::parse(std::string_view text) const {
  if (format_) return format_->parse(trimmed(text), first_year_);
  if (notation_.is_plain()) return parse_number(type_, text);
  const auto value = parse_marked(trimmed(text));
  return value && type_ == ColumnType::kInteger && *value != std::floor(*value) ? std::nullopt : value;
}

/// Sign, prefix, digits in groups of three, mark, digits, suffix: what stands around the digits is taken off
/// from outside to inside.
std::optional<double> NumberText::parse_marked(std::string_view text) const {
  bool negative = false;
  const std::string_view sign = negative_style(notation_).value_or(NegativeStyle{}).sign;
  const auto take_parentheses = [&] {
    if (sign != "(1)" || !text.starts_with('(') || !text.ends_with(')')) return;
    negative = true;
    text = trimmed(text.substr(1, text.size() - 2));
  };
  take_parentheses();
  negative = take_minus(text) || negative;
  if (const std::string_view prefix = trimmed(notation_.prefix); !prefix.empty()) {
    text = trimmed(text);
    if (!text.starts_with(prefix)) return std::nullopt;
    text = trimmed(text.substr(prefix.size()));
    negative = take_minus(text) || negative;
  }
  if (const std::string_view suffix = trimmed(notation_.suffix); !suffix.empty()) {
    if (!text.ends_with(suffix)) return std::nullopt;
    text = trimmed(text.substr(0, text.size() - suffix.size()));
  }
  if (!negative) take_parentheses();  // within prefix and suffix
  if (sign == "1-" && text.ends_with('-')) {
    negative = true;
    text.remove_suffix(1);
  }
  if (!negative && text.starts_with('+')) text.remove_prefix(1);
  text = trimmed(text);

  std::string plain(negative ? "-" : "");
  std::size_t group = 0, groups = 0;
  for (; !text.empty(); text.remove_prefix(1)) {
    if (is_digit(text.front())) {
      plain += text.front();
      ++group;
      continue;
    }
    const std::size_t mark = mark_at(text, notation_.thousands_mark);
    if (mark == 0) break;
    // The first group has one to three digits, and the others three.
    const bool zero = groups == 0 && plain.substr(negative ? 1 : 0).starts_with('0');
    if (zero || group == 0 || group > 3 || (groups > 0 && group != 3)) return std::nullopt;
    ++groups;
    group = 0;
    text.remove_prefix(mark - 1);
  }
  if (groups > 0 && group != 3) return std::nullopt;
  if (const std::size_t mark = mark_at(text, notation_.decimal_mark); mark > 0) {
    text.remove_prefix(mark);
    plain += '.';
  } else if (group == 0) {
    return std::nullopt;
  }
  if (text.find('.') != std::string_view::npos) return std::nullopt;  // the mark is behind us
  plain += text;
  if (plain.ends_with('.') || plain.ends_with("-")) return std::nullopt;
  double value = 0.0;
  const char* const last = plain.data() + plain.size();
  const auto [end, error] = std::from_chars(plain.data(), last, value);
  if (error != std::errc{} || end != last || !std::isfinite(value)) return std::nullopt;
  return value;
}

void NumberText::write(double value, std::string& out) const {
  if (format_) return format_->write(value, out);
  if (notation_.is_plain()) {
    Column column;
    column.type = type_;
    column.decimals = decimals_;
    return write_number(column, value, out);
  }
  std::string digits = fmt::format("{:.{}f}", std::abs(value), decimals_);
  const bool negative = value < 0 && digits.find_first_not_of("0.") != std::string::npos;
  const auto [sign, inside] = negative_style(notation_).value_or(NegativeStyle{});
  const std::string_view before = !negative || sign == "1-" ? std::string_view()
                                  : sign == "(1)"           ? "("
                                                            : sign.substr(0, sign.size() - 1);
  const std::string_view after = !negative ? "" : sign == "(1)" ? ")" : sign == "1-" ? "-" : "";
  if (!inside) out += before;
  out += notation_.prefix;
  if (inside) out += before;
  const std::size_t whole = std::min(digits.find('.'), digits.size());
  for (std::size_t i = 0; i < whole; ++i) {
    if (i > 0 && (whole - i) % 3 == 0) out += notation_.thousands_mark;
    out += digits[i];
  }
  if (whole < digits.size()) out += notation_.decimal_mark + digits.substr(whole + 1);
  const bool at_digits = inside || sign == "1-";
  if (at_digits) out += after;
  out += notation_.suffix;
  if (!at_digits) out += after;
}

std::string notation_problem(ColumnType type, const Notation& n) {
  const bool number = type == ColumnType::kInteger || type == ColumnType::kDecimal;
  const bool time = type == ColumnType::kDate || type == ColumnType::kDatetime || type == ColumnType::kTime;
  Notation of_times;
  of_times.format = n.format;
  if (!n.format.empty() && !time) return "only dates and times have a format";
  if (!number && n != of_times) return "only numbers have marks, a prefix, a suffix or codes of their bounds";
  for (const std::string* text : {&n.format, &n.prefix, &n.suffix, &n.top_code, &n.bottom_code}) {
    const auto control = [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; };
    if (text->size() > kLongestOfNotation || std::any_of(text->begin(), text->end(), control))
      return fmt::format("a text of its notation is longer than {} bytes, or not of one line",
                         kLongestOfNotation);
  }
  if (time) return n.format.empty() ? "" : TimeFormat::problem(type, n.format);
  if (n.decimal_mark.empty() || n.decimal_mark.size() > kLongestMark ||
      n.thousands_mark.size() > kLongestMark)
    return "decimal_mark and thousands_mark are one character each";
  for (const std::string* text : {&n.decimal_mark, &n.thousands_mark, &n.prefix, &n.suffix}) {
    if (has_digit(*text)) return "marks, prefix and suffix have no digits";
  }
  if (n.decimal_mark.find_first_of("-+eE") != std::string::npos ||
      n.thousands_mark.find_first_of("-+") != std::string::npos)
    return "a mark is no sign and no letter";
  if (mark_at(n.decimal_mark, n.thousands_mark) != 0) return "decimal_mark and thousands_mark are the same";
  if (!negative_style(n))
    return "negative must be \"-1\", \"\u22121\", \"(1)\" or \"1-\": how minus one is written; with the "
           "prefix or suffix where the sign stands within it (\"$-1\")";
  return {};
}

}  // namespace muffle::schema
