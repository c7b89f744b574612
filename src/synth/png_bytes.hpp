#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

namespace muffle::synth {

/// A whole PNG file in memory, from interleaved bytes height x width x channels (1 or 3).
std::vector<std::byte> png_bytes(std::span<const std::uint8_t> pixels, std::size_t height, std::size_t width,
                                 std::size_t channels);

/// Writes one of very many small files: no sync, so not atomic across a power loss. @throws IoError.
void write_small_file(const std::filesystem::path& path, std::span<const std::byte> bytes);

}  // namespace muffle::synth
