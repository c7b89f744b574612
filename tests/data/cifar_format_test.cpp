// CIFAR-10's binary format, on little colour images drawn by rule.
#include <gtest/gtest.h>

#include "data/shard_fixture.hpp"
#include "support/expect_error.hpp"

namespace muffle::data::test {
namespace {

using muffle::test::expect_error;
using muffle::test::expect_local_detail;

constexpr std::size_t kSide = 4, kDims = 3 * kSide * kSide, kRecord = 1 + kDims;

/// Record i: label i mod 3; a ramp whose slope depends on the channel, starting at i.
std::string cifar(std::size_t first, std::size_t n) {
  std::string bytes;
  for (std::size_t i = first; i < first + n; ++i) {
    bytes += static_cast<char>(i % 3);
    for (std::size_t p = 0; p < kDims; ++p)
      bytes += static_cast<char>((i + p % (kSide * kSide) * (1 + p / (kSide * kSide))) % 256);
  }
  return bytes;
}

class Cifar : public Shards {
 protected:
  DataSpec spec_of_files(const std::vector<std::string>& files) {
    std::string names;
    for (std::size_t i = 0; i < files.size(); ++i) {
      const std::string name = "batch_" + std::to_string(i) + ".bin";
      write(name, files[i]);
      names += (i > 0 ? ", " : "") + name;
    }
    return {"cifar", folder_.path().string(), names, "", 0, {{3, kSide, kSide}, 3}};
  }
};

TEST_F(Cifar, ReadsLabelsAndNumbersInTheFilesOrder) {
  const DataSpec spec = spec_of_files({cifar(0, 5), cifar(5, 0), cifar(5, 7)});
  const Batch all = read_all(spec);
  ASSERT_EQ(all.n, 12u);
  for (std::size_t i = 0; i < all.n; ++i) {
    EXPECT_EQ(all.y[i], static_cast<std::int32_t>(i % 3));
    for (std::size_t p = 0; p < kDims; ++p) {
      const std::size_t byte = (i + p % 16 * (1 + p / 16)) % 256;
      EXPECT_EQ(all.x[i * kDims + p], static_cast<float>(byte) / 255.0f) << i << " " << p;
    }
  }
  EXPECT_EQ(open_shard(spec, 0, 1)->shard_size(), 12u);
}

TEST_F(Cifar, RanksShareTheRecordsOfAllFilesByTheRule) {
  for (const ShardRule rule : {ShardRule::kContiguous, ShardRule::kRoundRobin}) {
    DataSpec spec = spec_of_files({cifar(0, 5), cifar(5, 2), cifar(7, 6)});
    spec.shards = rule;
    spec.records = 13;
    for (const int ranks : {1, 2, 3, 5, 20}) {
      std::vector<int> seen(13, 0);
      for (int rank = 0; rank < ranks; ++rank) {
        const Batch mine = read_all(spec, rank, ranks, 2);
        for (std::size_t i = 0; i < mine.n; ++i) {
          const auto record = static_cast<std::size_t>(mine.x[i * kDims] * 255.0f + 0.5f);
          ASSERT_LT(record, 13u);
          ++seen[record];
          EXPECT_EQ(mine.y[i], static_cast<std::int32_t>(record % 3));
        }
      }
      EXPECT_EQ(seen, std::vector<int>(13, 1)) << ranks << " ranks";
    }
  }
}

TEST_F(Cifar, MalformedInputIsRefused) {
  const std::string good = cifar(0, 4);
  for (std::size_t n = 1; n < good.size(); ++n) {
    if (n % kRecord == 0) continue;
    const DataSpec spec = spec_of_files({cifar(0, 2), good.substr(0, n)});
    expect_local_detail(ExitCode::kData, {"batch_1.bin", "truncated", "49 bytes"},
                        {"has " + std::to_string(n) + " bytes"}, [&] { open_shard(spec, 0, 3); });
  }
  DataSpec spec = spec_of_files({good});
  spec.records = 5;
  expect_error(ExitCode::kData, {"4 records", "says 5"}, [&] { open_shard(spec, 0, 2); });
  spec = spec_of_files({gzipped(good)});
  expect_error(ExitCode::kData, {"compressed", "Unpack"}, [&] { open_shard(spec, 0, 1); });
  spec = spec_of_files({good});
  spec.labels = "labels";
  expect_error(ExitCode::kData, {"data.labels"}, [&] { open_shard(spec, 0, 1); });
  for (const char* list : {"batch_0.bin,", ",batch_0.bin", "batch_0.bin, ,batch_0.bin", " "}) {
    spec = spec_of_files({good});
    spec.features = list;
    expect_error(ExitCode::kData, {"empty name"}, [&] { open_shard(spec, 0, 1); });
  }
  spec.features = "absent.bin";
  expect_error(ExitCode::kIo, {"absent.bin"}, [&] { open_shard(spec, 0, 1); });
}

TEST_F(Cifar, AFileThatChangesWhileItIsReadIsNoticed) {
  const DataSpec spec = spec_of_files({cifar(0, 5), cifar(5, 5)});
  const auto source = open_shard(spec, 0, 1);
  Batch batch;
  source->next(3, batch);
  write("batch_1.bin", cifar(5, 4));
  expect_error(ExitCode::kData, {"batch_1.bin", "changed"}, [&] { drain(*source, 3); });
}

}  // namespace
}  // namespace muffle::data::test
