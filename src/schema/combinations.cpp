#include "combinations.hpp"

#include <fmt/format.h>

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
constexpr std::size_t kMostLines = 1'000'000;
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

  std::size_t line() const { return line_; }

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

/// What is wrong with the value; empty: it has a code.
std::string problem_of(const ColumnText& text, const FieldReading& reading, const std::string& value) {
  const Column& column = text.column();
  if (reading.misfit != Misfit::kNone)
    return fmt::format("\"{}\" is not among the values of column '{}'", printable(value),
                       printable(column.name));
  if (reading.cell->code < column.bins()) return {};
  return fmt::format(
      "\"{}\" is a missing value of column '{}', which goes with every value: "
      "leave it out",
      printable(value), printable(column.name));
}

std::ptrdiff_t place_of(const std::vector<std::string>& header, const std::string& name) {
  return std::ranges::count(header, name) == 1 ? std::ranges::find(header, name) - header.begin() : -1;
}

}  // namespace

NamedPairs read_combinations(const std::filesystem::path& path, const std::string& first,
                             const std::string& second) {
  const std::string text = read_file(path, kMostBytes), name = path.string();
  for (const char separator : {',', ';', '\t'}) {
    Lines lines(text, name, separator);
    std::vector<std::string> header;
    try {
      header = lines.read();
    } catch (const ConfigError&) {  // quotes end before another separator
      continue;
    }
    const std::ptrdiff_t a = place_of(header, first), b = place_of(header, second);
    if (a < 0 || b < 0) continue;
    NamedPairs out{fmt::format("'{}' line", printable(name)), {}};
    for (std::vector<std::string> fields = lines.read(); !fields.empty(); fields = lines.read()) {
      if (fields.size() != header.size())
        throw ConfigError(fmt::format("{} has {} fields, and the first line {}", lines.where(), fields.size(),
                                      header.size()));
      if (out.pairs.size() == kMostLines)
        throw ConfigError(
            fmt::format("{} is one too many: a list has {} at most, and more than {} different "
                        "combinations are no list",
                        lines.where(), kMostLines, kMostAllowed));
      out.pairs.push_back({std::move(fields[static_cast<std::size_t>(a)]),
                           std::move(fields[static_cast<std::size_t>(b)]), lines.line()});
    }
    return out;
  }
  throw ConfigError(
      fmt::format("the first line of '{}' must name the columns '{}' and '{}', once each, with a "
                  "comma, a semicolon or a tab between them",
                  printable(name), printable(first), printable(second)));
}

std::vector<CodePair> allowed_codes(const NamedPairs& named, const Column& first, const Column& second) {
  const ColumnText firsts(first), seconds(second);
  std::vector<CodePair> out;
  std::string wrong;
  std::size_t count = 0;
  for (const NamedPair& pair : named.pairs) {
    const FieldReading a = firsts.read(pair.first), b = seconds.read(pair.second);
    std::string problem = problem_of(firsts, a, pair.first);
    if (problem.empty()) problem = problem_of(seconds, b, pair.second);
    if (problem.empty()) {
      out.emplace_back(a.cell->code, b.cell->code);
    } else if (++count <= kMostNamed) {
      wrong += fmt::format("{}{} {}: {}", wrong.empty() ? "" : "; ", named.place, pair.line, problem);
    }
  }
  if (count > kMostNamed) wrong += fmt::format("; and {} more", count - kMostNamed);
  if (count > 0) throw ConfigError(wrong);
  std::ranges::sort(out);
  out.erase(std::unique(out.begin(), out.end()), out.end());  // clang 14 cannot read std::ranges::unique
  return out;
}

}  // namespace muffle::schema
