#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "muffle/data/schema.hpp"

namespace muffle::synth {

/// Synthetic (or generated) records in memory: exactly one of `bytes` and `floats` is used.
struct Records {
  std::vector<std::size_t> shape;    ///< of one record
  std::vector<std::uint8_t> bytes;   ///< n x dims, images
  std::vector<float> floats;         ///< n x dims, original units
  std::vector<std::uint8_t> labels;  ///< n
  std::size_t count() const { return labels.size(); }
};

/// IDX, element type uint8 or float32 (big-endian) by the extension-free rule of the format. Images of one
/// channel are n x height x width. Atomic. @throws IoError.
void write_idx_records(const std::filesystem::path& path, const Records& records);
void write_idx_labels(const std::filesystem::path& path, std::span<const std::uint8_t> labels);
/// A NumPy .npz (libzip, stored uncompressed) with arrays x (n x dims, uint8 or float32) and y (n, uint8).
/// Atomic.
void write_npz(const std::filesystem::path& path, const Records& records);
/// Reads back what write_npz wrote (also compressed members, and x of shape n x ...; dtypes |u1, <f4; y |u1
/// or <i8).
/// @throws IoError, DataError.
Records read_npz(const std::filesystem::path& path);
/// Grey (1 channel) or RGB (3) PNG of interleaved bytes, height x width x channels. Atomic.
void write_png(const std::filesystem::path& path, std::span<const std::uint8_t> pixels, std::size_t height,
               std::size_t width, std::size_t channels);
/// One PNG a record, folder/<class>/<number>.png.
void write_png_folder(const std::filesystem::path& folder, const Records& records);
/// Grid of images: row c shows the first `columns` records of class c; 2-pixel gaps.
void write_image_grid(const std::filesystem::path& path, const Records& records, std::size_t classes,
                      std::size_t columns);
/// Scatter plot of 2-D records inside [lo, hi]^2, one colour a class, with axes' frame and ticks.
void write_scatter(const std::filesystem::path& path, const Records& records, const data::Schema& schema);

}  // namespace muffle::synth
