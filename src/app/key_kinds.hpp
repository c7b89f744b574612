#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "config_keys.hpp"
#include "muffle/core/float_text.hpp"

/// The kinds of keys: each function makes a Key that reads and writes one field of a Config. `access` maps a
/// Config to the field (MUFFLE_FIELD).
namespace muffle::app {

using settings::as_number;
using settings::number_literal;
using settings::Range;
using settings::toml_string;
using settings::wanted;

template <class Access>
Key number(std::string name, Stage stage, std::string help, Range range, Access access) {
  return {std::move(name), stage, std::move(help),
          [access, range](Config& c, const Value& v) {
            double x = 0;
            if (!as_number(v, x) || !range.has(x)) return wanted(range.text().c_str(), v);
            access(c) = x;
            return std::string();
          },
          [access](const Config& c) { return number_literal(access(const_cast<Config&>(c))); }};
}

template <class Access>
Key optional_number(std::string name, Stage stage, std::string help, Access access) {
  return {std::move(name), stage, std::move(help),
          [access](Config& c, const Value& v) {
            double x = 0;
            if (v.kind == Value::Kind::kString && v.text == "none") {
              access(c) = std::nullopt;
              return std::string();
            }
            if (!as_number(v, x)) return wanted("a number, or \"none\"", v);
            access(c) = x;
            return std::string();
          },
          [access](const Config& c) {
            const auto& x = access(const_cast<Config&>(c));
            return x ? number_literal(*x) : std::string("\"none\"");
          }};
}

template <class Access>
Key count(std::string name, Stage stage, std::string help, std::int64_t least, std::int64_t most,
          Access access) {
  return {std::move(name), stage, std::move(help),
          [access, least, most](Config& c, const Value& v) {
            if (v.kind != Value::Kind::kInteger || v.integer < least || v.integer > most) {
              return wanted(fmt::format("a whole number from {} to {}", least, most).c_str(), v);
            }
            auto& target = access(c);
            target = static_cast<std::remove_reference_t<decltype(target)>>(v.integer);
            return std::string();
          },
          [access](const Config& c) { return std::to_string(access(const_cast<Config&>(c))); }};
}

template <class Access>
Key flag(std::string name, Stage stage, std::string help, Access access) {
  return {
      std::move(name), stage, std::move(help),
      [access](Config& c, const Value& v) {
        if (v.kind != Value::Kind::kBool) return wanted("true or false", v);
        access(c) = v.boolean;
        return std::string();
      },
      [access](const Config& c) { return std::string(access(const_cast<Config&>(c)) ? "true" : "false"); }};
}

template <class Access>
Key text(std::string name, Stage stage, std::string help, Access access) {
  return {std::move(name), stage, std::move(help),
          [access](Config& c, const Value& v) {
            if (v.kind != Value::Kind::kString) return wanted("a string in quotes", v);
            access(c) = v.text;
            return std::string();
          },
          [access](const Config& c) { return toml_string(access(const_cast<Config&>(c))); }};
}

/// A value out of a list of names. Enum may be an enum, a bool or a string.
template <class Enum, class Access>
Key choice(std::string name, Stage stage, std::string help, std::vector<std::pair<std::string, Enum>> options,
           Access access) {
  std::string listed;
  for (const auto& o : options) listed += (listed.empty() ? "" : ", ") + toml_string(o.first);
  return {std::move(name), stage, std::move(help) + " (" + listed + ")",
          [access, options, listed](Config& c, const Value& v) {
            for (const auto& o : options) {
              if (v.kind == Value::Kind::kString && v.text == o.first) {
                access(c) = o.second;
                return std::string();
              }
            }
            return wanted(("one of " + listed).c_str(), v);
          },
          [access, options](const Config& c) {
            for (const auto& o : options) {
              if (access(const_cast<Config&>(c)) == o.second) return toml_string(o.first);
            }
            return toml_string("?");
          }};
}

template <class Access>
Key sizes(std::string name, Stage stage, std::string help, Access access) {
  return {std::move(name), stage, std::move(help),
          [access](Config& c, const Value& v) {
            std::vector<std::size_t> out;
            bool good = v.kind == Value::Kind::kArray;
            for (const Value& item : v.items) {
              good = good && item.kind == Value::Kind::kInteger && item.integer >= 1 &&
                     item.integer <= (1 << 24);
              out.push_back(static_cast<std::size_t>(item.integer));
            }
            if (!good) return wanted("an array of positive whole numbers such as [200, 500]", v);
            access(c) = out;
            return std::string();
          },
          [access](const Config& c) {
            return fmt::format("[{}]", fmt::join(access(const_cast<Config&>(c)), ", "));
          }};
}

template <class Access>
Key names(std::string name, Stage stage, std::string help, std::vector<std::string> known, Access access) {
  const std::string listed = fmt::format("{}", fmt::join(known, ", "));
  return {std::move(name), stage, std::move(help) + " (of " + listed + ")",
          [access, known, listed](Config& c, const Value& v) {
            std::vector<std::string> out;
            bool good = v.kind == Value::Kind::kArray;
            for (const Value& item : v.items) {
              good = good && item.kind == Value::Kind::kString &&
                     std::find(known.begin(), known.end(), item.text) != known.end();
              good = good && std::find(out.begin(), out.end(), item.text) == out.end();
              out.push_back(item.text);
            }
            if (!good) return wanted(("an array of different names out of " + listed).c_str(), v);
            access(c) = out;
            return std::string();
          },
          [access](const Config& c) {
            std::vector<std::string> out;
            for (const auto& item : access(const_cast<Config&>(c))) out.push_back(toml_string(item));
            return fmt::format("[{}]", fmt::join(out, ", "));
          }};
}

/// auto: a GPU for each rank, or the CPU for all; cuda: a GPU for each, or an error.
inline std::vector<std::pair<std::string, comm::DeviceWish>> device_wishes() {
  return {
      {"auto", comm::DeviceWish::kAuto}, {"cpu", comm::DeviceWish::kCpu}, {"cuda", comm::DeviceWish::kCuda}};
}

#define MUFFLE_FIELD(path) \
  [](Config & c) -> auto& { return c.path; }

}  // namespace muffle::app
