#include <algorithm>
#include <iterator>

#include "muffle/core/text.hpp"
#include "muffle/schema/notation.hpp"
#include "muffle/schema/plain_text.hpp"
#include "muffle/schema/table_text.hpp"

namespace muffle::schema {
namespace {

struct CodeWords {
  std::string_view before, after;
  bool top, beyond;
};
constexpr CodeWords kCodes[] = {{"", "+", true, false},
                                {">=", "", true, false},
                                {"\u2265", "", true, false},
                                {">", "", true, true},
                                {"", "and over", true, false},
                                {"", "or over", true, false},
                                {"", "and above", true, false},
                                {"", "or above", true, false},
                                {"", "and older", true, false},
                                {"", "or older", true, false},
                                {"", "and more", true, false},
                                {"", "or more", true, false},
                                {"", "and up", true, false},
                                {"", "or higher", true, false},
                                {"", "and higher", true, false},
                                {"", "or greater", true, false},
                                {"", "years and over", true, false},
                                {"", "years or over", true, false},
                                {"", "years and above", true, false},
                                {"", "years and older", true, false},
                                {"", "years or older", true, false},
                                {"", "plus", true, false},
                                {"over", "", true, true},
                                {"above", "", true, true},
                                {"more than", "", true, true},
                                {"at least", "", true, false},
                                {"ab", "", true, false},
                                {"\u00FCber", "", true, true},
                                {"mehr als", "", true, true},
                                {"", "und mehr", true, false},
                                {"", "oder mehr", true, false},
                                {"", "oder \u00E4lter", true, false},
                                {"", "und \u00E4lter", true, false},
                                {"", "et plus", true, false},
                                {"", "ou plus", true, false},
                                {"", "y m\u00E1s", true, false},
                                {"", "o m\u00E1s", true, false},
                                {"", "e pi\u00F9", true, false},
                                {"", "o pi\u00F9", true, false},
                                {"", "of meer", true, false},
                                {"", "en meer", true, false},
                                {"<", "", false, true},
                                {"<=", "", false, false},
                                {"\u2264", "", false, false},
                                {"under", "", false, true},
                                {"below", "", false, true},
                                {"less than", "", false, true},
                                {"fewer than", "", false, true},
                                {"up to", "", false, false},
                                {"at most", "", false, false},
                                {"", "and under", false, false},
                                {"", "or under", false, false},
                                {"", "or less", false, false},
                                {"", "or lower", false, false},
                                {"", "or fewer", false, false},
                                {"", "and less", false, false},
                                {"", "or younger", false, false},
                                {"", "and younger", false, false},
                                {"", "and below", false, false},
                                {"unter", "", false, true},
                                {"weniger als", "", false, true},
                                {"bis", "", false, false},
                                {"", "-", false, false},
                                {"", "et moins", false, false}};

}  // namespace

std::optional<BoundCode> bound_code(std::string_view field, const Notation& notation) {
  const auto first = std::find_if(field.begin(), field.end(), is_digit);
  const auto last = std::find_if(field.rbegin(), field.rend(), is_digit).base();
  if (first == field.end()) return std::nullopt;
  const std::string_view number(&*first, static_cast<std::size_t>(last - first));
  Notation marks;
  marks.decimal_mark = notation.decimal_mark;
  marks.thousands_mark = notation.thousands_mark;
  const auto value = NumberText(ColumnType::kDecimal, marks, 0, 0).parse(number);
  if (!value || number.find_first_of("eE") != std::string_view::npos) return std::nullopt;
  // The code's words stand around prefix and suffix, or between them and the number.
  const auto word_of = [](std::string_view text, const std::string& affix) {
    text = trimmed(text);
    const std::string_view known = trimmed(affix);
    if (!known.empty() && text.ends_with(known)) {
      text.remove_suffix(known.size());
    } else if (!known.empty() && text.starts_with(known)) {
      text.remove_prefix(known.size());
    }
    return caseless(text);
  };
  const std::string before =
      word_of(field.substr(0, static_cast<std::size_t>(first - field.begin())), notation.prefix);
  const std::string after =
      word_of(field.substr(static_cast<std::size_t>(last - field.begin())), notation.suffix);
  if (before.empty() && after.empty()) return std::nullopt;
  // "65 & over".
  const std::string spelt = after.starts_with("& ") ? "and" + after.substr(1) : after;
  for (const CodeWords& words : kCodes) {
    if (before == words.before && spelt == words.after) return BoundCode{words.top, words.beyond, *value};
  }
  return std::nullopt;
}

}  // namespace muffle::schema
