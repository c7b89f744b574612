#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>

#include "muffle/core/json_fields.hpp"
#include "muffle/privacy/aggregation.hpp"

namespace muffle::release {

/// In a combined release.
inline constexpr std::size_t kMostParts = 1000;

/// How sums come, or came, together, as JSON (docs/reference/artifact-format.md, "aggregation"), and back.
nlohmann::json aggregation_json(const privacy::AggregationMode& mode);
/// @throws ProtocolError  fields, types and ranges; a round between institutions that cannot be.
privacy::AggregationMode read_aggregation(const JsonFields& fields);

}  // namespace muffle::release
