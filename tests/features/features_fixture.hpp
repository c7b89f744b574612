#pragma once

#include <cstdint>
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
  std::size_t n, dims;
  std::vector<float> x;
  std::vector<std::int32_t> y;
};

/// Class sums of all records, in tiles of at most `tile`.
inline std::vector<std::uint64_t> sums_of(const Block& block, const Records& records, std::size_t classes,
                                          std::size_t tile = 1000000) {
  std::vector<std::uint64_t> sums(classes * block.features());
  const auto workspace = block.make_workspace();
  tile = std::min(tile, block.tile());
  for (std::size_t i = 0; i < records.n; i += tile) {
    block.accumulate(records.x.data() + i * records.dims, records.y.data() + i, std::min(tile, records.n - i),
                     *workspace, sums);
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

template <typename T>
std::string sha256_of(const std::vector<T>& values) {
  return to_hex(sha256(std::as_bytes(std::span(values))));
}

}  // namespace muffle::features
