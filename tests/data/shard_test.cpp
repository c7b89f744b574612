#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "data/shard_fixture.hpp"
#include "support/expect_error.hpp"

namespace muffle::data::test {
namespace {

using muffle::test::expect_local_detail;

TEST_F(Shards, ShapesAgreeWhenTheOrderDoes) {
  const auto opens = [&](const std::vector<std::uint32_t>& dims, const std::vector<std::size_t>& shape) {
    std::uint32_t record = 1;
    for (std::size_t i = 1; i < dims.size(); ++i) record *= dims[i];
    DataSpec spec =
        spec_of(idx_bytes(dims, std::vector<unsigned char>(dims[0] * record, 7)), labels(dims[0]));
    spec.schema.shape = shape;
    try {
      return read_all(spec).n == dims[0];
    } catch (const DataError& error) {
      EXPECT_NE(std::string(error.what()).find("the schema says"), std::string::npos) << error.what();
      return false;
    }
  };
  EXPECT_TRUE(opens({2, 4, 5}, {1, 4, 5}));
  EXPECT_TRUE(opens({2, 1, 4, 5}, {1, 4, 5}));
  EXPECT_TRUE(opens({2, 20}, {1, 4, 5}));
  EXPECT_TRUE(opens({2, 4, 5}, {20}));
  EXPECT_TRUE(opens({2, 3, 4, 5}, {3, 4, 5}));
  EXPECT_TRUE(opens({2, 60}, {3, 4, 5}));
  EXPECT_TRUE(opens({2}, {1}));
  EXPECT_FALSE(opens({2, 5, 4}, {1, 4, 5}));
  EXPECT_FALSE(opens({2, 4, 5, 3}, {3, 4, 5}));
  EXPECT_FALSE(opens({2, 4, 5}, {3, 4, 5}));
  EXPECT_FALSE(opens({2, 2, 10}, {1, 4, 5}));
  EXPECT_FALSE(opens({2, 0, 5}, {1, 4, 5}));
}

TEST_F(Shards, FloatsAreScaledInFloat) {
  const std::vector<float> values{-1.0f, 5.0f, 0.1f, -0.0f, 4.9999995f, 2.0f};
  const Batch all = read_all(vector_spec(values, 2, -1.0, 5.0));
  for (std::size_t i = 0; i < values.size(); ++i) EXPECT_EQ(all.x[i], (values[i] - -1.0f) / (5.0f - -1.0f));
  EXPECT_EQ(all.x[0], 0.0f);
  EXPECT_EQ(all.x[1], 1.0f);
}

TEST_F(Shards, BoundsAreThoseThatAFloatFileCanHold) {
  // 0.1f > 0.1 and -1.1f < -1.1 as doubles; the data's own extremes must not be refused.
  const Batch all = read_all(vector_spec({0.1f, -1.1f}, 2, -1.1, 0.1));
  EXPECT_EQ(all.x, (std::vector<float>{1.0f, 0.0f}));
}

TEST_F(Shards, BadNumbersAreRefusedByRecordNotByContent) {
  const float nan = std::nanf(""), inf = std::numeric_limits<float>::infinity();
  for (const float bad : {nan, -nan, inf, -inf, 7.125f, -7.125f, std::nextafter(5.0f, 6.0f)}) {
    DataSpec spec = vector_spec({0, 0, 1, 1, 2, bad, 3, 3}, 2, 0.0, 5.0);
    spec.schema.on_error = schema::OnError::kRejectFile;
    const std::string message =
        expect_local_detail(ExitCode::kData, {"/x'", "on_error"}, {"record 2 "}, [&] { read_all(spec); });
    EXPECT_EQ(message.find("7.125"), std::string::npos);
    EXPECT_NO_THROW(read_all(spec, 0, 2));  // not rank 0's record
  }
}

TEST_F(Shards, BadNumbersAreClampedUnlessTheyAreRefused) {
  const float nan = std::nanf(""), inf = std::numeric_limits<float>::infinity();
  DataSpec spec = vector_spec({nan, -nan, inf, -inf, 7.0f, -7.0f, 2.5f, 5.0f}, 2, 0.0, 5.0);
  const Batch all = read_all(spec);
  EXPECT_EQ(all.x, (std::vector<float>{0, 0, 1, 0, 1, 0, 0.5f, 1}));
  EXPECT_EQ(all.y, (std::vector<std::int32_t>{0, 1, 2, 0}));
}

}  // namespace
}  // namespace muffle::data::test
