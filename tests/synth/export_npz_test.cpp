#include <gtest/gtest.h>
#include <zip.h>

#include <bit>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "muffle/core/files.hpp"
#include "muffle/data/idx.hpp"
#include "muffle/synth/export.hpp"
#include "support/expect_error.hpp"
#include "support/mutate.hpp"
#include "support/temporary_folder.hpp"

namespace muffle::synth {
namespace {

using muffle::test::expect_error;

Records images(std::size_t n) {
  Records r;
  r.shape = {1, 2, 3};
  for (std::size_t i = 0; i < 6 * n; ++i) r.bytes.push_back(static_cast<std::uint8_t>(i * 5));
  for (std::size_t i = 0; i < n; ++i) r.labels.push_back(static_cast<std::uint8_t>(i % 3));
  return r;
}

Records points(std::size_t n) {
  Records r;
  r.shape = {2};
  for (std::size_t i = 0; i < 2 * n; ++i) r.floats.push_back(0.25f * static_cast<float>(i) - 1.0f);
  for (std::size_t i = 0; i < n; ++i) r.labels.push_back(static_cast<std::uint8_t>(i % 5));
  return r;
}

/// An array as NumPy writes it, with this header text.
std::string npy(const std::string& dict, const std::string& elements, int major = 1) {
  std::string out = "\x93NUMPY";
  out += static_cast<char>(major);
  out += '\0';
  for (int i = 0; i < (major == 1 ? 2 : 4); ++i) out += static_cast<char>(dict.size() >> (8 * i) & 0xFF);
  return out + dict + elements;
}

std::string dict(const std::string& descr, const std::string& shape) {
  return "{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + ", }   \n";
}

class Npz : public ::testing::Test {
 protected:
  std::filesystem::path file() const { return folder_ / "samples.npz"; }

  void put(const std::string& bytes) {
    std::filesystem::remove(file());
    std::ofstream(file(), std::ios::binary) << bytes;
  }

  /// A zip of these two members, written by libzip alone.
  void write_zip(const std::string& x, const std::string& y, zip_int32_t method = ZIP_CM_STORE) {
    std::filesystem::remove(file());
    int code = 0;
    zip_t* archive = zip_open(file().c_str(), ZIP_CREATE | ZIP_TRUNCATE, &code);
    ASSERT_NE(archive, nullptr);
    for (const auto& [name, content] : {std::pair{"x.npy", &x}, {"y.npy", &y}}) {
      zip_source_t* source = zip_source_buffer(archive, content->data(), content->size(), 0);
      const auto index = static_cast<zip_uint64_t>(zip_file_add(archive, name, source, 0));
      ASSERT_EQ(zip_set_file_compression(archive, index, method, 0), 0);
    }
    ASSERT_EQ(zip_close(archive), 0);
  }

  void expect_refused(const std::string& x, const std::string& y, std::initializer_list<std::string> parts) {
    write_zip(x, y);
    expect_error(ExitCode::kData, parts, [&] { read_npz(file()); });
  }

