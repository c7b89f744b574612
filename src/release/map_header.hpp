#pragma once

#include <nlohmann/json_fwd.hpp>

#include "muffle/core/json_fields.hpp"
#include "muffle/release/artifact.hpp"

namespace muffle::release {

/// Map b as an entry of the header's list `maps`: its kind, settings, weight, bound, units and noise.
nlohmann::json map_to_header(const Artifact& artifact, std::size_t b);

/// Reads one such entry: appends to the maps, their hashes, the plan's bounds and its noise parts. The schema
/// must be there.
/// @throws ProtocolError.
void read_map(const JsonFields& fields, Artifact& artifact);

/// A run of the noise's parts, {count, unit, sigma_lattice}.
nlohmann::json run_to_header(const privacy::NoiseRun& run);
privacy::NoiseRun read_run(const JsonFields& fields);

}  // namespace muffle::release
