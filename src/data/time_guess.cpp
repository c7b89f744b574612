#include "time_guess.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <map>

namespace muffle::data {
namespace {

using schema::ColumnType;

constexpr double kSecondsADay = 86400.0, kSecondsAnHour = 3600.0, kSecondsAMinute = 60.0;
/// So few times may be whole minutes or hours by chance, and dates the first of a month.
constexpr std::uint64_t kLeastMinutes = 8;
constexpr int kAnyYear = 1950;
/// Formats are made from so many fields: "May" is a short and a long name, a fraction of 0 may be left out.
constexpr std::uint64_t kFieldsWithFormats = 20;
/// So few dates of digits alone are as well numbers.
constexpr std::uint64_t kLeastCompact = 20;

/// A run of digits, of letters, or of what is neither.
struct Run {
  enum class Kind { kDigits, kLetters, kOther } kind;
  std::string text;
  std::size_t size() const { return text.size(); }
  bool is_digits(std::size_t least, std::size_t most) const {
    return kind == Kind::kDigits && size() >= least && size() <= most;
  }
};

std::vector<Run> runs_of(std::string_view text) {
  std::vector<Run> runs;
  for (const char c : text) {
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    const auto kind = c >= '0' && c <= '9' ? Run::Kind::kDigits
                      : letter             ? Run::Kind::kLetters
                                           : Run::Kind::kOther;
    if (runs.empty() || runs.back().kind != kind) runs.push_back({kind, {}});
    runs.back().text += c;
  }
  return runs;
}

std::string lower(std::string text) {
  for (char& c : text) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return text;
}

/// How the name of a month is written: "%b", "%^B", ...; "": it is none.
std::string month_conversion(const Run& run) {
  if (run.kind != Run::Kind::kLetters || run.size() < 3) return {};
  static constexpr std::array<std::string_view, 12> kMonths{"january",   "february", "march",    "april",
                                                            "may",       "june",     "july",     "august",
                                                            "september", "october",  "november", "december"};
  const std::string word = lower(run.text);
  for (const std::string_view month : kMonths) {
    const bool is_short = word == month.substr(0, 3);
    if (!is_short && word != month) continue;
    const char* const flag = run.text == word ? "#" : run.text[1] != word[1] ? "^" : "";
    return std::string("%") + flag + (is_short ? 'b' : 'B');
  }
  return {};
}

bool is_may(const Run& run) { return lower(run.text) == "may"; }

/// The text in a format.
std::string literal(const std::string& text) {
  std::string out;
  for (const char c : text) out += c == '%' ? "%%" : std::string(1, c);
  return out;
}

/// Behind a time: nothing, Z, an offset or a zone's short name.
bool is_zone(const std::string& text) {
  const std::size_t at = std::min(text.find_first_not_of(' '), text.size());
  if (at > 1) return false;
  const std::vector<Run> runs = runs_of(std::string_view(text).substr(at));
  if (runs.empty()) return at == 0;
  static constexpr std::string_view kZones[] = {
      "Uhr",  "h",    "hrs", "Z",   "z",   "UTC", "GMT",  "CET",  "CEST", "MEZ",  "MESZ", "WET", "WEST",
      "EET",  "EEST", "BST", "IST", "MSK", "EST", "EDT",  "CST",  "CDT",  "MST",  "MDT",  "PST", "PDT",
      "AKST", "HST",  "JST", "KST", "HKT", "SGT", "AEST", "AEDT", "ACST", "AWST", "NZST", "NZDT"};
  if (runs.size() == 1)
    return std::find(std::begin(kZones), std::end(kZones), runs[0].text) != std::end(kZones);
  const bool sign = runs[0].text == "+" || runs[0].text == "-";
  return sign && ((runs.size() == 2 && (runs[1].size() == 2 || runs[1].size() == 4)) ||
                  (runs.size() == 4 && runs[1].size() == 2 && runs[2].text == ":" && runs[3].size() == 2));
}

/// What stands between the parts of a date: 2 characters at most, or some like the Chinese for a year.
bool may_part(const Run& run) {
  constexpr std::size_t kAscii = 2, kOthers = 8;
  const auto wide = [](char c) { return static_cast<unsigned char>(c) >= 0x80; };
  const bool any = std::any_of(run.text.begin(), run.text.end(), wide);
  return run.size() <= (any ? kOthers : kAscii) && run.text.find(':') == std::string::npos;
}

/// The rest of the runs as a time of day. @returns formats, unpadded and padded hours; empty: it is none.
std::vector<std::string> time_formats(const std::vector<Run>& runs, std::size_t at) {
  const auto has = [&](std::size_t k, std::size_t least, std::size_t most) {
    return k < runs.size() && runs[k].is_digits(least, most);
  };
  const auto is = [&](std::size_t k, std::string_view text) {
    return k < runs.size() && runs[k].text == text;
  };
  std::string hour = "H", rest;
  if (has(at, 4, 4) || has(at, 6, 6)) {  // behind a date of eight digits
    std::string zone;
    for (std::size_t k = at + 1; k < runs.size(); ++k) zone += runs[k].text;
    if (!is_zone(zone)) return {};
    return {(runs[at].size() == 4 ? "%H%M" : "%H%M%S") + literal(zone)};
  }
  if (!has(at, 1, 2) || !(is(at + 1, ":") || is(at + 1, "h")) || !has(at + 2, 2, 2)) return {};
  rest = runs[at + 1].text + "%M";
  std::size_t k = at + 3;
  if (is(k, ":") && has(k + 1, 2, 2)) {
    rest += ":%S";
    k += 2;
    if ((is(k, ".") || is(k, ",")) && has(k + 1, 1, 9)) {
      rest += runs[k].text + "%" + std::to_string(runs[k + 1].size()) + "f";
      k += 2;
    }
  }
  std::string blank;
  if (k < runs.size() && runs[k].kind == Run::Kind::kOther && k + 1 < runs.size()) blank = runs[k].text;
  if (const std::size_t p = k + (blank.empty() ? 0 : 1); p < runs.size()) {
    const std::string word = lower(runs[p].text);
    if (word == "am" || word == "pm") {
      hour = "I";
      rest += literal(blank) + (word == runs[p].text ? "%P" : "%p");
      k = p + 1;
    }
  }
  std::string zone;
  for (; k < runs.size(); ++k) zone += runs[k].text;
  if (!is_zone(zone)) return {};
  return {"%-" + hour + rest + literal(zone), "%" + hour + rest + literal(zone)};
}

/// The same format with its time as the digits of 0: of these conversions, and fractions of a second.
std::string at_zero(std::string format, std::string_view which) {
  static const std::pair<std::string_view, std::string_view> kDigits[] = {
      {"%-H", "0"}, {"%H", "00"}, {"%-I", "12"}, {"%I", "12"},
      {"%M", "00"}, {"%S", "00"}, {"%p", "AM"},  {"%P", "am"}};
  for (const auto& [conversion, digits] : kDigits) {
    if (which.find(conversion.back()) == std::string_view::npos) continue;
    if (const std::size_t at = format.find(conversion); at != std::string::npos)
      format.replace(at, conversion.size(), digits);
  }
  if (const std::size_t f = format.find('f'); f != std::string::npos && f >= 2 && format[f - 2] == '%')
    format.replace(f - 2, 3, std::string(static_cast<std::size_t>(format[f - 1] - '0'), '0'));
  return format;
}

/// Of a month. @param days  since 1970-01-01
bool is_first(double days) {
  const auto whole = std::chrono::days(static_cast<std::int64_t>(std::floor(days)));
  return std::chrono::year_month_day(std::chrono::sys_days(whole)).day() == std::chrono::day(1);
}

}  // namespace

void TimeGuess::add(ColumnType type, const std::string& order, const std::string& text) {
  const auto same = [&](const Candidate& c) { return c.type == type && c.text == text; };
  if (std::any_of(candidates_.begin(), candidates_.end(), same)) return;
  const auto control = [](char c) { return static_cast<unsigned char>(c) < 0x20; };
  if (std::any_of(text.begin(), text.end(), control) || !schema::TimeFormat::problem(type, text).empty())
    return;
  candidates_.push_back({type, order, text, schema::TimeFormat(type, text), 0, 0, true, true, true, true,
                         true, INFINITY, -INFINITY});
}

void TimeGuess::add_formats_of(std::string_view field) {
  const std::vector<Run> runs = runs_of(field);
  if (!runs.empty() && runs[0].size() <= 2) {
    for (const std::string& time : time_formats(runs, 0)) add(ColumnType::kTime, "", time);
  }
  // What may be year, month and day, in which order, and where the date ends.
  std::vector<std::pair<std::string, std::vector<std::string>>> dates;
  std::size_t end = 0;
  if (runs.size() == 1 && runs[0].is_digits(12, 14) && runs[0].size() != 13) {
    return add(ColumnType::kDatetime, "Ymd", runs[0].size() == 12 ? "%Y%m%d%H%M" : "%Y%m%d%H%M%S");
  }
  if (!runs.empty() && runs[0].is_digits(8, 8)) {
    dates = {{"Ymd", {"%Y%m%d"}}, {"dmY", {"%d%m%Y"}}, {"mdY", {"%m%d%Y"}}};
    end = 1;
  } else if (runs.size() == 1 && runs[0].is_digits(6, 6)) {
    dates = {{"ymd", {"%y%m%d"}}, {"dmy", {"%d%m%y"}}, {"mdy", {"%m%d%y"}}};
    end = 1;
  } else {
    std::array<const Run*, 3> parts{};
    std::array<std::string, 2> between;
    std::size_t n = 0;
    for (; end < runs.size() && n < 3; ++end) {
      if (runs[end].kind != Run::Kind::kOther) {
        parts[n++] = &runs[end];
      } else if (n == 0 || !may_part(runs[end])) {
        return;
      } else {
        between[n - 1] = runs[end].text;
      }
    }
    if (n < 3) return;
    const auto [a, b, c] = parts;
    std::vector<std::string> orders;
    if (const std::string name = month_conversion(*b); !name.empty()) {
      if (a->is_digits(1, 2) && c->is_digits(4, 4)) orders = {"dbY"};
      if (a->is_digits(1, 2) && c->is_digits(2, 2)) orders = {"dby"};
      if (a->is_digits(4, 4) && c->is_digits(1, 2)) orders = {"Ybd"};
    } else if (!month_conversion(*a).empty()) {
      if (b->is_digits(1, 2) && c->is_digits(4, 4)) orders = {"bdY"};
    } else if (a->is_digits(4, 4) && b->is_digits(1, 2) && c->is_digits(1, 2)) {
      orders = {"Ymd"};
    } else if (a->is_digits(1, 2) && b->is_digits(1, 2) && c->is_digits(4, 4)) {
      orders = {"dmY", "mdY"};
    } else if (a->is_digits(1, 2) && b->is_digits(1, 2) && c->is_digits(2, 2)) {
      orders = {"dmy", "mdy", "ymd"};
    }
    for (const std::string& order : orders) {
      std::vector<std::string> formats;
      for (const char* const pad : {"-", ""}) {
        std::string format;
        for (std::size_t i = 0; i < 3; ++i) {
          if (i > 0) format += literal(between[i - 1]);
          if (order[i] == 'b') {
            format += month_conversion(*parts[i]);
          } else {
            format += std::string("%") + (order[i] == 'd' || order[i] == 'm' ? pad : "") + order[i];
          }
        }
        formats.push_back(format);
        // "May" is short and long.
        if (const std::size_t at = format.find('b');
            at != std::string::npos && is_may(*parts[order.find('b')])) {
          format[at] = 'B';
          formats.push_back(format);
        }
      }
      dates.emplace_back(order, std::move(formats));
    }
  }
  // "2013年8月20日" ends with a word of its own.
  const bool last = end + 1 == runs.size() && runs[end].kind == Run::Kind::kOther && runs[end].size() > 2;
  if (end == runs.size() || (last && may_part(runs[end]))) {
    const std::string behind = last ? literal(runs[end].text) : "";
    for (const auto& [order, formats] : dates) {
      for (const std::string& format : formats) add(ColumnType::kDate, order, format + behind);
    }
    return;
  }
  const std::string& gap = runs[end].text;
  if (runs[end].is_digits(1, 9) || (gap.size() > 2 && !may_part(runs[end])) ||
      (runs[end].kind == Run::Kind::kLetters && lower(gap) != "t"))
    return;
  for (const std::string& time : time_formats(runs, end + 1)) {
    for (const auto& [order, formats] : dates) {
      for (const std::string& format : formats)
        add(ColumnType::kDatetime, order, format + literal(gap) + time);
    }
  }
}

void TimeGuess::look_at(std::string_view field) {
  constexpr std::size_t kLongest = 64;
  compact_ = compact_ && field.find_first_not_of("0123456789") == std::string_view::npos;
  ++count_;
  if (field.size() > kLongest) return;
  if (count_ <= kFieldsWithFormats) {
    const std::size_t known = candidates_.size();
    add_formats_of(field);
    for (std::size_t k = known; k < candidates_.size(); ++k) {
      for (const std::string& earlier : early_) try_on(candidates_[k], earlier);
    }
    early_.emplace_back(field);
  }
  for (Candidate& c : candidates_) try_on(c, field);
  std::erase_if(candidates_,
                [&](const Candidate& c) { return c.hits * 2 < count_ && count_ > kFieldsWithFormats; });
}

void TimeGuess::try_on(Candidate& c, std::string_view field) const {
  const auto value = c.format.parse(field, kAnyYear);
  if (!value) return;
  ++c.hits;
  c.lo = std::min(c.lo, *value);
  c.hi = std::max(c.hi, *value);
  c.seconds = c.seconds && *value == std::floor(*value);
  c.minutes = c.minutes && std::fmod(*value, kSecondsAMinute) == 0;
  c.hours = c.hours && std::fmod(*value, kSecondsAnHour) == 0;
  c.firsts = c.firsts && is_first(c.type == ColumnType::kDate ? *value : *value / kSecondsADay);
  c.midnight = c.midnight && std::fmod(*value, kSecondsADay) == 0;
  std::string written;
  c.format.write(*value, written);
  if (written == field) ++c.exact;
}

std::vector<TimeReading> TimeGuess::readings() const {
  std::map<std::string, const Candidate*> best;
  for (const Candidate& c : candidates_) {
    if (c.hits < count_) continue;
    const Candidate*& known = best[c.order];
    if (known == nullptr || c.exact > known->exact ||
        (c.exact == known->exact && c.text.size() < known->text.size()))
      known = &c;
  }
  std::vector<TimeReading> out;
  for (const auto& [order, c] : best) {
    if (compact_) {
      constexpr double k1900 = -25567, k2100 = 47482, kAYear = 366;  // in days
      const double unit = c->type == ColumnType::kDate ? 1 : kSecondsADay;
      if (count_ < kLeastCompact || c->lo < k1900 * unit || c->hi >= k2100 * unit) continue;
      if (c->format.has_short_year() && c->hi - c->lo < kAYear * unit) continue;
    }
    const bool many = count_ >= kLeastMinutes;
    TimeReading reading{c->type, c->text, c->lo, c->hi};
    if (c->type == ColumnType::kDatetime && c->midnight) {
      reading = {ColumnType::kDate, at_zero(c->text, "HIMSpP"), c->lo / kSecondsADay, c->hi / kSecondsADay};
    }
    if (reading.type == ColumnType::kDate) {
      reading.firsts = many && c->firsts;
    } else if (many && c->minutes) {
      reading.format = at_zero(c->text, c->hours ? "MS" : "S");
    } else if (many && c->seconds) {
      reading.format = at_zero(c->text, "");
    }
    const bool own = (reading.type == ColumnType::kDate && reading.format == "%Y-%m-%d") ||
                     (reading.type == ColumnType::kDatetime && reading.format == "%Y-%m-%dT%H:%M:%S") ||
                     (reading.type == ColumnType::kTime && reading.format == "%H:%M:%S");
    if (own) reading.format.clear();
    out.push_back(std::move(reading));
  }
  return out;
}

}  // namespace muffle::data
