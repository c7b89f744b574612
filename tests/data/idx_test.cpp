#include "muffle/data/idx.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "data/idx_bytes.hpp"
#include "muffle/core/files.hpp"
#include "support/expect_error.hpp"
#include "support/temporary_folder.hpp"

namespace muffle::data {
namespace {

using muffle::test::expect_error;

class Idx : public ::testing::Test {
 protected:
  std::filesystem::path file(const std::string& bytes) {
    write_file_atomically(folder_ / "f", bytes);
    return folder_ / "f";
  }
  muffle::test::TemporaryFolder folder_;
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

TEST_F(Idx, ReaderSeesTheHeaderAndTheRecordsPlainAndCompressed) {
  std::vector<float> values;
  for (int i = 0; i < 12; ++i) values.push_back(0.5f * static_cast<float>(i) - 2.0f);
  const std::string plain = test::idx_floats({4, 3}, values);
  for (const std::string& bytes :
       {plain, test::gzipped(plain), test::gzipped(plain.substr(0, 20)) + test::gzipped(plain.substr(20))}) {
    IdxReader reader(file(bytes));
    EXPECT_EQ(reader.header().type, IdxType::kFloat32);
    EXPECT_EQ(reader.header().dims, (std::vector<std::uint64_t>{4, 3}));
    EXPECT_EQ(reader.header().record_bytes(), 12u);
    std::array<std::byte, 24> two;
    reader.skip(1);
    reader.read(two);
    for (std::size_t i = 0; i < 6; ++i) EXPECT_EQ(load_float(two.data() + 4 * i), values[3 + i]);
    EXPECT_EQ(reader.position(), 3u);
    reader.skip(1);
    EXPECT_NO_THROW(reader.expect_end());
  }
}

TEST_F(Idx, SkipsFarInAPlainFile) {
  // Records of 1 KiB, so that a skip leaves the read buffer and becomes a seek.
  std::vector<std::uint8_t> bytes(2000 * 1024);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(i / 1024 % 251);
  write_idx(folder_ / "b", std::array<std::size_t, 2>{2000, 1024}, bytes);
  IdxReader reader(folder_ / "b");
  std::vector<std::byte> record(1024);
  for (const std::uint64_t i : {3u, 4u, 500u, 501u, 1998u}) {
    reader.skip(i - reader.position());
    reader.read(record);
    EXPECT_EQ(std::to_integer<std::uint64_t>(record[0]), i % 251);
    EXPECT_EQ(std::to_integer<std::uint64_t>(record[1023]), i % 251);
  }
  reader.skip(1);
  EXPECT_NO_THROW(reader.expect_end());
}

TEST_F(Idx, ReaderRefusesCallsOutsideTheFile) {
  IdxReader reader(file(test::idx_bytes({2, 2}, {1, 2, 3, 4})));
  std::array<std::byte, 6> three;
  EXPECT_THROW(reader.read(three), InvariantError);
  EXPECT_THROW(reader.read(std::span(three).first(3)), InvariantError);
  EXPECT_THROW(reader.skip(3), InvariantError);
  EXPECT_THROW(reader.expect_end(), InvariantError);
}

TEST_F(Idx, AnEmptyFileOfRecordsIsFine) {
  for (const std::string& bytes :
       {test::idx_header(0x08, {0, 28, 28}), test::gzipped(test::idx_header(0x08, {0, 28, 28}))}) {
    IdxReader reader(file(bytes));
    EXPECT_EQ(reader.header().records(), 0u);
    EXPECT_NO_THROW(reader.expect_end());
  }
}

TEST_F(Idx, MissingFilesAndFoldersAreIoErrors) {
  expect_error(ExitCode::kIo, {"absent", "No such file"}, [&] { IdxReader r(folder_ / "absent"); });
  expect_error(ExitCode::kIo, {"not a regular file"}, [&] { IdxReader r(folder_.path()); });
}

}  // namespace
}  // namespace muffle::data
