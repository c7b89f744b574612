#include "records.hpp"

#include <fmt/format.h>

#include "muffle/core/error.hpp"

namespace muffle::synth {

std::size_t record_dims(const Records& records) {
  std::size_t product = 1;
  for (const std::size_t s : records.shape) product *= s;
  return product;
}

void check_records(const Records& records) {
  const std::size_t numbers = records.count() * record_dims(records);
  require(records.bytes.empty() || records.floats.empty(), "records hold bytes or floats, not both");
  require(records.bytes.size() + records.floats.size() == numbers,
          fmt::format("{} records of {} numbers were announced, {} numbers are there", records.count(),
                      record_dims(records), records.bytes.size() + records.floats.size()));
}

void check_images(const Records& records) {
  check_records(records);
  if (records.shape.size() != 3 || (records.shape[0] != 1 && records.shape[0] != 3) ||
      !records.floats.empty()) {
    throw ConfigError(
        "only uint8 images of 1 or 3 channels can be written as PNG; these records are not such images. "
        "Choose the "
        "formats npz or idx.");
  }
}

std::vector<std::uint8_t> interleaved_image(const Records& records, std::size_t index) {
  const std::size_t channels = records.shape[0], pixels = records.shape[1] * records.shape[2];
  const std::uint8_t* planes = records.bytes.data() + index * channels * pixels;
  std::vector<std::uint8_t> out(channels * pixels);
  for (std::size_t c = 0; c < channels; ++c) {
    for (std::size_t p = 0; p < pixels; ++p) out[p * channels + c] = planes[c * pixels + p];
  }
  return out;
}

}  // namespace muffle::synth
