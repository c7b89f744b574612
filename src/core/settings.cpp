#include "muffle/core/settings.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "muffle/core/error.hpp"
#include "muffle/core/text.hpp"

namespace muffle::settings {
namespace {

/// Shortest text that reads back as v, with a point or exponent.
std::string number_literal(double v) {
  std::string text = exact_text(v);
  if (text.find_first_of(".einf") == std::string::npos) text += ".0";
  return text;
}

/// Accepts integers as floats; never the other way round.
std::optional<double> as_number(const Value& v) {
  if (v.kind == Value::Kind::kFloat) return v.number;
  if (v.kind == Value::Kind::kInteger) return static_cast<double>(v.integer);
  return std::nullopt;
}

/// Letters to insert, remove or replace.
std::size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t best =
          std::min({row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1] ? 1 : 0)});
      diagonal = row[j];
      row[j] = best;
    }
  }
  return row[b.size()];
}

}  // namespace

std::string Range::text() const {
  return fmt::format("a number {} {} {} {}", low_itself ? "from" : "above", exact_text(low),
                     low_itself ? "to" : "and at most", exact_text(high));
}

std::string toml_string(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string wanted(const std::string& what, const Value& v) {
  return fmt::format("needs {}, not {}", what, v.shown);
}

void Keys::add(Key key) {
  key.name = section_ + "." + key.name;
  key.stage = stage_;
  keys_.push_back(std::move(key));
}

void Keys::number(const char* key, double& field, Range range, std::string help) {
  add({key, stage_, std::move(help),
       [&field, range](const Value& v) {
         const std::optional<double> x = as_number(v);
         if (!x || !range.has(*x)) return wanted(range.text(), v);
         field = *x;
         return std::string();
       },
       [&field] { return number_literal(field); }});
}

void Keys::optional_number(const char* key, std::optional<double>& field, std::string help,
                           std::optional<Range> range) {
  add({key, stage_, std::move(help),
       [&field, range](const Value& v) {
         const bool none = v.kind == Value::Kind::kString && v.text == "none";
         const std::optional<double> x = as_number(v);
         if (!none && (!x || (range && !range->has(*x))))
           return wanted((range ? range->text() : "a number") + ", or \"none\"", v);
         field = x;
         return std::string();
       },
       [&field] { return field ? number_literal(*field) : std::string("\"none\""); }});
}

void Keys::integer(const char* key, std::int64_t least, std::int64_t most, std::string help,
                   std::function<void(std::int64_t)> set, std::function<std::string()> get) {
  add({key, stage_, std::move(help),
       [least, most, set = std::move(set)](const Value& v) {
         if (v.kind != Value::Kind::kInteger || v.integer < least || v.integer > most)
           return wanted(fmt::format("a whole number from {} to {}", least, most), v);
         set(v.integer);
         return std::string();
       },
       std::move(get)});
}

void Keys::flag(const char* key, bool& field, std::string help) {
  add({key, stage_, std::move(help),
       [&field](const Value& v) {
         if (v.kind != Value::Kind::kBool) return wanted("true or false", v);
         field = v.boolean;
         return std::string();
       },
       [&field] { return std::string(field ? "true" : "false"); }});
}

void Keys::text(const char* key, std::string& field, std::string help) {
  add({key, stage_, std::move(help),
       [&field](const Value& v) {
         if (v.kind != Value::Kind::kString) return wanted("a string in quotes", v);
         field = v.text;
         return std::string();
       },
       [&field] { return toml_string(field); }});
}

void Keys::sizes(const char* key, std::vector<std::size_t>& field, std::string help) {
  add({key, stage_, std::move(help),
       [&field](const Value& v) {
         std::vector<std::size_t> out;
         bool good = v.kind == Value::Kind::kArray;
         for (const Value& item : v.items) {
           good =
               good && item.kind == Value::Kind::kInteger && item.integer >= 1 && item.integer <= (1 << 24);
           out.push_back(static_cast<std::size_t>(item.integer));
         }
         if (!good) return wanted("an array of positive whole numbers such as [200, 500]", v);
         field = out;
         return std::string();
       },
       [&field] { return fmt::format("[{}]", fmt::join(field, ", ")); }});
}

void Keys::names(const char* key, std::vector<std::string>& field, std::vector<std::string> known,
                 std::string help) {
  const std::string listed = fmt::format("{}", fmt::join(known, ", "));
  add({key, stage_, std::move(help) + " (of " + listed + ")",
       [&field, known = std::move(known), listed](const Value& v) {
         std::vector<std::string> out;
         bool good = v.kind == Value::Kind::kArray;
         for (const Value& item : v.items) {
           good = good && item.kind == Value::Kind::kString &&
                  std::find(known.begin(), known.end(), item.text) != known.end() &&
                  std::find(out.begin(), out.end(), item.text) == out.end();
           out.push_back(item.text);
         }
         if (!good) return wanted("an array of different names out of " + listed, v);
         field = out;
         return std::string();
       },
       [&field] {
         std::vector<std::string> out;
         for (const std::string& item : field) out.push_back(toml_string(item));
         return fmt::format("[{}]", fmt::join(out, ", "));
       }});
}

void Keys::texts(const char* key, std::vector<std::string>& field, std::string example, std::string help,
                 std::function<std::string(const std::string&)> wrong) {
  add({key, stage_, std::move(help),
       [&field, example = std::move(example), wrong = std::move(wrong)](const Value& v) {
         std::vector<std::string> out;
         bool good = v.kind == Value::Kind::kArray;
         for (const Value& item : v.items) {
           good = good && item.kind == Value::Kind::kString && !item.text.empty() &&
                  std::find(out.begin(), out.end(), item.text) == out.end();
           out.push_back(item.text);
         }
         if (!good) return wanted("an array of different texts such as " + example, v);
         for (const std::string& item : out) {
           if (const std::string problem = wrong ? wrong(item) : ""; !problem.empty())
             return fmt::format("needs texts such as {}, and {} {}", example, toml_string(item), problem);
         }
         field = out;
         return std::string();
       },
       [&field] {
         std::vector<std::string> out;
         for (const std::string& item : field) out.push_back(toml_string(item));
         return fmt::format("[{}]", fmt::join(out, ", "));
       }});
}

void Keys::word(const char* key, const std::vector<std::string>& words, std::string help,
                std::function<void(const std::string&)> set, std::function<std::string()> get) {
  std::vector<std::string> quoted;
  for (const std::string& w : words) quoted.push_back(toml_string(w));
  const std::string listed = fmt::format("{}", fmt::join(quoted, ", "));
  add({key, stage_, std::move(help) + " (" + listed + ")",
       [words, listed, set = std::move(set)](const Value& v) {
         if (v.kind != Value::Kind::kString || std::ranges::find(words, v.text) == words.end())
           return wanted("one of " + listed, v);
         set(v.text);
         return std::string();
       },
       [get = std::move(get)] { return toml_string(get()); }});
}

std::string nearest(const std::string& name, const std::vector<std::string>& names) {
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(3, name.size() / 3);
  const auto leaf = [](const std::string& n) { return n.substr(n.rfind('.') + 1); };
  for (const std::string& candidate : names) {
    // A right key in the wrong section is as near as a slip of one letter.
    const std::size_t d = leaf(candidate) == leaf(name) ? 1 : edit_distance(name, candidate);
    if (d < best_distance) {
      best_distance = d;
      best = candidate;
    }
  }
  return best;
}

void Problems::unless_in(const Range& range, const std::string& what, double value) {
  unless(range.has(value), fmt::format("{} is {}, not {}", what, exact_text(value), range.text()));
}

void Problems::throw_if_any(const std::string& what, const std::string& after, std::source_location where) {
  if (!empty()) throw ConfigError(fmt::format("{}: {}{}", what, fmt::join(take(), "; "), after), {}, where);
}

bool Problems::check(const std::string& before, const std::function<void()>& check) {
  try {
    check();
    return true;
  } catch (const Error& e) {
    if (e.code() != ExitCode::kConfig && e.code() != ExitCode::kData) throw;
    std::string text = before + e.what();
    while (text.ends_with('.')) text.pop_back();
    list_.push_back(std::move(text));
    return false;
  }
}

}  // namespace muffle::settings
