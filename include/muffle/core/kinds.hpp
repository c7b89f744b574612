#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "muffle/core/error.hpp"

namespace muffle {

/// A kind's name in configurations and files: its identifier in the table, with '-' for '_'.
inline std::string kind_name(std::string_view identifier) {
  std::string name(identifier);
  for (char& c : name) c = c == '_' ? '-' : c;
  return name;
}

/// The names of a family's table, in its order. Every line of a table has a `name`.
template <class Kind>
std::vector<std::string> names_of(std::span<const Kind> table) {
  std::vector<std::string> names;
  for (const Kind& kind : table) names.emplace_back(kind.name);
  return names;
}

/// The names of the lines that `fits` takes, for messages: "\"a\", \"b\" or \"c\"".
template <class Kind, class Fits>
std::string names_where(std::span<const Kind> table, const Fits& fits) {
  std::vector<std::string_view> names;
  for (const Kind& kind : table) {
    if (fits(kind)) names.push_back(kind.name);
  }
  std::string all;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i > 0) all += i + 1 == names.size() ? " or " : ", ";
    (all += '"').append(names[i]) += '"';
  }
  return all;
}

/// The line of this name. @param family  "feature map". @throws ConfigError  none: lists those there are.
template <class Kind>
const Kind& find_kind(std::span<const Kind> table, std::string_view name, std::string_view family) {
  for (const Kind& kind : table) {
    if (kind.name == name) return kind;
  }
  throw ConfigError("there is no " + std::string(family) + " \"" + std::string(name) + "\"; it must be " +
                    names_where(table, [](const Kind&) { return true; }));
}

/// Owns one kind of a family, or none; its copy owns a clone.
template <class Base>
struct Cloned : std::unique_ptr<Base> {
  using std::unique_ptr<Base>::unique_ptr;
  Cloned(std::unique_ptr<Base> kind) : std::unique_ptr<Base>(std::move(kind)) {}
  Cloned(const Cloned& other) : std::unique_ptr<Base>(other ? other->clone() : nullptr) {}
  Cloned(Cloned&&) noexcept = default;
  Cloned& operator=(Cloned other) noexcept {
    this->swap(other);
    return *this;
  }
};

}  // namespace muffle
