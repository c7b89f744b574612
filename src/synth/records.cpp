#include "records.hpp"

#include <fmt/format.h>

#include "muffle/core/error.hpp"
#include "muffle/synth/sampler.hpp"

namespace muffle::synth {

double tile_bytes(const schema::Schema& schema) {
  const double stored = schema.is_image() ? 1 : sizeof(float);
  return static_cast<double>(kTileRecords) * static_cast<double>(schema.dims()) *
         (2 * sizeof(float) + stored);
}

double sample_bytes(const SampleSpec& spec, const schema::Schema& schema) {
  const double number = schema.is_image() ? 1 : sizeof(float);
  return static_cast<double>(spec.count) * static_cast<double>(schema.dims()) * number;
}

std::size_t RecordKind::dims() const {
  std::size_t product = 1;
  for (const std::size_t s : shape) product *= s;
  return product;
}

void RecordWriter::add(const Records& some) {
  check_records(some);
  require(some.shape == kind_.shape && (kind_.floats ? some.bytes.empty() : some.floats.empty()),
          "records of another kind than announced");
  write(some);
  written_ += some.count();
}

void RecordWriter::finish(const std::function<void()>& alive) {
  require(written_ == kind_.count,
          fmt::format("{} records were announced, {} have come", kind_.count, written_));
  complete(alive);
}

void check_records(const Records& records) {
  const std::size_t dims = records.kind().dims(), numbers = records.count() * dims;
  require(records.bytes.empty() || records.floats.empty(), "records hold bytes or floats, not both");
  require(records.bytes.size() + records.floats.size() == numbers,
          fmt::format("{} records of {} numbers were announced, {} numbers are there", records.count(), dims,
                      records.bytes.size() + records.floats.size()));
}

void check_images(const RecordKind& kind) {
  if (kind.shape.size() != 3 || (kind.shape[0] != 1 && kind.shape[0] != 3) || kind.floats) {
    throw ConfigError(
        "only uint8 images of 1 or 3 channels can be written as PNG; these records are not such images. "
        "Choose the "
        "formats npz or idx.");
  }
}

void write_whole(RecordWriter& writer, const Records& records) {
  writer.add(records);
  writer.finish([] {});
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
