#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace muffle::schema {

enum class ColumnType;

/// How the fields of a column write its numbers, dates or times, where that is not muffle's own way
/// (`-1234.5`, `2021-03-09`). Public: of the schema. Samples are written so, too.
struct Notation {
  std::string format;              ///< of dates and times, see TimeFormat; "": ISO 8601
  std::string decimal_mark = ".";  ///< of numbers, as all that follows
  std::string thousands_mark;      ///< between groups of three digits; "": none
  std::string prefix, suffix;      ///< "$", " %"; with the blanks between it and the number
  std::string negative = "-1";     ///< how minus one is written, see NegativeStyle
  std::string top_code;            ///< how hi is written, which stands for all above: "90+"
  std::string bottom_code;         ///< likewise lo: "<5"

  bool operator==(const Notation&) const = default;
  /// Fields are in muffle's own way, but for codes of the bounds.
  bool is_plain() const;
};

/// Their names in schemas.
inline constexpr std::pair<std::string_view, std::string Notation::*> kNotationFields[] = {
    {"format", &Notation::format},
    {"decimal_mark", &Notation::decimal_mark},
    {"thousands_mark", &Notation::thousands_mark},
    {"prefix", &Notation::prefix},
    {"suffix", &Notation::suffix},
    {"negative", &Notation::negative},
    {"top_code", &Notation::top_code},
    {"bottom_code", &Notation::bottom_code}};

/// A hyphen; Unicode's minus sign; parentheses; a hyphen behind.
inline constexpr std::string_view kNegatives[] = {"-1", "\u22121", "(1)", "1-"};

/// How negative numbers are written: "-1" is -$1, "$-1" is $-1, "(1)%" is (1)%.
struct NegativeStyle {
  std::string_view sign;  ///< one of kNegatives
  bool inside;            ///< it stands next to the digits, within prefix and suffix
};
/// None: Notation::negative says nothing like it.
std::optional<NegativeStyle> negative_style(const Notation& notation);

/// Dates and times by a pattern. Conversions, as strftime's, and no others:
/// - %Y %m %d %H %M %S: year, month, day, hour, minute, second, of 4 and else 2 digits;
/// - %-m %-d %-H %-I: without a leading zero;
/// - %y: the year's last two digits: the year is the one from that of lo on;
/// - %b %B: the month's English name, short and long; %^b %^B in capitals, %#b %#B in small letters;
/// - %I %p %P: hour of 12, and AM or PM; %P: am or pm;
/// - %3f: thousandths of a second; 1 to 9 digits;
/// - %%: %.
/// Own code: date::parse takes too little (no fraction left out) and too much (any number of digits), and has
/// no names in capitals; tests hold it to that library.
/// All else stands for itself. Reading takes a month, day or hour of one digit or two wherever no other
/// number touches it, names in capitals or small letters, and a fraction that is left out where it is 0.
class TimeFormat {
 public:
  /// @param text  without problem()
  TimeFormat(ColumnType type, std::string_view text);

  /// Why it is no format of such a column, for people; empty: it is one.
  static std::string problem(ColumnType type, std::string_view text);

  /// Days or seconds since 1970-01-01, or seconds since midnight. @param first_year  for %y
  std::optional<double> parse(std::string_view text, int first_year) const;
  /// @param value  within the years 1 to 9999
  void write(double value, std::string& out) const;
  /// Seconds between the values that it can write: 86400, 3600, 60, 1, 0.1, ..., 1e-6.
  double resolution() const;
  bool has_short_year() const { return find('y') != nullptr; }
  /// Digits behind the second, at most kMostFraction count.
  int fraction() const;
  static constexpr int kMostFraction = 6;

 private:
  struct Token {
    char what;           ///< a conversion; 0: the text itself
    char flag = 0;       ///< '-', '^' or '#'
    int digits = 0;      ///< of %f
    bool fixed = false;  ///< another number touches it
    std::string text = {};
  };

  static bool tokens_of(std::string_view text, std::vector<Token>& out);
  const Token* find(char what) const;

  ColumnType type_;
  std::vector<Token> tokens_;
};

/// Reads and writes the numbers, dates and times of a column in its notation. Immutable.
class NumberText {
 public:
  /// @param decimals  that are written, @param lo  the column's, for years of two digits
  NumberText(ColumnType type, Notation notation, int decimals, double lo);

  /// None: it is none, codes of the bounds too.
  std::optional<double> parse(std::string_view text) const;
  void write(double value, std::string& out) const;

 private:
  std::optional<double> parse_marked(std::string_view text) const;

  ColumnType type_;
  Notation notation_;
  int decimals_;
  int first_year_;
  std::optional<TimeFormat> format_;
};

/// How many bytes at the text's beginning are the mark: blanks of any width are one mark, and apostrophes
/// too. 0: it does not begin with it.
std::size_t mark_at(std::string_view text, std::string_view mark);

/// A code for "and more" or "and less": "90+", "<5".
struct BoundCode {
  bool top = true;
  bool beyond = false;  ///< the number itself is not meant: "> 90"
  double number = 0.0;
};
/// None: it is none. @param notation  of its number: "$10,000+"
std::optional<BoundCode> bound_code(std::string_view field, const Notation& notation = {});

/// What contradicts itself, for people, of a column of this type; empty: nothing.
std::string notation_problem(ColumnType type, const Notation& notation);

}  // namespace muffle::schema
