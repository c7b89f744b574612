#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <iterator>

#include "muffle/core/error.hpp"
#include "muffle/core/text.hpp"
#include "muffle/schema/notation.hpp"
#include "muffle/schema/table.hpp"

namespace muffle::schema {
namespace {

constexpr std::array<std::string_view, 12> kMonths{"January",   "February", "March",    "April",
                                                   "May",       "June",     "July",     "August",
                                                   "September", "October",  "November", "December"};
constexpr std::size_t kShort = 3;
constexpr std::string_view kNumbers = "YymdHIMSf", kUnpadded = "mdHI", kNames = "bB";
constexpr std::int64_t kDay = 86400;

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }
char upper(char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; }

/// Whether the text begins with the word, in capitals or small letters.
bool begins_with(std::string_view text, std::string_view word) {
  return text.size() >= word.size() && std::equal(word.begin(), word.end(), text.begin(),
                                                  [](char a, char b) { return lower(a) == lower(b); });
}

/// Takes `least` to `most` digits off the text.
std::optional<int> take_digits(std::string_view& text, std::size_t least, std::size_t most) {
  std::size_t n = 0;
  int value = 0;
  for (; n < most && n < text.size() && is_digit(text[n]); ++n) value = 10 * value + (text[n] - '0');
  if (n < least) return std::nullopt;
  text.remove_prefix(n);
  return value;
}

/// What the conversions of a field say.
struct Parts {
  int year = 1970, month = 1, day = 1, hour = 0, minute = 0, second = 0;
  bool is_short_year = false;
  std::optional<bool> afternoon;
  double fraction = 0.0;
};

int* number_of(Parts& parts, char what) {
  switch (what) {
    case 'Y':
    case 'y':
      return &parts.year;
    case 'm':
      return &parts.month;
    case 'd':
      return &parts.day;
    case 'H':
    case 'I':
      return &parts.hour;
    case 'M':
      return &parts.minute;
    default:
      return &parts.second;
  }
}

}  // namespace

/// @returns false: a conversion that is none.
bool TimeFormat::tokens_of(std::string_view text, std::vector<Token>& out) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      if (out.empty() || out.back().what != 0) out.push_back({0});
      out.back().text += text[i];
      continue;
    }
    if (++i == text.size()) return false;
    Token token{0};
    if (text[i] == '-' || text[i] == '^' || text[i] == '#') token.flag = text[i++];
    if (i < text.size() && text[i] >= '1' && text[i] <= '9') token.digits = text[i++] - '0';
    if (i == text.size()) return false;
    token.what = text[i];
    const auto among = [&](std::string_view some) { return some.find(token.what) != std::string_view::npos; };
    if (token.what == '%') {
      token.text = '%';
      token.what = 0;
    } else if (!among(kNumbers) && !among(kNames) && !among("pP")) {
      return false;
    }
    if (token.flag == '-' ? !among(kUnpadded) : token.flag != 0 && !among(kNames)) return false;
    if ((token.what == 'f') != (token.digits > 0)) return false;
    out.push_back(std::move(token));
  }
  const auto is_number = [&](std::size_t k) {
    return k < out.size() && out[k].what != 0 && kNumbers.find(out[k].what) != std::string_view::npos;
  };
  for (std::size_t k = 0; k < out.size(); ++k) {
    out[k].fixed = is_number(k + 1) || (k > 0 && is_number(k - 1));
    const bool digits = out[k].what == 0 && (is_digit(out[k].text.front()) || is_digit(out[k].text.back()));
    if (digits && k > 0) out[k - 1].fixed = true;
    if (k + 1 < out.size() && out[k + 1].what == 0 && is_digit(out[k + 1].text.front())) out[k].fixed = true;
    if (k > 0 && out[k - 1].what == 0 && is_digit(out[k - 1].text.back())) out[k].fixed = true;
  }
  return true;
}

TimeFormat::TimeFormat(ColumnType type, std::string_view text) : type_(type) {
  require(tokens_of(text, tokens_), "a format that was not checked");
}

