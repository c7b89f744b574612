#pragma once

#include "header_fields.hpp"
#include "muffle/release/artifact.hpp"

namespace muffle::release {

/// Block b as an entry of the header's list `blocks`: its map, weight, bound, units and noise.
nlohmann::json block_to_header(const Artifact& artifact, std::size_t b);

/// Reads one such entry: appends to blocks, to the plan's bounds and to its noise parts (which need the
/// schema's classes). @throws ProtocolError.
void read_block(const Fields& fields, Artifact& artifact);

/// A run of the noise's parts, {count, unit, sigma_lattice}.
nlohmann::json run_to_header(const privacy::NoiseRun& run);
privacy::NoiseRun read_run(const Fields& fields);

/// One block's feature map, without weight, bound and noise.
nlohmann::json map_to_json(const features::BlockSpec& spec);

}  // namespace muffle::release
