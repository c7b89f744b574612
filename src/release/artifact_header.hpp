#pragma once

#include <nlohmann/json.hpp>

#include "muffle/release/artifact.hpp"

namespace muffle::release {

/// The artifact's JSON header (docs/reference/artifact-format.md): every field but the values.
nlohmann::json to_header(const Artifact& artifact);

/// Reads every field with its type and range; leaves `values` empty (their number is declared as
/// values.count, whose presence and type are checked here). Throws nothing but ProtocolError, whose message
/// starts with `name` and names the field.
Artifact from_header(const nlohmann::json& header, const std::string& name);

/// The bounds' theorems and the sensitivity's derivation, in this muffle's own words: of a plan that was
/// read.
void own_proof(ReleasePlan& plan);

/// What contradicts what: ranges, counts, and the guarantee derived once more. Empty if all is well.
std::vector<std::string> contradictions(const Artifact& artifact);

/// Said wherever a release without true noise is described: why it is NOT PRIVATE.
const char* not_private(const Artifact& artifact);

/// Of seeded noise.
inline constexpr char kNotPrivate[] =
    "NOT PRIVATE: the noise came from a seeded generator (a test option). Whoever guesses the seed subtracts "
    "the noise. Never hand this release out.";
/// Of none.
inline constexpr char kWithoutNoise[] =
    "NOT PRIVATE: no noise was added (--insecure-no-noise). These are exact sums of private records, "
    "whatever epsilon is stated. Never hand this release out.";

}  // namespace muffle::release