  muffle::test::TemporaryFolder folder_;
};

TEST_F(Npz, ReadsBackWhatItWrote) {
  const Records bytes = images(7), floats = points(9);
  write_npz(file(), bytes);
  Records got = read_npz(file());
  EXPECT_EQ(got.shape, (std::vector<std::size_t>{6}));
  EXPECT_EQ(got.bytes, bytes.bytes);
  EXPECT_EQ(got.labels, bytes.labels);
  EXPECT_TRUE(got.floats.empty());
  write_npz(file(), floats);
  got = read_npz(file());
  EXPECT_EQ(got.floats, floats.floats);
  EXPECT_EQ(got.labels, floats.labels);
  EXPECT_TRUE(got.bytes.empty());
  write_npz(file(), images(0));
  EXPECT_EQ(read_npz(file()).count(), 0u);
}

TEST_F(Npz, TheSameRecordsMakeTheSameBytesInAnyTimeZone) {
  write_npz(file(), images(3));
  const std::string first = read_file(file());
  ::setenv("TZ", "Asia/Tokyo", 1);
  ::tzset();
  write_npz(file(), images(3));
  ::unsetenv("TZ");
  ::tzset();
  EXPECT_EQ(read_file(file()), first);
}

TEST_F(Npz, MembersAreStoredAndAlignedAsNumpyWants) {
  write_npz(file(), images(1));
  const std::string bytes = read_file(file());
  const std::size_t magic = bytes.find("\x93NUMPY");
  ASSERT_NE(magic, std::string::npos);
  const std::size_t newline = bytes.find('\n', magic);
  EXPECT_EQ((newline + 1 - magic) % 64, 0u);
  EXPECT_NE(bytes.find("{'descr': '|u1', 'fortran_order': False, 'shape': (1, 6), }"), std::string::npos);
  EXPECT_NE(bytes.find("'shape': (1,), }"), std::string::npos);
  EXPECT_EQ(std::memcmp(bytes.data() + newline + 1, images(1).bytes.data(), 6), 0);
}

TEST_F(Npz, ReadsCompressedMembersOtherVersionsAndLayouts) {
  const std::string x(12, '\x07'), y("\1\0\0\0\0\0\0\0\xFF\0\0\0\0\0\0\0", 16);
  for (const int major : {1, 2, 3}) {
    for (const zip_int32_t method : {ZIP_CM_STORE, ZIP_CM_DEFLATE}) {
      write_zip(npy(dict("|u1", "(2, 1, 2, 3)"), x, major), npy(dict("<i8", "(2,)"), y, major), method);
      const Records got = read_npz(file());
      EXPECT_EQ(got.shape, (std::vector<std::size_t>{1, 2, 3}));
      EXPECT_EQ(got.bytes, std::vector<std::uint8_t>(12, 7));
      EXPECT_EQ(got.labels, (std::vector<std::uint8_t>{1, 255}));
    }
  }
  write_zip(npy("{\"shape\":(2,6),\"fortran_order\":False,\"descr\":\"|u1\"}", x),
            npy("{'descr': '|u1', 'fortran_order': True, 'shape': (2,)}", "ab"));
  EXPECT_EQ(read_npz(file()).count(), 2u);
}

TEST_F(Npz, RefusesArraysThatItCannotRead) {
  const std::string x = npy(dict("|u1", "(2, 3)"), std::string(6, 'x')), y = npy(dict("|u1", "(2,)"), "ab");
  expect_refused(npy(dict("<f8", "(2, 3)"), std::string(48, 'x')), y, {"array x", "samples.npz", "<f8"});
  expect_refused(npy(dict(">f4", "(2, 3)"), std::string(24, 'x')), y, {"array x", ">f4"});
  expect_refused(x, npy(dict("<i4", "(2,)"), std::string(8, 'x')), {"array y", "<i4"});
  expect_refused(npy("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3), }", std::string(6, 'x')), y,
                 {"Fortran"});
  expect_refused(npy(dict("|u1", "()"), "x"), y, {"single number"});
  expect_refused(x, npy(dict("|u1", "(2, 1)"), "ab"), {"array y", "one-dimensional"});
  expect_refused("not an array", y, {"array x", "first bytes"});
  expect_refused(npy(dict("|u1", "(2, 3)"), "", 9), y, {"version is 9"});
  expect_refused(npy("", ""), y, {"not a dict"});
  expect_refused(npy("{'descr': '|u1'}", ""), y, {"incomplete"});
  expect_refused(npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,)}", ""), y,
                 {"plain number"});
  expect_refused(npy("{'descr': '|u1', 'fortran_order': False, 'shape': (2, -3)}", ""), y,
                 {"shape is malformed"});
  expect_refused(npy("{'descr': '|u1', 'fortran_order': False, 'shape': (99999999999999999999,)}", ""), y,
                 {"malformed"});
  expect_refused(npy("{'descr': '|u1', 'surprise': 1}", ""), y, {"unknown key"});
  expect_refused(std::string("\x93NUMPY\x01\0\xFF\xFF", 10), y, {"truncated"});
}

TEST_F(Npz, RefusesArraysThatLieOrDisagree) {
  const std::string x = npy(dict("|u1", "(2, 3)"), std::string(6, 'x')), y = npy(dict("|u1", "(2,)"), "ab");
  expect_refused(npy(dict("|u1", "(2, 4)"), std::string(6, 'x')), y, {"array x", "6 bytes", "shape"});
  expect_refused(npy(dict("|u1", "(2, 2)"), std::string(6, 'x')), y, {"array x", "6 bytes"});
  expect_refused(npy(dict("<f4", "(4611686018427387904, 4)"), ""), y, {"array x", "0 bytes"});  // wraps to 0
  expect_refused(npy(dict("|u1", "(3, 2)"), std::string(6, 'x')), y, {"3 records", "2 labels"});
  expect_refused(npy(dict("|u1", "(5, 0)"), ""), y, {"5 records", "2 labels"});
  const std::string labels("\1\0\0\0\0\0\0\0\0\1\0\0\0\0\0\0", 16), negative(16, '\xFF');
  expect_refused(x, npy(dict("<i8", "(2,)"), labels), {"label 1 ", "array y", "0..255"});
  expect_refused(x, npy(dict("<i8", "(2,)"), negative), {"label 0 "});
}

