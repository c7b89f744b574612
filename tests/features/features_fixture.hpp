#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "features/kernels.hpp"
#include "muffle/core/hash.hpp"
#include "muffle/core/philox.hpp"
#include "muffle/features/rff.hpp"

namespace muffle::features {

/// A batch of made-up records with labels.
struct Records {
  Records(std::size_t count, std::size_t numbers, std::size_t classes, std::uint64_t seed = 1)
      : n(count), dims(numbers), x(count * numbers), y(count) {
    const CounterStream stream(seed, Stream::kTest);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(stream.uniform(i));
    for (std::size_t i = 0; i < n; ++i) y[i] = static_cast<std::int32_t>(stream.below(x.size() + i, classes));
  }
  const float* row(std::size_t i) const { return x.data() + i * dims; }
  std::vector<float> record(std::size_t i) const { return {row(i), row(i) + dims}; }
  std::size_t n, dims;
  std::vector<float> x;
  std::vector<std::int32_t> y;
};

/// Phases in quarter turns: limits of floats and of what can be truncated, none at all, and `random` others.
inline std::vector<float> awkward_phases(std::uint64_t random) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  std::vector<float> phases{
      0.0f,  -0.0f,  0.5f,  -0.5f,           1.0f,   1.5f,         2.0f,           2.5f,    3.0f,     3.5f,
      4.0f,  -1.0f,  -2.5f, 1e-38f,          1e-45f, 0x1p23f,      0x1.fffffep23f, 0x1p31f, -0x1p31f, 0x1p32f,
      1e30f, -1e38f, kInf,  0x1.fffffep127f, -kInf,  std::nanf("")};
  const CounterStream stream(4, Stream::kTest);
  for (std::uint64_t i = 0; i < random; ++i)
    phases.push_back(static_cast<float>(stream.normal(i) * std::pow(10.0, double(i % 9) - 2)));
  return phases;
}

/// Class sums of all records, in tiles of at most `tile`.
inline std::vector<std::uint64_t> sums_of(const Block& block, const Records& records, std::size_t classes,
                                          std::size_t tile = 1000000) {
  std::vector<std::uint64_t> sums(classes * block.features());
  const auto workspace = block.make_workspace();
  tile = std::min(tile, block.tile());
  for (std::size_t i = 0; i < records.n; i += tile) {
    block.accumulate(records.row(i), records.y.data() + i, std::min(tile, records.n - i), *workspace, sums);
  }
  return sums;
}

/// Numbers of records as bytes, and the numbers that the bytes stand for.
struct AsBytes {
  schema::ByteScale unit;
  std::vector<std::uint8_t> bytes;
};
/// Makes all numbers of the records, which are in [0, 1], those that bytes stand for.
inline AsBytes round_to_bytes(Records& records) {
  AsBytes out;
  for (std::size_t v = 0; v < out.unit.size(); ++v) out.unit[v] = static_cast<float>(v) / 255.0f;
  for (float& x : records.x) {
    out.bytes.push_back(static_cast<std::uint8_t>(255.0f * x));
    x = out.unit[out.bytes.back()];
  }
  return out;
}

/// One record's lattice values.
inline std::vector<std::int64_t> features_of(const Block& block, const float* x) {
  std::vector<std::uint64_t> sums(block.features());
  const std::int32_t label = 0;
  block.accumulate(x, &label, 1, *block.make_workspace(), sums);
  return {sums.begin(), sums.end()};
}

/// Class sums of the records `of`, one by one.
inline std::vector<std::uint64_t> one_by_one(const Block& block, const Records& records, std::size_t classes,
                                             const std::vector<std::size_t>& of) {
  std::vector<std::uint64_t> sums(classes * block.features());
  for (const std::size_t i : of) {
    const auto values = features_of(block, records.row(i));
    for (std::size_t j = 0; j < values.size(); ++j)
      sums[static_cast<std::size_t>(records.y[i]) * values.size() + j] +=
          static_cast<std::uint64_t>(values[j]);
  }
  return sums;
}

template <typename T>
std::string sha256_of(const std::vector<T>& values) {
  return to_hex(sha256(PublicBytes(std::as_bytes(std::span(values)))));
}

}  // namespace muffle::features
