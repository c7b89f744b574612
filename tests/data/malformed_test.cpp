#include <gtest/gtest.h>

#include "data/shard_fixture.hpp"
#include "support/expect_error.hpp"
#include "support/mutate.hpp"

namespace muffle::data::test {
namespace {

using muffle::test::expect_error;
using muffle::test::expect_local_detail;

class Malformed : public Shards {
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

TEST_F(Malformed, TruncationAtEveryLengthIsSeenPlainAndCompressed) {
  const std::string plain = images(10), packed = gzipped(plain);
  for (std::size_t n = 0; n < plain.size(); ++n) expect_refused(plain.substr(0, n), {"/x'", "truncated"});
  for (std::size_t n = 2; n < packed.size(); ++n) expect_refused(packed.substr(0, n), {"/x'", "truncated"});
  for (std::size_t n = 0; n < 2; ++n) expect_refused(packed.substr(0, n), {"/x'"});
}

TEST_F(Malformed, PlainTruncationIsSeenBeforeAnyRecordIsRead) {
  const DataSpec spec = spec_of(images(10).substr(0, 70), labels(10));
  expect_local_detail(ExitCode::kData, {"/x'", "truncated"}, {"10 x 2 x 3", "76 bytes", "has 70 bytes"},
                      [&] { open_shard(spec, 0, 4); });
}

TEST_F(Malformed, ACutInsideTheStreamNamesTheRecordOnItsOwnRankOnly) {
  // What was compressed ends early; the gzip stream itself is whole.
  expect_refused_locally(gzipped(images(10).substr(0, 16 + 6 * 7 + 2)), {"/x'", "truncated"},
                         {"inside record 7"});
}

TEST_F(Malformed, ExtraBytesAreRefused) {
  expect_refused(images(10) + "x", {"/x'", "more bytes"});
  expect_refused_locally(gzipped(images(10) + "x"), {"/x'", "bytes after the last record"}, {"10 records"});
  expect_refused(gzipped(images(10)) + "x", {"/x'", "bytes after the end of its compressed data"});
  expect_refused(gzipped(images(10)) + "\x1F" + "x", {"/x'", "damaged"});
  expect_refused(gzipped(images(10)) + gzipped("x"), {"/x'", "bytes after the last record"});
}

TEST_F(Malformed, ExtraBytesAreSeenByEveryRankOfRoundRobinAndTheLastOfContiguous) {
  DataSpec spec = spec_of(gzipped(images(10) + "x"), labels(10));
  EXPECT_NO_THROW(read_all(spec, 0, 2));
  expect_error(ExitCode::kData, {"bytes after"}, [&] { read_all(spec, 1, 2); });
  expect_error(ExitCode::kData, {"bytes after"}, [&] { read_all(spec, 19, 20); });
  spec.shards = ShardRule::kRoundRobin;
  for (int rank = 0; rank < 3; ++rank)
    expect_error(ExitCode::kData, {"bytes after"}, [&] { read_all(spec, rank, 3); });
}

TEST_F(Malformed, ABadChecksumOrLengthInTheGzipTrailerIsSeen) {
  const std::string packed = gzipped(images(10));
  for (const std::size_t from_end : {8u, 5u, 4u, 1u}) {
    std::string bad = packed;
    bad[bad.size() - from_end] = static_cast<char>(bad[bad.size() - from_end] ^ 1);
    expect_refused(bad, {"/x'", "damaged"});
  }
}

TEST_F(Malformed, EveryFlippedByteOfACompressedFileIsSeen) {
  const std::string packed = gzipped(images(10));
  for (std::size_t i = 0; i < packed.size(); ++i) {
    if (i >= 4 && i < 10) continue;  // time, level and operating system: they mean nothing
    std::string bad = packed;
    bad[i] = static_cast<char>(bad[i] ^ 0x55);
    expect_refused(bad, {"/x'"});
  }
}

TEST_F(Malformed, HeadersThatAreNotIdxOrNotReadable) {
  expect_refused("PK\x03\x04 and so on, a zip file", {"/x'", "not an IDX file"});
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

TEST_F(Malformed, LyingCountsAreRefusedBeforeAnythingIsAllocated) {
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

TEST_F(Malformed, LabelsMustFitTheRecords) {
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
  refused(images(10), {"/y'", "not a label file", "exchanged"});
  refused(idx_floats({10}, std::vector<float>(10, 0.0f)), {"/y'", "not a label file", "float32"});
}

TEST_F(Malformed, MutatedFilesParseOrThrowAnError) {
  // Both files damaged in turn, plain and compressed; under the sanitizers this also shows that no byte
  // outside a buffer is touched. A batch is far smaller than what a damaged header may declare.
  const std::string x = idx_floats({10, 6}, std::vector<float>(60, 0.25f)), y = labels(10);
  muffle::test::Mutator mutate(2);
  int parsed = 0, refused = 0;
  for (int i = 0; i < 3000; ++i) {
    const bool packed = i % 2 == 1, features = i % 4 < 2;
    std::string damaged = mutate(features ? x : y);
    if (packed) damaged = i % 8 < 4 ? gzipped(damaged) : mutate(gzipped(features ? x : y));
    DataSpec spec = spec_of(features ? damaged : x, features ? y : damaged);
    spec.schema.shape = {6};
    spec.schema.hi = 1.0;
    spec.schema.on_error = i % 3 == 0 ? schema::OnError::kClamp : schema::OnError::kRejectFile;
    try {
      parsed += read_all(spec, 0, 1, 3).n == 10 ? 1 : 0;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::kData) << error.what();
      ++refused;
    }
  }
  EXPECT_GT(parsed, 30);
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace muffle::data::test
