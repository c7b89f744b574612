#include "mark_guess.hpp"

#include <algorithm>
#include <array>

#include "muffle/core/text.hpp"
#include "muffle/schema/plain_text.hpp"
#include "muffle/schema/table.hpp"

namespace muffle::data {
namespace {

using schema::bound_code;
using schema::ColumnType;
using schema::mark_at;
using schema::trimmed;

/// What stands before or behind numbers and is no part of a text. Others are named, and left to people.
constexpr std::string_view kAffixes[] = {
    "%",      "\u2030", "$",       "\u20AC",  "\u00A3",   "\u00A5", "\u20B9", "\u20BD",  "\u20A9",  "\u20BA",
    "\u20AA", "\u0E3F", "\u20AB",  "\u20B4",  "\u20A6",   "\u20B1", "\u20A1", "\u20B2",  "\u20B5",  "\u00A2",
    "US$",    "A$",     "AU$",     "C$",      "CA$",      "NZ$",    "HK$",    "S$",      "R$",      "EUR",
    "USD",    "GBP",    "CHF",     "JPY",     "CNY",      "INR",    "AUD",    "CAD",     "NZD",     "SEK",
    "NOK",    "DKK",    "PLN",     "CZK",     "HUF",      "BRL",    "MXN",    "ZAR",     "TRY",     "RUB",
    "kr",     "kr.",    "z\u0142", "K\u010D", "Ft",       "Fr",     "Fr.",    "SFr.",    "DM",      "Rs",
    "Rs.",    "\u00B0", "\u00B0C", "\u00B0F", "kg",       "g",      "mg",     "\u00B5g", "\u03BCg", "t",
    "lb",     "lbs",    "oz",      "km",      "m",        "cm",     "mm",     "\u00B5m", "nm",      "mi",
    "ft",     "in",     "m\u00B2", "m\u00B3", "km\u00B2", "ha",     "l",      "L",       "ml",      "mL",
    "dl",     "cl",     "W",       "kW",      "MW",       "kWh",    "MWh",    "V",       "A",       "Hz",
    "kHz",    "MHz",    "GHz",     "Pa",      "kPa",      "hPa",    "bar",    "mmHg",    "mg/dl",   "mg/dL",
    "g/dl",   "g/dL",   "mmol/l",  "mmol/L",  "bpm",      "kcal",   "kJ",     "J",       "N",       "s",
    "sec",    "ms",     "min",     "h",       "hrs",      "hours",  "d",      "days",    "weeks",   "months",
    "yr",     "yrs",    "years",   "Jahre",   "ans",      "KB",     "MB",     "GB",      "kB",      "px",
    "pts",    "pp"};

bool is_affix(std::string_view text) {
  return text.empty() || std::find(std::begin(kAffixes), std::end(kAffixes), text) != std::end(kAffixes);
}

/// Takes a minus sign off the front. @returns how minus one would be written; empty: there is none.
std::string_view take_minus(std::string_view& text) {
  for (const std::string_view style : {schema::kNegatives[0], schema::kNegatives[1]}) {
    const std::string_view sign = style.substr(0, style.size() - 1);
    if (!text.starts_with(sign)) continue;
    text = trimmed(text.substr(sign.size()));
    return style;
  }
  return {};
}

}  // namespace

MarkGuess::MarkGuess() {
  for (const char* const decimal : {".", ","}) {
    for (const char* const thousands : {"", ",", ".", "'", " "}) {
      if (std::string_view(decimal) == thousands) continue;
      schema::Notation n;
      n.decimal_mark = decimal;
      n.thousands_mark = thousands;
      // One that is not plain reads no exponents in place of digits, and groups of three alone.
      candidates_.push_back({n, schema::NumberText(ColumnType::kDecimal, n, 0, 0), true, false, false, {}});
    }
  }
}

/// What there is around the digits: the same of all fields.
bool MarkGuess::take_affixes(std::string_view& field, bool& negative) {
  std::string_view text = trimmed(field);
  std::string_view style;
  if (text.starts_with('(') && text.ends_with(')')) {
    style = "(1)";
    text = trimmed(text.substr(1, text.size() - 2));
  }
  if (const std::string_view minus = take_minus(text); !minus.empty()) style = minus;
  const auto first = std::find_if(text.begin(), text.end(), is_digit);
  if (first == text.end()) return false;
  std::string_view prefix = text.substr(0, static_cast<std::size_t>(first - text.begin()));
  text.remove_prefix(prefix.size());
  // The sign behind the prefix.
  bool inside = false;
  for (const std::string_view minus : {schema::kNegatives[0], schema::kNegatives[1]}) {
    const std::string_view sign = minus.substr(0, minus.size() - 1);
    if (!prefix.ends_with(sign)) continue;
    prefix.remove_suffix(sign.size());
    style = minus;
    inside = !prefix.empty();
  }
  if (prefix == "+") prefix = {};
  const auto last = std::find_if(text.rbegin(), text.rend(), is_digit).base();
  std::string_view suffix = text.substr(static_cast<std::size_t>(last - text.begin()));
  text.remove_suffix(suffix.size());
  if (prefix.ends_with('(') && suffix.starts_with(')')) {
    style = "(1)";
    inside = true;
    prefix.remove_suffix(1);
    suffix.remove_prefix(1);
  }
  if (suffix.starts_with('-')) {
    style = "1-";
    suffix.remove_prefix(1);
  }
  if (!is_affix(trimmed(prefix)) || !is_affix(trimmed(suffix))) return false;
  if (!begun_) {
    prefix_ = prefix;
    suffix_ = suffix;
  } else if (trimmed(prefix) != trimmed(prefix_) || trimmed(suffix) != trimmed(suffix_)) {
    return false;
  }
  begun_ = true;
  negative = !style.empty();
  if (negative) {
    negative_ = style;
    inside_ = inside;
  }
  field = text;
  return true;
}

/// The texts among the numbers as codes of bounds in this notation. @returns whether all are, one of a side.
bool MarkGuess::take_codes(schema::Notation& n) const {
  for (const std::string& text : codes_) {
    const auto code = bound_code(text, n);
    if (!code) return false;
    std::string& known = code->top ? n.top_code : n.bottom_code;
    if (!known.empty()) return false;
    known = text;
  }
  return true;
}

void MarkGuess::look_at(std::string_view field) {
  if (!fits_) return;
  std::string_view digits = field;
  bool negative = false;
  if (!take_affixes(digits, negative)) {
    if (!codes_.contains(field)) codes_.emplace(field);
    fits_ = codes_.size() <= kMostCodes;
    return;
  }
  if (digits.size() > 1 && digits[0] == '0' && is_digit(digits[1])) {
    fits_ = false;  // a code, whose zeros a number would lose
    return;
  }
  const std::size_t mark = digits.find_first_not_of("0123456789");
  if (mark == std::string_view::npos) {
    ++(digits.size() < 4 ? small_ : large_);
  } else {
    ++marked_;
    for (const std::string_view kind : {"'", " "}) {
      if (const std::size_t n = mark_at(digits.substr(mark), kind); n > 0 && thousands_.empty())
        thousands_ = digits.substr(mark, n);
    }
  }
  bool any = false;
  for (Candidate& c : candidates_) {
    if (!c.fits) continue;
    const auto value = c.text.parse(digits);
    c.fits = value.has_value();
    if (!value) continue;
    any = true;
    const std::size_t point = digits.find(c.notation.decimal_mark);
    c.has_decimals = c.has_decimals || point != std::string_view::npos;
    c.has_thousands = c.has_thousands || (mark != std::string_view::npos &&
                                          mark_at(digits.substr(mark), c.notation.thousands_mark) > 0);
    std::string behind = "0";
    if (point != std::string_view::npos)
      behind += "." + std::string(digits.substr(point + c.notation.decimal_mark.size()));
    c.grid.look_at(negative ? -*value : *value, behind);
  }
  fits_ = any;
}

std::vector<MarkReading> MarkGuess::readings() const {
  std::vector<MarkReading> out;
  if (!fits_ || !begun_) return out;
  for (const Candidate& c : candidates_) {
    if (!c.fits || c.has_thousands == c.notation.thousands_mark.empty()) continue;
    if (!c.has_decimals && c.notation.decimal_mark != "." && c.notation.thousands_mark != ".") continue;
    if (!c.has_decimals && c.notation.decimal_mark != "," && c.notation.thousands_mark == ".") continue;
    MarkReading reading{c.notation, c.grid, c.has_decimals, c.has_thousands};
    reading.notation.prefix = prefix_;
    reading.notation.suffix = suffix_;
    reading.notation.negative = inside_ ? prefix_ + negative_ + suffix_ : negative_;
    if (!take_codes(reading.notation)) continue;
    if (!thousands_.empty() && !reading.notation.thousands_mark.empty() &&
        mark_at(thousands_, reading.notation.thousands_mark) > 0)
      reading.notation.thousands_mark = thousands_;
    out.push_back(std::move(reading));
  }
  return out;
}

}  // namespace muffle::data
