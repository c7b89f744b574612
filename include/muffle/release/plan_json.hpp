#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "muffle/core/json_fields.hpp"
#include "muffle/release/plan.hpp"

namespace muffle::release {

/// The plan as JSON (docs/reference/artifact-format.md, "the plan"): what is summed, where each number lies,
/// in which units, with what noise. No path, machine, number of ranks or wording of a theorem is in it, so it
/// is the same wherever it is made.
nlohmann::json plan_json(const ReleasePlan& plan);

/// Reads these fields, each with its type and range; others may lie beside them. The bounds' theorems and the
/// sensitivity's derivation are this muffle's own. @throws ProtocolError.
ReleasePlan read_plan(const JsonFields& fields);

/// What contradicts what in a plan: ranges, maps, and the guarantee derived once more. Empty if all is well.
std::vector<std::string> plan_contradictions(const ReleasePlan& plan);

/// A plan that stands alone: plan_json() in its one spelling, and back. @param name  what error messages call
/// it
/// @throws ProtocolError  other fields, another spelling, contradictions.
std::string plan_text(const ReleasePlan& plan);
ReleasePlan parse_plan(std::string_view text, const std::string& name);

/// SHA-256, in hex, of the plan's JSON: names the plan for everybody who has read it. (Whoever makes it from
/// the same settings with another libm may get another last digit of sigma.) What later rounds count is left
/// out: it is chosen from the noisy numbers before.
std::string plan_hash(const ReleasePlan& plan);

}  // namespace muffle::release
