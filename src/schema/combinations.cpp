#include "combinations.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string_view>

#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/core/text.hpp"
#include "muffle/schema/plain_text.hpp"
#include "muffle/schema/table_text.hpp"

namespace muffle::schema {
namespace {

constexpr std::size_t kMostBytes = std::size_t{1} << 26;
/// So many values that do not fit are named.
constexpr std::size_t kMostNamed = 5;

/// The lines of a small CSV file (RFC 4180).
class Lines {
 public:
  Lines(std::string_view text, const std::string& name, char separator)
      : rest_(text), name_(name), separator_(separator), ends_{separator, '\n'} {
    constexpr std::string_view kMark = "\uFEFF";
    if (rest_.starts_with(kMark)) rest_.remove_prefix(kMark.size());
  }

  /// Of the line that was read last, for messages.
  std::string where() const { return fmt::format("'{}' line {}", printable(name_), line_); }

  /// The next line's fields; empty lines are passed over. None: the end.
  std::vector<std::string> read() {
    while (!rest_.empty()) {
      line_ = next_++;
      std::vector<std::string> fields(1);
      while (field(fields.back())) fields.emplace_back();
      if (fields.size() > 1 || !fields[0].empty()) return fields;
    }
    return {};
  }

 private:
  /// @returns whether another field of the line follows.
  bool field(std::string& out) {
    const bool in_quotes = rest_.starts_with('"');
    if (in_quotes) quoted(out);
    const std::size_t end = std::min(rest_.find_first_of(ends_), rest_.size());
    if (in_quotes && !trimmed(rest_.substr(0, end)).empty())
      throw ConfigError(fmt::format("{} has text behind a closing quote", where()));
    out = plain_text(out.append(rest_.substr(0, end)));
    const bool more = end < rest_.size() && rest_[end] == separator_;
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    return more;
  }

  void quoted(std::string& out) {
    do {
      rest_.remove_prefix(1);
      const std::size_t end = rest_.find('"');
      if (end == std::string_view::npos)
        throw ConfigError(fmt::format("{} has a quote that is not closed", where()));
      if (!out.empty()) out += '"';
      out += rest_.substr(0, end);
      next_ += static_cast<std::size_t>(std::ranges::count(rest_.substr(0, end), '\n'));
      rest_.remove_prefix(end + 1);
    } while (rest_.starts_with('"'));
  }

  std::string_view rest_;
  const std::string& name_;
  char separator_;
  std::string ends_;
  std::size_t line_ = 0, next_ = 1;
};

std::uint32_t code_of(const ColumnText& text, const std::string& value) {
  const FieldReading reading = text.read(value);
  const Column& column = text.column();
  if (reading.misfit != Misfit::kNone)
    throw ConfigError(fmt::format("\"{}\" is not among the values of column '{}'", printable(value),
                                  printable(column.name)));
  if (reading.cell->code >= column.bins())
    throw ConfigError(
        fmt::format("\"{}\" is a missing value of column '{}', which goes with every value: "
                    "leave it out",
                    printable(value), printable(column.name)));
  return reading.cell->code;
}

}  // namespace

std::vector<NamedPair> read_combinations(const std::filesystem::path& path, const std::string& first,
                                         const std::string& second) {
  const std::string text = read_file(path, kMostBytes), name = path.string();
  for (const char separator : {',', ';', '\t'}) {
    Lines lines(text, name, separator);
    const std::vector<std::string> header = lines.read();
    if (std::ranges::count(header, first) != 1 || std::ranges::count(header, second) != 1) continue;
    const auto a = std::ranges::find(header, first) - header.begin(),
               b = std::ranges::find(header, second) - header.begin();
    std::vector<NamedPair> out;
    for (std::vector<std::string> fields = lines.read(); !fields.empty(); fields = lines.read()) {
      if (fields.size() != header.size())
        throw ConfigError(fmt::format("{} has {} fields, and the first line {}", lines.where(), fields.size(),
                                      header.size()));
      out.push_back(
          {fields[static_cast<std::size_t>(a)], fields[static_cast<std::size_t>(b)], lines.where()});
    }
    return out;
  }
  throw ConfigError(
      fmt::format("the first line of '{}' must name the columns '{}' and '{}', once each, with a "
                  "comma, a semicolon or a tab between them",
                  printable(name), printable(first), printable(second)));
}

std::vector<CodePair> allowed_codes(const std::vector<NamedPair>& pairs, const Column& first,
                                    const Column& second) {
  const ColumnText firsts(first), seconds(second);
  std::vector<CodePair> out;
  std::vector<std::string> wrong;
  for (const NamedPair& pair : pairs) {
    try {
      out.emplace_back(code_of(firsts, pair.first), code_of(seconds, pair.second));
    } catch (const ConfigError& e) {
      wrong.push_back(fmt::format("{}: {}", pair.where, e.what()));
    }
  }
  if (!wrong.empty()) {
    const std::size_t more = wrong.size() - std::min(wrong.size(), kMostNamed);
    wrong.resize(wrong.size() - more);
    throw ConfigError(
        fmt::format("{}{}", fmt::join(wrong, "; "), more > 0 ? fmt::format("; and {} more", more) : ""));
  }
  std::ranges::sort(out);
  const auto twice = std::ranges::unique(out);
  out.erase(twice.begin(), twice.end());
  return out;
}

}  // namespace muffle::schema