TEST_F(Npz, RefusesFilesThatAreNotArchivesOrAreDamaged) {
  expect_error(ExitCode::kIo, {"absent.npz"}, [&] { read_npz(folder_ / "absent.npz"); });
  put("");
  expect_error(ExitCode::kData, {"samples.npz"}, [&] { read_npz(file()); });
  put("not a zip file at all");
  expect_error(ExitCode::kData, {"samples.npz", "not an intact .npz"}, [&] { read_npz(file()); });
  write_npz(file(), images(20));
  const std::string good = read_file(file());
  std::string bad = good;
  bad[good.find('\n', good.find("\x93NUMPY")) + 10] ^= 1;  // an element of x
  put(bad);
  expect_error(ExitCode::kData, {"array x", "damaged", "CRC"}, [&] { read_npz(file()); });
  for (std::size_t n = 0; n < good.size(); n += 3) {
    put(good.substr(0, n));
    EXPECT_THROW(read_npz(file()), DataError) << n;
  }
}

TEST_F(Npz, RefusesAMissingArray) {
  int code = 0;
  zip_t* archive = zip_open(file().c_str(), ZIP_CREATE, &code);
  const std::string x = npy(dict("|u1", "(2, 3)"), std::string(6, 'x'));
  zip_file_add(archive, "x.npy", zip_source_buffer(archive, x.data(), x.size(), 0), 0);
  ASSERT_EQ(zip_close(archive), 0);
  expect_error(ExitCode::kData, {"array y", "is missing"}, [&] { read_npz(file()); });
}

TEST_F(Npz, MutatedFilesParseOrThrowAnError) {
  write_npz(file(), points(20));
  const std::string stored = read_file(file());
  write_zip(npy(dict("|u1", "(20, 30)"), std::string(600, 'x')),
            npy(dict("|u1", "(20,)"), std::string(20, 'y')), ZIP_CM_DEFLATE);
  const std::string deflated = read_file(file());
  muffle::test::Mutator mutate(3);
  int parsed = 0, refused = 0;
  for (int i = 0; i < 3000; ++i) {
    put(mutate(i % 2 == 0 ? stored : deflated));
    try {
      parsed += read_npz(file()).count() == 20 ? 1 : 0;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::kData) << error.what();
      ++refused;
    }
  }
  EXPECT_GT(parsed, 10);
  EXPECT_GT(refused, 1000);
  // Damage to an array's own header, which the checksum of the archive would hide.
  const std::string x = npy(dict("|u1", "(2, 3)"), std::string(6, 'x')),
                    y = npy(dict("<i8", "(2,)"), std::string(16, '\0'));
  for (int i = 0; i < 2000; ++i) {
    write_zip(i % 2 == 0 ? mutate(x) : x, i % 2 == 1 ? mutate(y) : y);
    try {
      read_npz(file());
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::kData) << error.what();
    }
  }
}

TEST_F(Npz, IdxFilesHoldTheSameRecords) {
  write_idx_records(folder_ / "x", images(7));
  write_idx_labels(folder_ / "y", images(7).labels);
  data::IdxReader x(folder_ / "x"), y(folder_ / "y");
  EXPECT_EQ(x.header().dims, (std::vector<std::uint64_t>{7, 2, 3}));
  EXPECT_EQ(y.header().dims, (std::vector<std::uint64_t>{7}));
  std::vector<std::byte> stored(42);
  x.read(stored);
  EXPECT_EQ(std::memcmp(stored.data(), images(7).bytes.data(), 42), 0);
  write_idx_records(folder_ / "p", points(4));
  data::IdxReader p(folder_ / "p");
  EXPECT_EQ(p.header().type, data::IdxType::kFloat32);
  EXPECT_EQ(p.header().dims, (std::vector<std::uint64_t>{4, 2}));
  Records colour = images(2);
  colour.shape = {3, 1, 2};
  write_idx_records(folder_ / "c", colour);
  EXPECT_EQ(data::IdxReader(folder_ / "c").header().dims, (std::vector<std::uint64_t>{2, 3, 1, 2}));
}

TEST_F(Npz, RecordsThatDisagreeWithThemselvesAreABug) {
  Records r = images(3);
  r.bytes.pop_back();
  expect_error(ExitCode::kInvariant, {"3 records of 6 numbers", "17 numbers"}, [&] { write_npz(file(), r); });
  r.bytes.push_back(0);
  r.floats = {1.0f};
  expect_error(ExitCode::kInvariant, {"not both"}, [&] { write_idx_records(file(), r); });
  expect_error(ExitCode::kIo, {"/proc/muffle.npz"}, [] { write_npz("/proc/muffle.npz", images(1)); });
}

}  // namespace
}  // namespace muffle::synth
