#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <map>

#include "data/shard_fixture.hpp"
#include "support/expect_error.hpp"

namespace muffle::data::test {
namespace {

using muffle::test::expect_error;
using muffle::test::expect_local_detail;
using ::testing::ContainsRegex;
using ::testing::Not;

/// The record's number, from its first pixel.
int number_of(const Batch& batch, std::size_t i, std::size_t dims) {
  return static_cast<int>(std::lround(batch.x[i * dims] * 255.0f));
}

TEST_F(Shards, ScalesBytesByDividingBy255) {
  const Batch all = read_all(spec_of(images(10), labels(10)));
  ASSERT_EQ(all.n, 10u);
  for (std::size_t i = 0; i < 10; ++i) {
    for (std::size_t p = 0; p < 6; ++p) EXPECT_EQ(all.x[6 * i + p], static_cast<float>(i + 40 * p) / 255.0f);
    EXPECT_EQ(all.y[i], static_cast<int>(i % 3));
  }
}

TEST_F(Shards, HandsOutStoredBytesWhereThatIsAskedFor) {
  DataSpec spec = spec_of(images(10), labels(10));
  const Batch scaled = read_all(spec);
  const auto source = open_shard(spec, 0, 1);
  source->hand_out_bytes();
  Batch batch, all;
  for (source->next(4, batch); batch.n > 0; source->next(4, batch)) {
    ASSERT_TRUE(batch.as_bytes());
    EXPECT_TRUE(batch.x.empty());
    ASSERT_EQ(batch.bytes.size(), 6 * batch.n);
    for (const std::uint8_t v : batch.bytes) all.x.push_back((*batch.scale)[v]);
    all.y.insert(all.y.end(), batch.y.begin(), batch.y.end());
  }
  EXPECT_EQ(all.x, scaled.x);
  EXPECT_EQ(all.y, scaled.y);

  // The bounds are checked as ever: refused, or clamped by the scale.
  spec.schema.lo = 10;
  spec.schema.hi = 200;
  const auto refusing = open_shard(spec, 0, 1);
  refusing->hand_out_bytes();
  EXPECT_THROW(refusing->next(4, batch), DataError);
  spec.schema.on_error = schema::OnError::kClamp;
  const auto clamping = open_shard(spec, 0, 1);
  clamping->hand_out_bytes();
  clamping->next(1, batch);
  EXPECT_EQ(batch.bytes, (std::vector<std::uint8_t>{0, 40, 80, 120, 160, 200}));
  EXPECT_EQ((*batch.scale)[0], 0.0f);
  EXPECT_EQ((*batch.scale)[200], 1.0f);
  EXPECT_EQ((*batch.scale)[201], 1.0f);

  // A file of float32 has none; and a batch that held bytes takes them.
  spec = vector_spec({0.25f, 0.5f}, 2, 0, 1);
  const auto floats = open_shard(spec, 0, 1);
  floats->hand_out_bytes();
  floats->next(4, batch);
  EXPECT_FALSE(batch.as_bytes());
  EXPECT_EQ(batch.x, (std::vector<float>{0.25f, 0.5f}));
}

TEST_F(Shards, EveryRuleDealsEveryRecordExactlyOnceInOrder) {
  for (const std::uint32_t m : {0u, 1u, 3u, 4u, 10u, 13u}) {
    for (const bool compressed : {false, true}) {
      DataSpec spec =
          spec_of(compressed ? gzipped(images(m)) : images(m), compressed ? gzipped(labels(m)) : labels(m));
      spec.records = m;
      for (const ShardRule rule : {ShardRule::kContiguous, ShardRule::kRoundRobin}) {
        spec.shards = rule;
        for (int ranks = 1; ranks <= 5; ++ranks) {
          for (int rank = 0; rank < ranks; ++rank) {
            SCOPED_TRACE(testing::Message() << "m " << m << " rank " << rank << " of " << ranks);
            const Batch shard = read_all(spec, rank, ranks, 2);
            std::vector<int> want;
            for (int i = 0; i < static_cast<int>(m); ++i) {
              const auto n = static_cast<int>(m);
              const bool mine = rule == ShardRule::kRoundRobin
                                    ? i % ranks == rank
                                    : i >= rank * n / ranks && i < (rank + 1) * n / ranks;
              if (mine) want.push_back(i);
            }
            ASSERT_EQ(shard.n, want.size());
            for (std::size_t i = 0; i < want.size(); ++i) {
              EXPECT_EQ(number_of(shard, i, 6), want[i]);
              EXPECT_EQ(shard.y[i], want[i] % 3);
            }
          }
        }
      }
    }
  }
}

TEST_F(Shards, TheBatchSizeChangesNothing) {
  const DataSpec spec = spec_of(images(11), labels(11));
  const Batch one = read_all(spec, 0, 1, 1);
  for (const std::size_t size : {2u, 5u, 11u, 1000u}) {
    const Batch other = read_all(spec, 0, 1, size);
    EXPECT_EQ(other.x, one.x);
    EXPECT_EQ(other.y, one.y);
  }
}

TEST_F(Shards, AnExhaustedSourceStaysEmpty) {
  const auto source = open_shard(spec_of(images(3), labels(3)), 0, 1);
  Batch batch;
  source->next(8, batch);
  EXPECT_EQ(batch.n, 3u);
  for (int i = 0; i < 2; ++i) {
    source->next(8, batch);
    EXPECT_EQ(batch.n, 0u);
    EXPECT_TRUE(batch.x.empty());
  }
  EXPECT_THROW(source->next(0, batch), InvariantError);
}

TEST_F(Shards, PerRankFilesAreWhollyTheRanksOwn) {
  DataSpec spec = spec_of(images(1), labels(1));
  for (std::uint32_t r = 0; r < 3; ++r) {
    write("x-" + std::to_string(r), images(2 * r));  // rank 0's file is empty
    write("y-" + std::to_string(r), labels(2 * r));
  }
  spec.features = "x-{rank}";
  spec.labels = "y-{rank}";
  spec.shards = ShardRule::kPerRank;
  spec.records = 6;  // of all ranks together: not one rank's business
  for (int r = 0; r < 3; ++r) {
    const auto source = open_shard(spec, r, 3);
    EXPECT_EQ(source->file_records(), static_cast<std::uint64_t>(2 * r));
    EXPECT_EQ(source->shard_size(), source->file_records());
    EXPECT_EQ(drain(*source, 3).n, static_cast<std::size_t>(2 * r));
  }
  EXPECT_EQ(resolve_path(spec, "a/{rank}/b-{rank}", 12), (folder_ / "a/12/b-12").string());
  EXPECT_EQ(resolve_path(spec, "/abs", 1), "/abs");
  spec.shards = ShardRule::kContiguous;
  expect_error(ExitCode::kData, {"{rank}", "per-rank"}, [&] { open_shard(spec, 0, 3); });
}

TEST_F(Shards, SharedFilesMustHoldThePublicNumberOfRecords) {
  DataSpec spec = spec_of(images(10), labels(10));
  for (const ShardRule rule : {ShardRule::kContiguous, ShardRule::kRoundRobin}) {
    spec.shards = rule;
    spec.records = 11;
    expect_error(ExitCode::kData, {"/x'", "holds 10 records", "says 11"}, [&] { open_shard(spec, 0, 2); });
    spec.records = 0;
    EXPECT_EQ(open_shard(spec, 0, 2)->file_records(), 10u);
  }
}

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
    const DataSpec spec = vector_spec({0, 0, 1, 1, 2, bad, 3, 3}, 2, 0.0, 5.0);
    const std::string message =
        expect_local_detail(ExitCode::kData, {"/x'", "on_error"}, {"record 2 "}, [&] { read_all(spec); });
    EXPECT_EQ(message.find("7.125"), std::string::npos);
    EXPECT_NO_THROW(read_all(spec, 0, 2));  // not rank 0's record
  }
}

