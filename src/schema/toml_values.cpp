#include "toml_values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "muffle/core/settings.hpp"
#include "muffle/core/text.hpp"
#include "muffle/schema/plain_text.hpp"
#include "muffle/schema/table_text.hpp"
#include "muffle/schema/table_toml.hpp"

namespace muffle::schema {

void TomlValues::add(std::size_t at, const std::string& what) {
  problems_.push_back(fmt::format("line {}: {}", at, what));
}

void TomlValues::keys(const toml::table& table, const std::vector<std::string>& known,
                      const std::string& of) {
  for (const auto& [key, value] : table) {
    const std::string name(key.str());
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    const std::string near = settings::nearest(name, known);
    add(line(value), fmt::format("{} has no key '{}'{}", of, printable(name),
                                 near.empty() ? "" : "; did you mean '" + near + "'"));
  }
}

std::string TomlValues::text(const toml::table& table, const char* key, const std::string& of, bool needed) {
  const toml::node* node = table.get(key);
  if (node == nullptr) {
    if (needed) add(line(table), fmt::format("{} needs '{}'", of, key));
    return {};
  }
  const auto value = node->value<std::string>();
  if (!node->is_string()) add(line(*node), fmt::format("{}: {} needs a text in quotes", of, key));
  if (value && *value == kFillIn) fill_in(*node, key, of);
  return node->is_string() ? *value : std::string();
}

void TomlValues::fill_in(const toml::node& node, const std::string& key, const std::string& of) {
  add(line(node), fmt::format("{}: '{}' is still \"{}\"", of, key, kFillIn));
  open_ = true;
}

std::optional<double> TomlValues::number(const toml::node& node, ColumnType type, const std::string& key,
                                         const std::string& of) {
  if (const auto* s = node.as_string()) {
    if (s->get() == kFillIn) {
      fill_in(node, key, of);
      return std::nullopt;
    }
    if (const auto value = is_temporal_type(type) ? parse_bound(type, s->get()) : std::nullopt) return value;
  }
  if (const auto* d = node.as_date(); d != nullptr && type == ColumnType::kDate) {
    const toml::date& v = d->get();
    return parse_number(type, fmt::format("{:04}-{:02}-{:02}", static_cast<int>(v.year),
                                          static_cast<int>(v.month), static_cast<int>(v.day)));
  }
  if (const auto* t = node.as_date_time(); t != nullptr && type == ColumnType::kDatetime) {
    const toml::date_time& v = t->get();
    return parse_bound(type,
                       fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:09}", static_cast<int>(v.date.year),
                                   static_cast<int>(v.date.month), static_cast<int>(v.date.day),
                                   static_cast<int>(v.time.hour), static_cast<int>(v.time.minute),
                                   static_cast<int>(v.time.second), v.time.nanosecond));
  }
  if (const auto* t = node.as_time(); t != nullptr && type == ColumnType::kTime) {
    const toml::time& v = t->get();
    return v.hour * 3600.0 + v.minute * 60.0 + v.second + v.nanosecond * 1e-9;
  }
  if (node.is_number() && !is_temporal_type(type)) {
    const auto value = node.value<double>();  // none: a double would be another number
    if (!value) {
      add(line(node), fmt::format("{}: {} has more digits than muffle counts exactly: whole numbers lie "
                                  "within 2^52 (4503599627370496) of 0",
                                  of, key));
    }
    return value;
  }
  add(line(node), fmt::format("{}: {} needs {}", of, key,
                              type == ColumnType::kDate       ? "a date, YYYY-MM-DD"
                              : type == ColumnType::kDatetime ? "a date and time, YYYY-MM-DDThh:mm:ss"
                              : type == ColumnType::kTime     ? "a time of day, hh:mm:ss"
                                                              : "a number"));
  return std::nullopt;
}

std::vector<std::string> TomlValues::texts(const toml::node& node, const std::string& key,
                                           const std::string& of) {
  std::vector<std::string> out;
  const toml::array* list = node.as_array();
  if (list == nullptr) {
    if (const auto* s = node.as_string(); s != nullptr && s->get() == kFillIn) {
      fill_in(node, key, of);
    } else {
      add(line(node), fmt::format("{}: {} needs a list of texts in quotes", of, key));
    }
    return out;
  }
  for (const toml::node& item : *list) {
    if (const auto* s = item.as_string()) {
      if (s->get() == kFillIn) fill_in(item, key, of);
      out.push_back(plain_text(s->get()));
    } else if (const auto* i = item.as_integer()) {
      out.push_back(std::to_string(i->get()));
    } else {
      add(line(item), fmt::format("{}: {} needs texts in quotes", of, key));
    }
  }
  return out;
}

std::optional<double> parse_bound(ColumnType type, std::string_view text) {
  const std::size_t point = text.find('.');
  if (!is_temporal_type(type) || type == ColumnType::kDate) return parse_number(type, text);
  if (point == std::string_view::npos) {
    const auto value = parse_number(type, text);
    return value ? value : parse_number(type, std::string(text) + ":00");
  }
  const std::string fraction = "0" + std::string(trimmed(text.substr(point)));
  if (fraction.find_first_not_of("0123456789", 2) != std::string::npos) return std::nullopt;
  const auto value = parse_number(type, text.substr(0, point)),
             behind = parse_number(ColumnType::kDecimal, fraction);
  return value && behind ? std::optional(*value + *behind) : std::nullopt;
}

}  // namespace muffle::schema