const TimeFormat::Token* TimeFormat::find(char what) const {
  const auto found =
      std::find_if(tokens_.begin(), tokens_.end(), [&](const Token& t) { return t.what == what; });
  return found == tokens_.end() ? nullptr : &*found;
}

std::string TimeFormat::problem(ColumnType type, std::string_view text) {
  std::vector<Token> tokens;
  if (!tokens_of(text, tokens))
    return "it has a conversion that muffle does not know: there are %Y %y %m %d %b %B %H %I %M %S %3f %p %%";
  std::string seen;
  for (const Token& t : tokens) {
    if (t.what == 0) continue;
    char kind = t.what == 'y' ? 'Y' : t.what == 'I' ? 'H' : t.what == 'P' ? 'p' : t.what;
    if (kind == 'b' || kind == 'B') kind = 'm';
    if (seen.find(kind) != std::string::npos) return "it says a part of the date or time twice";
    seen += kind;
    if (t.flag == '-' && t.fixed)
      return "a number without its leading zero needs something between it and the next";
  }
  const auto has = [&](char what) { return seen.find(what) != std::string::npos; };
  const bool date = has('Y') && has('m') && has('d'), any_date = has('Y') || has('m') || has('d');
  if (type == ColumnType::kTime ? any_date : !date)
    return type == ColumnType::kTime ? "a time of day has no year, month or day"
                                     : "it needs a year, a month and a day: %Y, %m, %d";
  const bool any_time = has('H') || has('M') || has('S') || has('f') || has('p');
  if (type == ColumnType::kDate)
    return any_time ? "a date has no time of day: the type would be datetime" : "";
  if (!has('H')) return "it needs an hour: %H";
  if ((has('S') && !has('M')) || (has('f') && !has('S')))
    return "it leaves out what is larger than its smallest part";
  const bool of_twelve =
      text.find("%I") != std::string_view::npos || text.find("%-I") != std::string_view::npos;
  if (of_twelve != has('p')) return "hours of 12 (%I) need %p, AM or PM, and hours of 24 (%H) have none";
  return {};
}

std::optional<double> TimeFormat::parse(std::string_view text, int first_year) const {
  Parts parts;
  for (std::size_t k = 0; k < tokens_.size(); ++k) {
    const Token& token = tokens_[k];
    if (token.what == 0) {
      if (text.starts_with(token.text)) {
        text.remove_prefix(token.text.size());
        continue;
      }
      // A fraction of 0 may be left out, with its mark.
      if (k + 1 == tokens_.size() || tokens_[k + 1].what != 'f') return std::nullopt;
      ++k;
      continue;
    }
    if (token.what == 'p' || token.what == 'P') {
      if (!begins_with(text, "am") && !begins_with(text, "pm")) return std::nullopt;
      parts.afternoon = lower(text[0]) == 'p';
      text.remove_prefix(2);
    } else if (kNames.find(token.what) != std::string_view::npos) {
      const auto name = [&](std::string_view month) {
        return token.what == 'b' ? month.substr(0, kShort) : month;
      };
      const auto month = std::find_if(kMonths.begin(), kMonths.end(),
                                      [&](std::string_view m) { return begins_with(text, name(m)); });
      if (month == kMonths.end()) return std::nullopt;
      parts.month = static_cast<int>(month - kMonths.begin()) + 1;
      text.remove_prefix(name(*month).size());
    } else if (token.what == 'f') {
      double unit = 0.1;
      std::size_t n = 0;
      for (; n < 9 && n < text.size() && is_digit(text[n]); ++n, unit /= 10)
        parts.fraction += unit * (text[n] - '0');
      if (n == 0) return std::nullopt;
      text.remove_prefix(n);
    } else {
      const bool loose = !token.fixed && kUnpadded.find(token.what) != std::string_view::npos;
      const std::size_t digits = token.what == 'Y' ? 4 : 2;
      const auto value = take_digits(text, loose ? 1 : digits, digits);
      if (!value) return std::nullopt;
      *number_of(parts, token.what) = *value;
      parts.is_short_year = parts.is_short_year || token.what == 'y';
    }
  }
  if (!text.empty() || parts.hour > 23 || parts.minute > 59 || parts.second > 59) return std::nullopt;
  if (parts.afternoon) {
    if (parts.hour < 1 || parts.hour > 12) return std::nullopt;
    parts.hour = parts.hour % 12 + (*parts.afternoon ? 12 : 0);
  }
  if (parts.is_short_year) {
    constexpr int kCentury = 100;
    parts.year += (first_year - parts.year + kCentury - 1) / kCentury * kCentury;
  }
  const double time = parts.hour * 3600 + parts.minute * 60 + parts.second + parts.fraction;
  if (type_ == ColumnType::kTime) return time;
  const std::chrono::year_month_day date{std::chrono::year(parts.year),
                                         std::chrono::month(static_cast<unsigned>(parts.month)),
                                         std::chrono::day(static_cast<unsigned>(parts.day))};
  if (!date.ok()) return std::nullopt;
  const auto days = static_cast<double>(std::chrono::sys_days(date).time_since_epoch().count());
  return type_ == ColumnType::kDate ? days : days * kDay + time;
}