TEST_F(Shards, BadNumbersAreClampedOnRequest) {
  const float nan = std::nanf(""), inf = std::numeric_limits<float>::infinity();
  DataSpec spec = vector_spec({nan, -nan, inf, -inf, 7.0f, -7.0f, 2.5f, 5.0f}, 2, 0.0, 5.0);
  spec.schema.on_error = schema::OnError::kClamp;
  const Batch all = read_all(spec);
  EXPECT_EQ(all.x, (std::vector<float>{0, 0, 1, 0, 1, 0, 0.5f, 1}));
  EXPECT_EQ(all.y, (std::vector<std::int32_t>{0, 1, 2, 0}));
}

TEST_F(Shards, WhatIsWrongWithARecordIsToldOnItsOwnRankOnly) {
  // A bad number and a bad label, in different records: the public messages are the same.
  const auto message_of = [](const DataSpec& spec) {
    return expect_error(ExitCode::kData, {}, [&] { read_all(spec); });
  };
  const std::string number = message_of(vector_spec({0, 0, 1, 1, 2, 7, 3, 3}, 2, 0.0, 5.0));
  const DataSpec spec = vector_spec({0, 0, 1, 1, 2, 2, 3, 3}, 2, 0.0, 5.0);
  write("y", idx_bytes({4}, {0, 77, 0, 0}));
  EXPECT_EQ(message_of(spec), number);
}

TEST_F(Shards, BytesOutsideTheBoundsFollowTheSameRule) {
  DataSpec spec = spec_of(idx_bytes({2, 2}, {10, 110, 60, 111}), labels(2));
  spec.schema.shape = {2};
  spec.schema.lo = 10;
  spec.schema.hi = 110;
  expect_local_detail(ExitCode::kData, {"/x'"}, {"record 1 "}, [&] { read_all(spec); });
  spec.schema.on_error = schema::OnError::kClamp;
  EXPECT_EQ(read_all(spec).x, (std::vector<float>{0.0f, 1.0f, 0.5f, 1.0f}));
}

TEST_F(Shards, ALabelOutsideTheClassesIsRefusedByRecordNotByValue) {
  DataSpec spec = spec_of(images(5), idx_bytes({5}, {0, 1, 2, 197, 0}));
  const std::string message = expect_local_detail(ExitCode::kData, {"/x'", "/y'", "0..2", "data.classes"},
                                                  {"record 3 "}, [&] { read_all(spec); });
  EXPECT_THAT(message, Not(ContainsRegex("(^|[^0-9A-Za-z])197([^0-9A-Za-z]|$)")))
      << "the folder's name is any";
  spec.schema.on_error = schema::OnError::kClamp;
  EXPECT_EQ(read_all(spec).y, (std::vector<std::int32_t>{0, 1, 2, schema::kNoClass, 0}));
  spec.schema.classes = 198;
  EXPECT_EQ(read_all(spec).y[3], 197);
}

TEST_F(Shards, UnlabelledRecordsAreAllOfClassZero) {
  DataSpec spec = spec_of(images(5), labels(5));
  spec.labels.clear();
  expect_error(ExitCode::kData, {"3 classes", "no label file"}, [&] { open_shard(spec, 0, 1); });
  spec.schema.classes = 1;
  EXPECT_EQ(read_all(spec).y, std::vector<std::int32_t>(5, 0));
}

}  // namespace
}  // namespace muffle::data::test
