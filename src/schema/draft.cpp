#include "muffle/schema/draft.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "draft_keys.hpp"
#include "muffle/core/settings.hpp"
#include "muffle/core/text.hpp"
#include "muffle/schema/table_text.hpp"
#include "muffle/schema/table_toml.hpp"

namespace muffle::schema {
namespace {

std::string list_literal(const std::vector<std::string>& texts) {
  std::vector<std::string> quoted;
  for (const std::string& text : texts) quoted.push_back(settings::toml_string(text));
  return fmt::format("[{}]", fmt::join(quoted, ", "));
}

/// "key = VALUE", or the placeholder and what belongs there.
std::string line_of(std::string_view key, const std::optional<std::string>& value, std::string_view wanted) {
  return value ? fmt::format("{} = {}\n", key, *value)
               : fmt::format("{} = \"{}\"  # {}\n", key, kFillIn, wanted);
}

/// What the fields of columns that nothing tells apart have in common is written, the rest is for people.
std::string notation_toml(const DraftColumn& c) {
  std::string out;
  const Notation own;
  const auto differs = [&](std::string Notation::*field) {
    return std::any_of(c.choices.begin(), c.choices.end(),
                       [&](const DraftColumn& other) { return other.notation.*field != c.notation.*field; });
  };
  bool asked = false;
  for (const auto& [key, field] : kNotationFields) {
    if (differs(field)) {
      if (!asked) out += line_of(key, std::nullopt, "nothing tells which: " + choices_text(c));
      asked = true;
      continue;
    }
    const std::string& text = c.notation.*field;
    if (text == own.*field) continue;
    out += line_of(key, text == kFillIn ? std::nullopt : std::optional(settings::toml_string(text)),
                   key == "top_code" ? "how hi is written, which stands for all above, such as \"90+\""
                                     : "how lo is written, which stands for all below, such as \"<5\"");
  }
  return out;
}

std::string column_toml(const DraftColumn& c) {
  std::string out = "\n[[columns]]\n";
  if (!c.note.empty()) out += "# " + c.note + "\n";
  out += fmt::format("name = {}\ntype = \"{}\"{}\n", settings::toml_string(c.name), type_name(c.type),
                     c.guessed ? "  # a guess" : "");
  if (c.role != ColumnRole::kFeature)
    out += fmt::format("role = \"{}\"\n", kRoleNames[static_cast<int>(c.role)]);
  if (has_bounds(c)) {
    out += notation_toml(c);
    Column format;
    format.type = c.type;
    format.decimals = c.type == ColumnType::kDecimal ? c.decimals.value_or(6) : 0;
    const auto literal = [&](const std::optional<double>& bound) -> std::optional<std::string> {
      if (!bound) return std::nullopt;
      std::string text;
      write_number(format, *bound, text);
      return text;
    };
    if (c.type == ColumnType::kDecimal) {
      out += line_of("decimals", c.decimals ? std::optional(std::to_string(*c.decimals)) : std::nullopt,
                     "places after the point");
    }
    if (c.step) out += fmt::format("step = {}\n", exact_text(*c.step));
    out += line_of("lo", literal(c.lo), "the least value that there can be");
    out += line_of("hi", literal(c.hi), "the largest value that there can be");
  }
  if (has_values(c)) {
    out += line_of("values", c.values ? std::optional(list_literal(*c.values)) : std::nullopt,
                   c.type == ColumnType::kBoolean   ? "[\"no\", \"yes\"]: the false one first"
                   : c.type == ColumnType::kOrdinal ? "all categories, in their order: [\"low\", \"high\"]"
                                                    : "all categories: [\"a\", \"b\"]");
  }
  if (may_lack_values(c)) {
    std::optional<std::string> spellings;
    if (c.missing) spellings = c.missing->empty() ? "false" : list_literal(*c.missing);
    out += line_of("missing", spellings, "false, or how a missing value is spelt: [\"\", \"NA\"]");
  }
  return out;
}

}  // namespace

std::string notation_text(const DraftColumn& c) {
  std::string out;
  const Notation own;
  for (const auto& [key, field] : kNotationFields) {
    const std::string& text = c.notation.*field;
    if (text == own.*field) continue;
    out += fmt::format("{}{} = {}", out.empty() ? "" : ", ", key, settings::toml_string(text));
  }
  return out;
}

std::string choices_text(const DraftColumn& c) {
  std::vector<std::string> all;
  for (const DraftColumn& choice : c.choices) {
    const std::string notation = notation_text(choice);
    all.push_back(fmt::format(
        "{}{}{}", choice.type == c.type ? "" : fmt::format("type = \"{}\"", type_name(choice.type)),
        choice.type == c.type || notation.empty() ? "" : ", ", notation));
    if (all.back().empty()) all.back() = "decimal_mark = \".\"";
  }
  return fmt::format("{}", fmt::join(all, ", or "));
}

bool DraftColumn::is_open() const {
  const auto open_text = [&](const auto& key) { return notation.*key.second == kFillIn; };
  return !choices.empty() ||
         (has_bounds(*this) &&
          (!lo || !hi || (type == ColumnType::kDecimal && !decimals) ||
           std::any_of(std::begin(kNotationFields), std::end(kNotationFields), open_text))) ||
         (has_values(*this) && !values) || (may_lack_values(*this) && !missing);
}

std::string draft_toml(std::span<const DraftColumn> columns, std::string_view comment) {
  std::string out;
  for (std::size_t at = 0; at < comment.size();) {
    const std::size_t end = std::min(comment.find('\n', at), comment.size());
    out += fmt::format("# {}\n", comment.substr(at, end - at));
    at = end + 1;
  }
  for (const DraftColumn& c : columns) out += column_toml(c);
  return out;
}

}  // namespace muffle::schema