void TimeFormat::write(double value, std::string& out) const {
  const auto ticks_a_second = static_cast<std::int64_t>(std::pow(10, fraction()));
  std::int64_t days = 0, ticks = 0;
  if (type_ == ColumnType::kDate) {
    days = static_cast<std::int64_t>(value);
  } else {
    ticks = std::llround(value * static_cast<double>(ticks_a_second));
    const std::int64_t a_day = kDay * ticks_a_second;
    days = ticks >= 0 ? ticks / a_day : -((a_day - 1 - ticks) / a_day);
    ticks -= days * a_day;
  }
  const std::chrono::year_month_day date{std::chrono::sys_days(std::chrono::days(days))};
  const auto seconds = static_cast<int>(ticks / ticks_a_second);
  const int hour = seconds / 3600, year = static_cast<int>(date.year());
  const auto month = static_cast<unsigned>(date.month());
  const auto put = [&](int number, const Token& token, int width = 2) {
    fmt::format_to(std::back_inserter(out), "{:0{}}", number, token.flag == '-' ? 1 : width);
  };
  for (const Token& token : tokens_) {
    switch (token.what) {
      case 0:
        out += token.text;
        break;
      case 'Y':
        put(year, token, 4);
        break;
      case 'y':
        put(year % 100, token);
        break;
      case 'm':
        put(static_cast<int>(month), token);
        break;
      case 'd':
        put(static_cast<int>(static_cast<unsigned>(date.day())), token);
        break;
      case 'b':
      case 'B':
        for (const char c :
             kMonths[month - 1].substr(0, token.what == 'b' ? kShort : kMonths[month - 1].size()))
          out += token.flag == '^' ? upper(c) : token.flag == '#' ? lower(c) : c;
        break;
      case 'H':
        put(hour, token);
        break;
      case 'I':
        put(hour % 12 == 0 ? 12 : hour % 12, token);
        break;
      case 'M':
        put(seconds / 60 % 60, token);
        break;
      case 'S':
        put(seconds % 60, token);
        break;
      case 'f': {
        const std::string digits = fmt::format("{:0{}}", ticks % ticks_a_second, fraction());
        out += digits;
        out.append(static_cast<std::size_t>(token.digits) - digits.size(), '0');
        break;
      }
      default:
        out += token.what == 'p' ? (hour < 12 ? "AM" : "PM") : (hour < 12 ? "am" : "pm");
    }
  }
}

double TimeFormat::resolution() const {
  if (type_ == ColumnType::kDate) return static_cast<double>(kDay);
  if (find('f') != nullptr) return std::pow(10.0, -fraction());
  return find('S') != nullptr ? 1.0 : find('M') != nullptr ? 60.0 : 3600.0;
}

int TimeFormat::fraction() const {
  const Token* const f = find('f');
  return f == nullptr ? 0 : std::min(f->digits, kMostFraction);
}

}  // namespace muffle::schema
