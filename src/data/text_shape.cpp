#include "text_shape.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "muffle/schema/plain_text.hpp"

namespace muffle::data {
namespace {

constexpr std::size_t kLongestField = 64, kMostLetters = 12, kMostOfNames = 20;

/// A run of digits, of letters, or of what is neither.
struct Stretch {
  char kind;  ///< d, a, or 0: neither
  std::string text;
  bool digits(std::size_t least, std::size_t most) const {
    return kind == 'd' && text.size() >= least && text.size() <= most;
  }
  bool is_year() const { return digits(4, 4) && text >= "1800" && text < "2200"; }
};

/// In small letters.
std::vector<Stretch> stretches_of(std::string_view field) {
  std::vector<Stretch> runs;
  for (char c : field) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    const char kind = c >= '0' && c <= '9' ? 'd' : c >= 'a' && c <= 'z' ? 'a' : '\0';
    if (runs.empty() || runs.back().kind != kind) runs.push_back({kind, {}});
    runs.back().text += c;
  }
  return runs;
}

template <std::size_t N>
bool is_one_of(const std::array<std::string_view, N>& all, std::string_view text) {
  return std::find(all.begin(), all.end(), text) != all.end();
}

/// A month or a weekday, in English.
bool is_day_or_month(std::string_view word) {
  static constexpr std::array<std::string_view, 19> kNames{
      "january",   "february",  "march",   "april",    "may",      "june",   "july",
      "august",    "september", "october", "november", "december", "monday", "tuesday",
      "wednesday", "thursday",  "friday",  "saturday", "sunday"};
  return word == "sept" || std::any_of(kNames.begin(), kNames.end(), [&](std::string_view name) {
           return word == name || word == name.substr(0, 3);
         });
}

/// "2020Q1", "2001-W25", "2020M01", "Q1 2020", "KW 25/2001", "FY2020", "2020-05", "05/2020", "Jan-20",
/// "5-Oct": a part of a year.
bool is_part_of_year(const std::vector<Stretch>& runs) {
  static constexpr std::array<std::string_view, 14> kParts{
      "q", "w", "m", "h", "s", "t", "kw", "cw", "wk", "week", "quarter", "quartal", "trim", "sem"};
  std::vector<const Stretch*> parts;
  std::string between;
  for (const Stretch& run : runs) {
    if (run.kind != 0) {
      parts.push_back(&run);
    } else if (run.text.size() > 2) {
      return false;
    } else {
      between += run.text;
    }
  }
  const auto is_number = [&](std::size_t k) { return parts[k]->digits(1, 2); };
  const auto is_part = [&](std::size_t k) { return is_one_of(kParts, parts[k]->text); };
  if (parts.size() == 2) {
    if (parts[0]->text == "fy" || parts[0]->text == "cy") return parts[1]->is_year() || is_number(1);
    if (is_day_or_month(parts[0]->text)) return parts[1]->is_year() || is_number(1);
    if (is_day_or_month(parts[1]->text)) return parts[0]->is_year() || is_number(0);
    const bool marked = between == "-" || between == "/" || between == ".";
    return marked && ((parts[0]->is_year() && is_number(1)) || (parts[1]->is_year() && is_number(0)));
  }
  if (parts.size() != 3) return false;
  return (parts[0]->is_year() && is_part(1) && is_number(2)) ||
         (is_part(0) && is_number(1) && parts[2]->is_year()) ||
         (is_number(0) && is_part(1) && parts[2]->is_year());
}

/// "22:30", "1:02:03.5".
bool is_time(const std::vector<Stretch>& runs) {
  return runs.size() >= 3 && runs[0].digits(1, 2) && runs[1].text == ":" && runs[2].digits(2, 2) &&
         (runs.size() == 3 || runs[3].kind != 'a');
}

/// "3h05m", "1 day 4 hrs", "PT3H5M".
bool is_duration(const std::vector<Stretch>& runs) {
  static constexpr std::array<std::string_view, 24> kUnits{
      "s",   "sec",  "secs",  "second", "seconds", "m",    "min", "mins", "minute", "minutes", "h",  "hr",
      "hrs", "hour", "hours", "d",      "day",     "days", "w",   "week", "weeks",  "y",       "yr", "mo"};
  std::size_t at = 0, pairs = 0;
  const bool iso = !runs.empty() && (runs[0].text == "p" || runs[0].text == "pt");
  if (iso) ++at;
  for (; at < runs.size(); ++at) {
    if (runs[at].kind == 0 && runs[at].text == " ") continue;
    if (iso && runs[at].text == "t") continue;
    if (runs[at].kind != 'd') return false;
    if (at + 1 < runs.size() && runs[at + 1].text == " ") ++at;
    if (++at == runs.size()) return false;
    std::string unit = runs[at].text;
    if (iso && unit.size() == 2 && unit[1] == 't') unit.pop_back();
    if (!is_one_of(kUnits, unit)) return false;
    ++pairs;
  }
  return pairs >= (iso ? 1U : 2U);
}

/// Two marks between digits; or a day and a year in a text of words, "Montag, 3. Juni 2019".
bool is_date(const std::vector<Stretch>& runs, std::size_t digits, std::size_t letters) {
  const bool named = runs[0].kind == 'a' && is_day_or_month(runs[0].text);
  std::size_t marks = 0;
  bool year = false, day = false, blank = false;
  for (const Stretch& run : runs) {
    if (run.kind == 0)
      marks += static_cast<std::size_t>(std::count_if(
          run.text.begin(), run.text.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; }));
    year = year || run.is_year();
    day = day || run.digits(1, 2);
    blank = blank || (run.kind == 0 && run.text.find(' ') != std::string::npos);
  }
  if (runs[0].kind == 'a' && !named) return year && day && blank;
  if (named) return marks >= 1 && digits >= 4;
  return marks >= 2 && digits >= 4 && letters <= std::min(kMostLetters, digits + 4);
}

