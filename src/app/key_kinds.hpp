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

inline std::string toml_string(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

inline std::string number_literal(double v) {
  std::string text = exact_text(v);
  if (text.find_first_of(".einf") == std::string::npos) text += ".0";
  return text;
}

inline std::string wanted(const char* what, const Value& v) {
  return fmt::format("needs {}, not {}", what, v.shown);
}

/// Accepts integers as floats; never the other way round.
inline bool as_number(const Value& v, double& out) {
  if (v.kind == Value::Kind::kFloat)
    out = v.number;
  else if (v.kind == Value::Kind::kInteger)
    out = static_cast<double>(v.integer);
  else
    return false;
  return true;
}

/// What a number may be. NaN is in no range.
struct Range {
  double low, high;
  bool low_itself = true;  ///< false: above `low`

  bool has(double x) const { return x <= high && (low_itself ? x >= low : x > low); }
  std::string text() const {
    return fmt::format("a number {} {} {} {}", low_itself ? "from" : "above", exact_text(low),
                       low_itself ? "to" : "and at most", exact_text(high));
  }
};

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
