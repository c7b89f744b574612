#pragma once

#include <cstddef>

#include "muffle/synth/export.hpp"

namespace muffle::synth {

/// Throws InvariantError unless exactly one of bytes and floats is used (neither, if there are no records)
/// and it holds count() records.
void check_records(const Records& records);

/// Image `index` as interleaved bytes, height x width x channels, from its planes. The records must be
/// images.
std::vector<std::uint8_t> interleaved_image(const Records& records, std::size_t index);

/// Throws ConfigError unless the records are uint8 images of 1 or 3 channels.
void check_images(const RecordKind& kind);

}  // namespace muffle::synth
