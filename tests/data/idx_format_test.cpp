#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "data/shard_fixture.hpp"
#include "muffle/core/files.hpp"
#include "muffle/data/format.hpp"
#include "support/expect_error.hpp"
#include "support/mutate.hpp"

namespace muffle::data::test {
namespace {

using muffle::test::expect_error;
using muffle::test::expect_local_detail;

class Idx : public Shards {
 protected:
  /// Reading these features (and good labels of n records) ends in a DataError with these parts.
  void expect_refused(const std::string& x, std::initializer_list<std::string> parts, std::uint32_t n = 10) {
    const DataSpec spec = spec_of(x, labels(n));
    expect_error(ExitCode::kData, parts, [&] { read_all(spec); });
  }
  /// The same, and the local detail has, and the message has not, the parts `local`.
  void expect_refused_locally(const std::string& x, std::initializer_list<std::string> parts,
                              std::initializer_list<std::string> local) {
    const DataSpec spec = spec_of(x, labels(10));
    expect_local_detail(ExitCode::kData, parts, local, [&] { read_all(spec); });
  }
};

TEST_F(Idx, WriterMatchesTheFormatByteForByte) {
  write_idx(folder_ / "b", std::array<std::size_t, 3>{2, 1, 3},
            std::array<std::uint8_t, 6>{1, 2, 3, 4, 5, 255});
  EXPECT_EQ(read_file(folder_ / "b"),
            std::string("\0\0\x08\x03\0\0\0\x02\0\0\0\x01\0\0\0\x03\x01\x02\x03\x04\x05\xFF", 22));
  write_idx(folder_ / "f", std::array<std::size_t, 2>{1, 2}, std::array<float, 2>{1.0f, -2.5f});
  EXPECT_EQ(read_file(folder_ / "f"),
            std::string("\0\0\x0D\x02\0\0\0\x01\0\0\0\x02\x3F\x80\0\0\xC0\x20\0\0", 20));
}

TEST_F(Idx, WriterRefusesDimensionsThatDisagree) {
  const std::array<std::uint8_t, 6> bytes{};
  expect_error(ExitCode::kInvariant, {"promise 8 elements, there are 6"}, [&] {
    write_idx(folder_ / "b", std::array<std::size_t, 2>{2, 4}, bytes);
  });
  expect_error(ExitCode::kInvariant, {"32 bits"}, [&] {
    write_idx(folder_ / "b", std::array<std::size_t, 2>{std::size_t{1} << 32, 0}, bytes);
  });
  EXPECT_FALSE(std::filesystem::exists(folder_ / "b"));
}

TEST_F(Idx, ReadsWhatIsCompressedInOneGoOrSeveral) {
  const std::string plain = images(10);
  const Batch want = read_all(spec_of(plain, labels(10)));
  for (const std::string& packed :
       {gzipped(plain), gzipped(plain.substr(0, 20)) + gzipped(plain.substr(20))}) {
    const DataSpec spec = spec_of(packed, gzipped(labels(10)));
    EXPECT_EQ(read_all(spec).x, want.x);
    for (int ranks = 2; ranks <= 3; ++ranks) EXPECT_EQ(read_all(spec, 0, ranks).y[1], 1);
  }
  EXPECT_EQ(read_all(spec_of(gzipped(images(0)), labels(0))).n, 0u);
}

TEST_F(Idx, TruncationAtEveryLengthIsSeenCompressed) {
  const std::string packed = gzipped(images(10));
  for (std::size_t n = 2; n < packed.size(); ++n) expect_refused(packed.substr(0, n), {"/x'", "truncated"});
}

TEST_F(Idx, PlainTruncationIsSeenBeforeAnyRecordIsRead) {
  const DataSpec spec = spec_of(images(10).substr(0, 70), labels(10));
  expect_local_detail(ExitCode::kData, {"/x'", "truncated"}, {"10 x 2 x 3", "76 bytes", "has 70 bytes"},
                      [&] { open_shard(spec, 0, 4); });
}

TEST_F(Idx, ACutInsideTheStreamNamesTheRecordOnItsOwnRankOnly) {
  // What was compressed ends early; the gzip stream itself is whole.
  expect_refused_locally(gzipped(images(10).substr(0, 16 + 6 * 7 + 2)), {"/x'", "truncated"},
                         {"inside record 7"});
}

TEST_F(Idx, ExtraBytesAreRefused) {
  expect_refused(images(10) + "x", {"/x'", "more bytes"});
  expect_refused_locally(gzipped(images(10) + "x"), {"/x'", "bytes after the last record"}, {"10 records"});
  expect_refused(gzipped(images(10)) + "x", {"/x'", "bytes after the end of its compressed data"});
  expect_refused(gzipped(images(10)) + "\x1F" + "x", {"/x'", "damaged"});
  expect_refused(gzipped(images(10)) + gzipped("x"), {"/x'", "bytes after the last record"});
}

TEST_F(Idx, ExtraBytesAreSeenByEveryRankOfRoundRobinAndTheLastOfContiguous) {
  DataSpec spec = spec_of(gzipped(images(10) + "x"), labels(10));
  EXPECT_NO_THROW(read_all(spec, 0, 2));
  expect_error(ExitCode::kData, {"bytes after"}, [&] { read_all(spec, 1, 2); });
  expect_error(ExitCode::kData, {"bytes after"}, [&] { read_all(spec, 19, 20); });
  spec.shards = ShardRule::kRoundRobin;
  for (int rank = 0; rank < 3; ++rank)
    expect_error(ExitCode::kData, {"bytes after"}, [&] { read_all(spec, rank, 3); });
}

TEST_F(Idx, EveryFlippedByteOfACompressedFileIsSeen) {
  const std::string packed = gzipped(images(10));
  for (std::size_t i = 0; i < packed.size(); ++i) {
    if (i >= 4 && i < 10) continue;  // time, level and operating system: they mean nothing
    std::string bad = packed;
    bad[i] = static_cast<char>(bad[i] ^ 0x55);
    expect_refused(bad, {"/x'"});
  }
}

TEST_F(Idx, HeadersThatAreNotIdxOrNotReadable) {
  expect_refused("PK\x03\x04 and so on, a zip file", {"/x'", "not an IDX file", "data.format = \"npz\""});
  expect_refused(idx_header(0x08, {}) + "x", {"no dimensions"});
  expect_refused(idx_header(0x07, {10, 2, 3}) + std::string(60, 'x'), {"element type", "7"});
  expect_refused(idx_header(0x09, {10, 2, 3}) + std::string(60, 'x'), {"int8", "uint8 and float32"});
  expect_refused(idx_header(0x0B, {10, 2, 3}) + std::string(120, 'x'), {"int16"});
  expect_refused(idx_header(0x0C, {10, 2, 3}) + std::string(240, 'x'), {"int32"});
  expect_refused(idx_header(0x0E, {10, 2, 3}) + std::string(480, 'x'), {"float64"});
  std::string swapped = images(10);
  std::swap(swapped[0], swapped[3]);
  expect_refused(swapped, {"two zero bytes"});
}

TEST_F(Idx, LyingCountsAreRefusedBeforeAnythingIsAllocated) {
  const std::string body = images(10).substr(16);
  expect_refused_locally(idx_header(0x08, {11, 2, 3}) + body, {"truncated"}, {"11 x 2 x 3"});
  expect_refused_locally(idx_header(0x08, {9, 2, 3}) + body, {"more bytes"}, {"9 x 2 x 3"});
  expect_refused_locally(idx_header(0x08, {0xFFFFFFFF, 2, 3}) + body, {"truncated"}, {"4294967295 x 2 x 3"});
  expect_refused_locally(gzipped(idx_header(0x08, {0xFFFFFFFF, 2, 3}) + body), {"can hold"},
                         {"4294967295 x 2 x 3"});
  expect_refused(gzipped(idx_header(0x08, {11, 2, 3}) + body), {"truncated"}, 11);
  const std::uint32_t huge = 0xFFFFFFFF;
  expect_refused(idx_header(0x08, {10, huge, huge, huge}) + body, {"than any file can hold"});
  expect_refused(idx_header(0x0D, {huge, huge, 2}) + body, {"than any file can hold"});
  expect_refused(idx_header(0x08, {0, huge, huge, huge}), {"than any file can hold"});
  expect_refused(idx_header(0x08, {1u << 31, 1u << 31, 4}) + body,
                 {"than any file can hold"});  // 2^64: wraps to 0
}

TEST_F(Idx, LabelsMustFitTheRecords) {
  const auto refused = [&](const std::string& y, std::initializer_list<std::string> parts) {
    const DataSpec spec = spec_of(images(10), y);
    expect_error(ExitCode::kData, parts, [&] { read_all(spec); });
  };
  refused(labels(9), {"/x'", "/y'", "different numbers of records"});
  refused(labels(11), {"/x'", "/y'", "different numbers of records"});
  refused(labels(10).substr(0, 17), {"/y'", "truncated"});
  refused(gzipped(labels(10).substr(0, 17)), {"/y'", "truncated"});
  refused(labels(10) + "x", {"/y'", "more bytes"});
  refused(gzipped(labels(10) + "x"), {"/y'", "bytes after"});
  refused(images(10), {"/y'", "does not hold labels", "exchanged"});
  refused(idx_floats({10}, std::vector<float>(10, 0.0f)), {"/y'", "does not hold labels", "float32"});
}

TEST_F(Idx, MissingFilesAndFoldersAreIoErrors) {
  DataSpec spec = spec_of(images(1), labels(1));
  spec.labels = "absent";
  expect_error(ExitCode::kIo, {"absent", "No such file"}, [&] { open_shard(spec, 0, 1); });
  spec.labels = ".";
  expect_error(ExitCode::kIo, {"not a regular file"}, [&] { open_shard(spec, 0, 1); });
}

}  // namespace
}  // namespace muffle::data::test
