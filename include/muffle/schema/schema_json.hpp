#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "muffle/core/json_fields.hpp"
#include "muffle/schema/schema.hpp"

namespace muffle::schema {

/// {"shape", "classes", "lo", "hi", "on_error"}: the schema's only spelling, in releases, models and hashes.
nlohmann::json to_json(const Schema& schema);

/// Reads it back, strictly. The result is valid. @throws ProtocolError naming the field.
Schema read_schema(const JsonFields& fields);

/// SHA-256 (hex) of that spelling.
std::string hash_of(const Schema& schema);

}  // namespace muffle::schema