/// Letters stand behind a number, if at all; before it they make a code or a name, unless they are short, as
/// in "Rs 500" and "ca. 5".
bool is_number(const std::vector<Stretch>& runs, std::size_t digits, std::size_t letters,
               std::size_t field_size) {
  constexpr std::size_t kShort = 3;
  if (digits == field_size || letters > kMostLetters) return false;
  const auto is_letters = [](const Stretch& run) { return run.kind == 'a'; };
  const auto is_digits = [](const Stretch& run) { return run.kind == 'd'; };
  const auto first = std::find_if(runs.begin(), runs.end(), is_digits);
  const auto last = std::find_if(runs.rbegin(), runs.rend(), is_digits).base();
  if (std::any_of(first, last, is_letters)) return false;
  const auto before = std::find_if(runs.begin(), first, is_letters);
  if (before == first) return true;
  if (std::any_of(last, runs.end(), is_letters) || before + 2 != first) return false;
  const std::string& between = (before + 1)->text;
  return between[0] == '.' || (between == " " && before->text.size() <= kShort);
}

std::string form_of(std::string_view field) {
  std::string form;
  for (const char c : field) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x80 && byte < 0xC0) continue;  // within a character
    const bool digit = c >= '0' && c <= '9', letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    form += digit ? 'd' : letter ? 'a' : byte >= 0x20 && byte < 0x7F ? c : 'u';
  }
  return form;
}

}  // namespace

TextShape shape_of(std::string_view field) {
  using enum TextShape::Kind;
  if (field.empty() || field.size() > kLongestField) return {};
  if (schema::has_digits_of_other_scripts(field)) return {kDate, form_of(field)};
  const std::vector<Stretch> runs = stretches_of(field);
  std::size_t digits = 0, letters = 0;
  for (const Stretch& run : runs) (run.kind == 'd' ? digits : letters) += run.kind == 0 ? 0 : run.text.size();
  if (digits == 0 || letters > kMostOfNames) return {};
  if (is_part_of_year(runs) || is_time(runs) || is_duration(runs) || is_date(runs, digits, letters))
    return {kDate, form_of(field)};
  return {is_number(runs, digits, letters, field.size()) ? kNumber : kText, form_of(field)};
}

}  // namespace muffle::data
