#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <vector>

#include "data/drain.hpp"
#include "data/idx_bytes.hpp"
#include "muffle/data/source.hpp"
#include "support/temporary_folder.hpp"

namespace muffle::data::test {

/// A folder with a data set of little images whose first pixel is the record's number and whose label is that
/// mod 3.
class Shards : public ::testing::Test {
 protected:
  static constexpr std::uint32_t kHeight = 2, kWidth = 3;

  static std::string images(std::uint32_t n) {
    std::vector<unsigned char> pixels;
    for (std::uint32_t i = 0; i < n; ++i) {
      for (std::uint32_t p = 0; p < kHeight * kWidth; ++p)
        pixels.push_back(static_cast<unsigned char>(i + 40 * p));
    }
    return idx_bytes({n, kHeight, kWidth}, pixels);
  }

  static std::string labels(std::uint32_t n) {
    std::vector<unsigned char> y;
    for (std::uint32_t i = 0; i < n; ++i) y.push_back(static_cast<unsigned char>(i % 3));
    return idx_bytes({n}, y);
  }

  /// The tests write thousands of files: without a sync, and as new ones, for ext4 flushes a file that is
  /// truncated.
  void write(const std::string& name, const std::string& bytes) {
    std::filesystem::remove(folder_ / name);
    std::ofstream(folder_ / name, std::ios::binary) << bytes;
  }

  /// Writes features "x" and labels "y" and returns the spec that reads them.
  DataSpec spec_of(const std::string& x, const std::string& y) {
    write("x", x);
    write("y", y);
    return {
        .dir = folder_.path().string(), .features = "x", .labels = "y", .schema = {{1, kHeight, kWidth}, 3}};
  }

  DataSpec vector_spec(const std::vector<float>& values, std::uint32_t columns, double lo, double hi) {
    const auto n = static_cast<std::uint32_t>(values.size()) / columns;
    DataSpec spec = spec_of(idx_floats({n, columns}, values), labels(n));
    spec.schema.shape = {columns};
    spec.schema.lo = lo;
    spec.schema.hi = hi;
    return spec;
  }

  muffle::test::TemporaryFolder folder_;
};

}  // namespace muffle::data::test
