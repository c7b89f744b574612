#pragma once

#include <cctype>
#include <string>
#include <vector>

namespace muffle::test {

/// The numbers with a decimal point in `text` that have more digits than a score on real records may have:
/// so many decimals of a share, or else so many significant digits.
inline std::vector<std::string> unrounded(const std::string& text, std::size_t most_decimals = 4,
                                          std::size_t most_digits = 3) {
  const auto is_digit = [](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; };
  std::vector<std::string> found;
  for (std::size_t dot = text.find('.'); dot != std::string::npos; dot = text.find('.', dot + 1)) {
    std::size_t begin = dot, end = dot + 1;
    while (begin > 0 && is_digit(text[begin - 1])) --begin;
    while (end < text.size() && is_digit(text[end])) ++end;
    if (end == dot + 1) continue;  // of a sentence
    std::string digits = text.substr(begin, end - begin);
    std::erase(digits, '.');
    digits.erase(0, digits.find_first_not_of('0'));
    const std::size_t before = digits.size();
    digits.erase(digits.find_last_not_of('0') + 1);
    const std::size_t decimals = end - dot - 1 - (before - digits.size());
    const bool share = dot == begin + 1 && text[begin] == '0';
    if (digits.size() > most_digits && (!share || decimals > most_decimals))
      found.push_back(text.substr(begin, end - begin));
  }
  return found;
}

}  // namespace muffle::test
