#pragma once

#include <cstdint>
#include <string_view>

#include "muffle/core/json_fields.hpp"

// What the kinds of generators have in common.
namespace muffle::model {

/// Larger sizes than any real model has.
constexpr std::uint64_t kMaxSize = std::uint64_t{1} << 24;

constexpr const char* kPlainShareHelp =
    "closed form: share of records with plainly clipped numbers; the others' keep mean and variance";

/// A number from 0 to 1.
double share(const JsonFields& fields, std::string_view key);

}  // namespace muffle::model
