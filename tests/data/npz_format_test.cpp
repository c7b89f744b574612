// NumPy's arrays: header texts, types, archives that libzip wrote, .npy files.
#include <gmock/gmock.h>
#include <zip.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>

#include "data/table_fixture.hpp"
#include "muffle/core/files.hpp"
#include "muffle/data/format.hpp"
#include "muffle/data/record_check.hpp"
#include "support/expect_error.hpp"
#include "support/mutate.hpp"
#include "support/records.hpp"
#include "support/temporary_folder.hpp"

namespace muffle::data::test {
namespace {

using muffle::test::expect_error;
using muffle::test::expect_local_detail;

/// An array as NumPy writes it, with this header text.
std::string npy(const std::string& dict, const std::string& elements, int major = 1) {
  std::string out = "\x93NUMPY";
  out += static_cast<char>(major);
  out += '\0';
  for (int i = 0; i < (major == 1 ? 2 : 4); ++i) out += static_cast<char>(dict.size() >> (8 * i) & 0xFF);
  return out + dict + elements;
}

std::string array(const std::string& descr, const std::string& shape, const std::string& elements) {
  return npy("{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + ", }   \n", elements);
}

template <class T>
std::string raw(std::initializer_list<T> values) {
  return {reinterpret_cast<const char*>(values.begin()), values.size() * sizeof(T)};
}

class Npz : public testing::Test {
 protected:
  /// A zip of these members, written by libzip alone.
  DataSpec zipped(const std::string& x, const std::string& y, zip_int32_t method = ZIP_CM_STORE) {
    std::filesystem::remove(folder_ / "r.npz");
    int code = 0;
    zip_t* archive = zip_open((folder_ / "r.npz").c_str(), ZIP_CREATE | ZIP_TRUNCATE, &code);
    for (const auto& [name, content] : {std::pair{"x.npy", &x}, {"y.npy", &y}}) {
      if (content->empty()) continue;
      zip_source_t* source = zip_source_buffer(archive, content->data(), content->size(), 0);
      const auto index = static_cast<zip_uint64_t>(zip_file_add(archive, name, source, 0));
      zip_set_file_compression(archive, index, method, 0);
    }
    EXPECT_EQ(zip_close(archive), 0);
    return spec("r.npz");
  }
  DataSpec spec(const std::string& features, const std::string& labels = "") const {
    return {.format = "npz",
            .dir = folder_.path().string(),
            .features = features,
            .labels = labels,
            .schema = {.shape = {3}, .classes = 200, .on_error = schema::OnError::kRejectFile}};
  }
  void expect_refused(const std::string& x, const std::string& y, std::initializer_list<std::string> parts) {
    const DataSpec bad = zipped(x, y);
    expect_error(ExitCode::kData, parts, [&] { read_all(bad); });
  }

  const std::string x_ = array("|u1", "(2, 3)", "\1\2\3\4\5\6"), y_ = array("|u1", "(2,)", "\1\2");
  muffle::test::TemporaryFolder folder_;
};

TEST_F(Npz, ReadsEveryTypeStoredDeflatedAndInEveryVersion) {
  const Batch want = read_all(zipped(x_, y_));
  const std::vector<std::string> numbers{array("|i1", "(2, 3)", raw<std::int8_t>({1, 2, 3, 4, 5, 6})),
                                         array("<u2", "(2, 3)", raw<std::uint16_t>({1, 2, 3, 4, 5, 6})),
                                         array("<i4", "(2, 1, 3)", raw<std::int32_t>({1, 2, 3, 4, 5, 6})),
                                         array("<u8", "(2, 3)", raw<std::uint64_t>({1, 2, 3, 4, 5, 6})),
                                         array("<i8", "(2, 3, 1)", raw<std::int64_t>({1, 2, 3, 4, 5, 6})),
                                         array("<f4", "(2, 3)", raw<float>({1, 2, 3, 4, 5, 6})),
                                         array("<f8", "(2, 3)", raw<double>({1, 2, 3, 4, 5, 6})),
                                         array(">u2", "(2, 3)", std::string("\0\1\0\2\0\3\0\4\0\5\0\6", 12))};
  const std::vector<std::string> labels{array("<i8", "(2,)", raw<std::int64_t>({1, 2})),
                                        array("<u4", "(2, 1)", raw<std::uint32_t>({1, 2})),
                                        array("|i1", "(2,)", "\1\2")};
  for (const zip_int32_t method : {ZIP_CM_STORE, ZIP_CM_DEFLATE}) {
    for (const std::string& x : numbers) EXPECT_EQ(read_all(zipped(x, y_, method)).x, want.x);
    for (const std::string& y : labels) EXPECT_EQ(read_all(zipped(x_, y, method)).y, want.y);
  }
  for (const int major : {2, 3}) {
    const std::string x = npy("{\"shape\":(2,3),\"fortran_order\":False,\"descr\":\"|u1\"}", "\1\2\3\4\5\6",
                              major),
                      y = npy("{'descr': '|u1', 'fortran_order': True, 'shape': (2,)}", "\1\2", major);
    EXPECT_EQ(read_all(zipped(x, y)).x, want.x);
  }
}

TEST_F(Npz, ReadsArraysInFilesOfTheirOwn) {
  write_file_atomically(folder_ / "x.npy", x_);
  write_file_atomically(folder_ / "y.npy", y_);
  EXPECT_EQ(read_all(spec("x.npy", "y.npy")).y, (std::vector<std::int32_t>{1, 2}));
  expect_error(ExitCode::kData, {"data.labels"}, [&] { open_shard(spec("x.npy"), 0, 1); });
  expect_error(ExitCode::kData, {"data.labels", "array y"},
               [&] { open_shard(spec("r.npz", "y.npy"), 0, 1); });
  for (std::size_t n = 0; n < x_.size(); ++n) {
    write_file_atomically(folder_ / "cut.npy", x_.substr(0, n));
    expect_error(ExitCode::kData, {"cut.npy"}, [&] { open_shard(spec("cut.npy", "y.npy"), 0, 1); });
  }
  write_file_atomically(folder_ / "cut.npy", x_ + "x");
  expect_local_detail(ExitCode::kData, {"cut.npy", "more bytes"}, {"2 x 3"},
                      [&] { open_shard(spec("cut.npy", "y.npy"), 0, 1); });
}

TEST_F(Npz, RefusesArraysThatItCannotRead) {
  const auto dict = [](const std::string& text) { return npy(text, ""); };
  expect_refused(array("<c8", "(2, 3)", std::string(48, 'x')), y_, {"array x", "r.npz", "<c8", "float64"});
  expect_refused(array("<U8", "(2, 3)", ""), y_, {"array x", "<U8"});
  expect_refused(x_, array("<f4", "(2,)", std::string(8, 'x')),
                 {"array y", "does not hold labels", "float32", "y.astype"});
  expect_refused(x_, array("|u1", "(2, 3)", std::string(6, 'x')),
                 {"array y", "does not hold labels", "argmax"});
  expect_refused(array("|u1", "()", "x"), y_, {"single number"});
  expect_refused("not an array", y_, {"array x", "first bytes"});
  expect_refused(npy("{}", "", 9), y_, {"version is 9"});
  expect_refused(dict(""), y_, {"not a dict"});
  expect_refused(dict("{'descr': '|u1'}"), y_, {"incomplete"});
  expect_refused(dict("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,)}"), y_,
                 {"fields with names"});
  expect_refused(dict("{'descr': '|u1', 'fortran_order': False, 'shape': (2, -3)}"), y_,
                 {"shape is malformed"});
  expect_refused(dict("{'descr': '|u1', 'fortran_order': False, 'shape': "
                      "(99999999999999999999,)}"),
                 y_, {"malformed"});
  expect_refused(dict("{'descr': '|u1', 'surprise': 1}"), y_, {"unknown key"});
  expect_refused(std::string("\x93NUMPY\x01\0\xFF\xFF", 10), y_, {"truncated"});
  expect_refused(std::string("\x93NUMPY\x02\0\xFF\xFF\xFF\xFF", 12), y_, {"too long"});
}

TEST_F(Npz, RefusesArraysThatLieDisagreeOrAreMissing) {
  expect_refused(array("|u1", "(3, 3)", "123456"), y_, {"array x", "truncated"});
  expect_refused(array("|u1", "(1, 3)", "123456"), y_, {"array x", "more bytes"});
  expect_refused(array("<f4", "(4611686018427387904, 4)", ""), y_,
                 {"array x", "any file can hold"});  // wraps to 0
  expect_refused(array("|u1", "(3, 3)", "123456789"), y_, {"array x", "array y", "different numbers"});
  expect_refused(array("|u1", "(2, 4)", "12345678"), y_, {"array x", "shape 4", "says 3"});
  expect_refused(x_, array("<i8", "(2,)", raw<std::int64_t>({0, -1})), {"does not fit"});
  expect_refused(x_, array("<u8", "(2,)", raw<std::uint64_t>({0, ~std::uint64_t{0}})), {"does not fit"});
  expect_refused(x_, "", {"array y", "is missing"});
  DataSpec unlabelled = zipped(x_, "");
  unlabelled.schema.classes = 1;
  EXPECT_EQ(read_all(unlabelled).n, 2u);
}

TEST_F(Npz, AFlippedElementIsSeenByTheChecksum) {
  (void)zipped(x_, y_);
  std::string bad = read_file(folder_ / "r.npz");
  bad[bad.find("\1\2\3\4\5\6")] ^= 1;
  write_file_atomically(folder_ / "r.npz", bad);
  expect_error(ExitCode::kData, {"array x", "damaged", "CRC"}, [&] { read_all(spec("r.npz")); });
  write_file_atomically(folder_ / "r.npz", "not a zip file at all");
  expect_error(ExitCode::kData, {"r.npz", "not an intact .npz"}, [&] { read_all(spec("r.npz")); });
}

TEST_F(Npz, DamageBehindARightChecksumParsesOrIsBadData) {
  muffle::test::Mutator mutate(3);
  for (int i = 0; i < 2000; ++i) {
    const DataSpec bad = zipped(i % 2 == 0 ? mutate(x_) : x_, i % 2 == 1 ? mutate(y_) : y_,
                                i % 4 < 2 ? ZIP_CM_STORE : ZIP_CM_DEFLATE);
    try {
      (void)read_all(bad);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::kData) << error.what();
    }
  }
}

TEST_F(Npz, MembersAreStoredAndAlignedAsNumpyWantsInAnyTimeZone) {
  const schema::Records one{{1, 2, 3}, {1, 2, 3, 4, 5, 6}, {}, {7}};
  const auto write = [&] {
    muffle::test::write_whole(*find_format("npz").writers(folder_.path(), "w", one.kind()).front().writer,
                              one);
    return read_file(folder_ / "w.npz");
  };
  const std::string bytes = write();
  const std::size_t magic = bytes.find("\x93NUMPY"), newline = bytes.find('\n', magic);
  ASSERT_NE(magic, std::string::npos);
  EXPECT_EQ((newline + 1 - magic) % 64, 0u);
  EXPECT_NE(bytes.find("{'descr': '|u1', 'fortran_order': False, 'shape': (1, 6), }"), std::string::npos);
  EXPECT_NE(bytes.find("'shape': (1,), }"), std::string::npos);
  EXPECT_EQ(std::memcmp(bytes.data() + newline + 1, one.bytes.data(), 6), 0);
  ::setenv("TZ", "Asia/Tokyo", 1);
  ::tzset();
  EXPECT_EQ(write(), bytes);
  ::unsetenv("TZ");
  ::tzset();
  if (std::system("python3 -c 'import numpy' 2>/dev/null") != 0) return;
  const std::string check =
      "python3 -c \"import numpy, sys; a = numpy.load(sys.argv[1]); assert "
      "a['x'].tolist() == "
      "[[1, 2, 3, 4, 5, 6]] and a['x'].dtype == 'uint8' and a['y'].tolist() == "
      "[7]\" '";
  EXPECT_EQ(std::system((check + (folder_ / "w.npz").string() + "'").c_str()), 0) << "numpy.load of our file";
}

TEST_F(Npz, HalvesAreReadAsTheNumbersThatTheyAre) {
  // 1, -2, 0.5, the least of all, the largest; infinity and NaN do not fit, as of any float.
  const std::string halves = raw<std::uint16_t>({0x3C00, 0xC000, 0x3800, 0x0001, 0x7BFF, 0x8000});
  const std::string floats = raw<float>({1, -2, 0.5F, 0x1p-24F, 65504, 0});
  const auto numbers = [&](const std::string& type, const std::string& elements) {
    DataSpec one = zipped(array(type, "(2, 3)", elements), y_);
    one.schema.lo = -65504;
    one.schema.hi = 65504;
    return read_all(one).x;
  };
  EXPECT_EQ(numbers("<f2", halves), numbers("<f4", floats));
  for (const std::uint16_t odd : {0x7C00, 0xFC00, 0x7E00}) {
    const DataSpec bad =
        zipped(array("<f2", "(1, 3)", raw<std::uint16_t>({0, 0, odd})), array("|u1", "(1,)", "\1"));
    expect_error(ExitCode::kData, {"does not fit"}, [&] { read_all(bad); });
  }
}

TEST_F(Npz, FortranOrderIsReadAsCOrder) {
  // 200,000 records of 3 x 2 x 2 float64 are several parts of what is held at once; a few are one.
  for (const std::size_t records : {std::size_t{2}, std::size_t{200'000}}) {
    std::vector<double> c_order, fortran(records * 12);
    for (std::size_t i = 0; i < records; ++i) {
      for (std::size_t a = 0; a < 3; ++a) {
        for (std::size_t b = 0; b < 2; ++b) {
          for (std::size_t c = 0; c < 2; ++c) {
            c_order.push_back(static_cast<double>((i * 12 + a * 4 + b * 2 + c) % 4093));
            fortran[i + records * (a + 3 * (b + 2 * c))] = c_order.back();
          }
        }
      }
    }
    const auto bytes = [](const std::vector<double>& v) {
      return std::string(reinterpret_cast<const char*>(v.data()), v.size() * sizeof(double));
    };
    const std::string shape = "(" + std::to_string(records) + ", 3, 2, 2)";
    const std::string y = array("|u1", "(" + std::to_string(records) + ",)", std::string(records, '\1'));
    const auto with = [&](DataSpec one) {
      one.schema.shape = {3, 2, 2};
      one.schema.hi = 4093;
      return one;
    };
    const std::vector<float> want = read_all(with(zipped(array("<f8", shape, bytes(c_order)), y))).x;
    const std::string stored =
        npy("{'descr': '<f8', 'fortran_order': True, 'shape': " + shape + ", }", bytes(fortran));
    EXPECT_TRUE(read_all(with(zipped(stored, y, records == 2 ? ZIP_CM_DEFLATE : ZIP_CM_STORE))).x == want);
    write_file_atomically(folder_ / "f.npy", stored);
    write_file_atomically(folder_ / "y.npy", y);
    DataSpec plain = with(spec("f.npy", "y.npy"));
    EXPECT_TRUE(read_all(plain).x == want);
    // Each rank its own records.
    for (const ShardRule rule : {ShardRule::kContiguous, ShardRule::kRoundRobin}) {
      plain.shards = rule;
      const std::vector<float> some = read_all(plain, 1, 2).x;
      const std::size_t first = rule == ShardRule::kContiguous ? records / 2 : 1;
      ASSERT_EQ(some.size(), records / 2 * 12);
      EXPECT_TRUE(std::equal(some.begin(), some.begin() + 12,
                             want.begin() + static_cast<std::ptrdiff_t>(12 * first)));
    }
    write_file_atomically(folder_ / "f.npy", stored.substr(0, stored.size() - 1));
    expect_error(ExitCode::kData, {"fewer bytes"}, [&] { read_all(plain); });
  }
}

TEST_F(Npz, ArraysHaveNamesOfTheirOwn) {
  const auto archive = [&](const std::string& records, const std::string& labels) {
    std::filesystem::remove(folder_ / "r.npz");
    int code = 0;
    zip_t* zip = zip_open((folder_ / "r.npz").c_str(), ZIP_CREATE | ZIP_TRUNCATE, &code);
    for (const auto& [name, content] : {std::pair{records, &x_}, {labels, &y_}})
      zip_file_add(zip, (name + ".npy").c_str(), zip_source_buffer(zip, content->data(), content->size(), 0),
                   0);
    EXPECT_EQ(zip_close(zip), 0);
    return spec("r.npz");
  };
  const std::vector<float> want = read_all(zipped(x_, y_)).x;
  for (const auto& [records, labels] : {std::pair{"x_train", "y_train"},
                                        {"train_images", "train_labels"},
                                        {"arr_0", "arr_1"},
                                        {"X_train", "Y_train"}}) {
    DataSpec one = archive(records, labels);
    expect_error(ExitCode::kData,
                 {"array x", "is missing", std::string("data.arrays = [\"") + records, labels},
                 [&] { read_all(one); });
    one.arrays = {records, labels};
    EXPECT_EQ(read_all(one).x, want);
    EXPECT_EQ(read_all(one).y, (std::vector<std::int32_t>{1, 2}));
  }
}

TEST_F(Npz, ChannelsThatStandLastAreReadByTheLayout) {
  const std::string y = array("|u1", "(2,)", "\1\2");
  std::string last, first;
  for (int i = 0; i < 2; ++i) {
    for (char k = 0; k < 12; ++k) {
      last += static_cast<char>('a' + i + k);
      first += static_cast<char>('a' + i + k % 4 * 3 + k / 4);
    }
  }
  const auto images = [&](const std::string& x, bool channels_last) {
    DataSpec one = zipped(x, y);
    one.schema.shape = {3, 2, 2};
    one.schema.hi = 255;
    one.channels_last = channels_last;
    return one;
  };
  const std::vector<float> want = read_all(images(array("|u1", "(2, 3, 2, 2)", first), false)).x;
  EXPECT_EQ(read_all(images(array("|u1", "(2, 2, 2, 3)", last), true)).x, want);
  std::vector<float> floats(last.begin(), last.end());
  const std::string wide(reinterpret_cast<const char*>(floats.data()), floats.size() * sizeof(float));
  EXPECT_EQ(read_all(images(array("<f4", "(2, 2, 2, 3)", wide), true)).x, want);
  expect_error(ExitCode::kData, {"shape 3 x 2 x 2", "data.layout", "2 x 2 x 3"},
               [&] { read_all(images(array("|u1", "(2, 3, 2, 2)", first), true)); });
}

TEST_F(Npz, ChannelsThatStandLastAreNamed) {
  DataSpec images = zipped(array("|u1", "(1, 2, 2, 3)", "abcdefghijkl"), array("|u1", "(1,)", "\1"));
  images.schema.shape = {3, 2, 2};
  expect_error(ExitCode::kData,
               {"channels last, 2 x 2 x 3", "the schema says 3 x 2 x 2", "data.layout = \"channels-last\""},
               [&] { read_all(images); });
  EXPECT_THAT(check_records(images, 0, 20).places, testing::ElementsAre(testing::HasSubstr("channels last")));
  images = zipped(array("|u1", "(1, 5, 8, 3)", std::string(120, 'a')), array("|u1", "(1,)", "\1"));
  images.schema.shape = {5, 8, 3};
  images.schema.hi = 255;
  EXPECT_THAT(
      check_records(images, 0, 20).doubts,
      testing::Contains(testing::HasSubstr("means 5 channels of 8 x 3; if the images have 3 channels")));
}

class NpzTables : public Tables {
 protected:
  /// An archive of these arrays, in bytes of .npy.
  void zipped(const std::vector<std::pair<std::string, std::string>>& arrays) const {
    std::filesystem::remove(folder_ / "r.npz");
    int code = 0;
    zip_t* archive = zip_open((folder_ / "r.npz").c_str(), ZIP_CREATE | ZIP_TRUNCATE, &code);
    for (const auto& [name, content] : arrays) {
      zip_source_t* source = zip_source_buffer(archive, content.data(), content.size(), 0);
      zip_file_add(archive, (name + ".npy").c_str(), source, ZIP_FL_ENC_UTF_8);
    }
    EXPECT_EQ(zip_close(archive), 0);
  }
  DataSpec npz(const std::string& file = "r.npz") const {
    DataSpec out = spec(file);
    out.format = "npz";
    return out;
  }
  /// Two people's records are written, and read again; then Python looks at the file. @param checks  of `a`,
  /// the arrays
  void expect_written(const schema::RecordKind& kind, const std::string& checks) const {
    const auto at = [](std::uint32_t code, std::size_t codes) {
      return schema::position({code, 0.51f}, codes);
    };
    const schema::Records some{{3}, {}, {at(1, 4), at(1, 3), at(1, 4), at(3, 4), at(2, 3), at(3, 4)}, {0, 1}};
    const auto files = find_format("npz").writers(folder_.path(), "w", kind);
    files.front().writer->add(some);
    files.front().writer->finish([] {});
    DataSpec back = written_records(folder_ / "w.npz");
    back.schema = schema_of(*kind.table);
    EXPECT_EQ(codes(back), (std::vector<std::vector<int>>{{1, 1, 1, 0}, {3, 2, 3, 1}}));
    if (std::system("python3 -c 'import numpy' 2>/dev/null") != 0) return;
    const std::string check =
        "python3 -c \"import numpy, sys; a = numpy.load(sys.argv[1]); assert " + checks + "\" '";
    EXPECT_EQ(std::system((check + (folder_ / "w.npz").string() + "'").c_str()), 0);
  }
  /// Texts as NumPy's U, of ASCII and what is spelt as one char32_t each in u32.
  static std::string characters(const std::vector<std::u32string>& texts, std::size_t length) {
    std::string out;
    for (std::u32string text : texts) {
      text.resize(length);
      out.append(reinterpret_cast<const char*>(text.data()), 4 * length);
    }
    return out;
  }
  static constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  std::vector<std::pair<std::string, std::string>> arrays_{
      {"income", array("|u1", "(3,)", raw<std::uint8_t>({0, 1, 1}))},
      {"age", array("<i8", "(3,)", raw<std::int64_t>({0, 99, 20}))},
      {"height", array("<f4", "(3, 1)", raw<float>({0, 2.5F, 1.05F}))},
      {"job", array("<f8", "(3,)", raw<double>({2, kNaN, 3}))},
      {"other", "no array at all"}};
};

TEST_F(NpzTables, HaveAnArrayAColumnOrAllInOneMatrix) {
  const std::vector<std::vector<int>> want{{0, 0, 2, 0}, {3, 2, 3, 1}, {1, 1, 3, 1}};
  zipped(arrays_);
  EXPECT_EQ(codes(npz()), want);
  put("m.npy",
      array("<f8", "(3, 5)", raw<double>({0, 0, 2, 7, 0, 99, 2.5, kNaN, kNaN, 1, 20, 1.05, 3, -1e300, 1})));
  EXPECT_EQ(codes(npz("m.npy")), want) << "the ignored column is passed over";
  zipped({{"arr_0", array("|i1", "(1, 5)", raw<std::int8_t>({20, 1, 0, 9, 1}))}});
  EXPECT_EQ(codes(npz()), (std::vector<std::vector<int>>{{1, 1, 0, 1}})) << "numpy.savez(file, matrix)";
  put("m.npy", array("|i1", "(1, 5)", raw<std::int8_t>({20, 1, 0, 9, 1})));
  EXPECT_EQ(codes(npz("m.npy")), (std::vector<std::vector<int>>{{1, 1, 0, 1}}));
}

TEST_F(NpzTables, OneDimensionIsOneColumn) {
  schema::Table table;
  table.columns.push_back(number("age", 0, 99, 1, 0, {0, 50, 100}));
  const auto with = [&](const std::string& shape, std::initializer_list<std::uint8_t> numbers) {
    put("c.npy", array("|u1", shape, raw<std::uint8_t>(numbers)));
    DataSpec one = npz("c.npy");
    one.schema = schema_of(table);
    return one;
  };
  const std::vector<std::vector<int>> want{{0, 0}, {1, 0}, {1, 0}};
  EXPECT_EQ(codes(with("(3,)", {7, 50, 99})), want);
  EXPECT_EQ(codes(with("(3, 1)", {7, 50, 99})), want);
  expect_error(ExitCode::kData, {"the schema's 1 column:", "holds 2 numbers"}, [&] {
    codes(with("(2, 2)", {1, 2, 3, 4}));
  });
  expect_error(ExitCode::kData, {"the schema's 1 column:", "several dimensions"}, [&] {
    codes(with("(2, 1, 1)", {1, 2}));
  });
  table.columns.push_back(number("size", 0, 99, 1, 0, {0, 50, 100}));
  expect_error(ExitCode::kData, {"the schema's 2 columns:", "holds 1 number."}, [&] {
    codes(with("(3,)", {7, 50, 99}));
  });
}

// numpy.datetime64 and structured arrays, as pandas' to_records() writes them.
TEST_F(NpzTables, TimesAndFieldsWithNames) {
  schema::Table table;
  table.columns.push_back(number("age", 0, 99, 1, 0, {0, 50, 100}));
  table.columns.push_back(number("born", 0, 19722, 1, 0, {0, 10000, 19723}));
  table.columns.push_back(number("seen", 0, 1704067199, 1, 0, {0, 1e9, 1704067200}));
  table.columns[1].type = schema::ColumnType::kDate;
  table.columns[2].type = schema::ColumnType::kDatetime;
  for (const std::size_t j : {1U, 2U}) {
    table.columns[j].missing = true;
    table.columns[j].spellings = {""};
  }
  const auto with = [&](DataSpec one) {
    one.schema = schema_of(table);
    return one;
  };
  constexpr std::int64_t kNaT = std::numeric_limits<std::int64_t>::min(), kDay = 86400;
  const std::vector<std::vector<int>> want{{0, 1, 1, 0}, {1, 2, 2, 0}};
  const auto times = [&](const std::string& born, std::int64_t day, const std::string& seen,
                         std::int64_t second) {
    zipped({{"age", array("|u1", "(2,)", "\1\x40")},
            {"born", array(born, "(2,)", raw<std::int64_t>({day, kNaT}))},
            {"seen", array(seen, "(2,)", raw<std::int64_t>({second, kNaT}))}});
    return with(npz());
  };
  EXPECT_EQ(codes(times("<M8[D]", 12000, "<M8[s]", 1'600'000'000)), want);
  EXPECT_EQ(codes(times("<M8[s]", 12000 * kDay, "<M8[D]", 18518)), want);
  EXPECT_EQ(codes(times("<M8[ns]", 12000 * kDay * 1'000'000'000, "<M8[ns]", 1'600'000'000'999'999'999)),
            want);
  EXPECT_EQ(codes(times("<M8[M]", 12 * 30, "<M8[25us]", 1'600'000'000 * std::int64_t{40'000})), want);
  EXPECT_EQ(codes(times("<M8[Y]", 30, "<M8[h]", 444'444)), want);
  expect_error(ExitCode::kData, {"does not fit"},
               [&] { codes(times("<M8[s]", 12000 * kDay + 1, "<M8[s]", 0)); });
  expect_error(ExitCode::kData, {"<M8[x]", "datetime64"}, [&] { codes(times("<M8[x]", 0, "<M8[s]", 0)); });
  zipped({{"age", array("<M8[s]", "(1,)", raw<std::int64_t>({0}))}});
  expect_error(ExitCode::kData, {"holds times", "column 'age'"}, [&] { codes(with(npz())); });

  // index, age, a gap, seen, born: in any order, among others.
  const std::string fields =
      "[('index', '<i8'), ('age', '|u1'), ('', '|V3'), ('seen', '<M8[s]'), ('born', '<M8[D]')]";
  std::string rows;
  for (const auto& [age, seen, born] :
       {std::tuple{1, std::int64_t{1'600'000'000}, std::int64_t{12000}}, {64, kNaT, kNaT}})
    rows += raw<std::int64_t>({7}) + static_cast<char>(age) + std::string(3, '\0') +
            raw<std::int64_t>({seen, born});
  const auto records = [&](const std::string& descr) {
    return npy("{'descr': " + descr + ", 'fortran_order': False, 'shape': (2,), }", rows);
  };
  put("s.npy", records(fields));
  EXPECT_EQ(codes(with(npz("s.npy"))), want);
  EXPECT_EQ(check_records(with(npz("s.npy")), 0, 20).misfits, 0U);
  zipped({{"arr_0", records(fields)}});  // numpy.savez of one structured array
  EXPECT_EQ(codes(with(npz())), want);
  EXPECT_EQ(check_records(with(npz()), 0, 20).misfits, 0U);
  put("s.npy", records("[('a', '|S27')]").append(""));
  expect_error(ExitCode::kData, {"s.npy"}, [&] { codes(with(npz("s.npy"))); });
  put("s.npy", records("[('a', '|S28')]"));
  expect_error(ExitCode::kData, {"has no field 'age'"}, [&] { codes(with(npz("s.npy"))); });
  for (const char* bad : {"[('a', '|O')]", "[('a', [('b', '<i8')])]", "[('a', '|S28', (2, )]", "[", "[]",
                          "[(('t', 'a'), '<i8')]"}) {
    put("s.npy", records(bad));
    expect_error(ExitCode::kData, {"s.npy"}, [&] { codes(with(npz("s.npy"))); });
  }
}

// As pandas and numpy hold them: categories, numbers and persons as text, truth values as such.
TEST_F(NpzTables, ReadTextsAsAFieldOfACsvFile) {
  schema::Table table = people_table();
  table.columns[2].values.push_back({"\xC3\xA4rztin \xF0\x9F\x98\x80", {}});
  table.columns.push_back(category("smokes", {{"no", {}}, {"yes", {}}}));
  table.columns.push_back(category("patient", {}, schema::ColumnRole::kPerson));
  auto some = arrays_;
  some[0].second = array("|S6", "(3,)", std::string("<=50K\0>50K\0\0>50K. ", 18));
  some[1].second = array("<U2", "(3,)", characters({U"0", U"99", U"20"}, 2));
  some[3].second = array("<U9", "(3,)", characters({U"cook", U"NA", U"\u00E4rztin \U0001F600"}, 9));
  some.emplace_back("smokes", array("|b1", "(3,)", std::string("\1\0\1", 3)));
  some.emplace_back("patient", array("<U2", "(3,)", characters({U"x1", U"x1", U"x\u00E9"}, 2)));
  zipped(some);
  DataSpec bounded = npz();
  bounded.schema = schema_of(table);
  bounded.records_per_person = 2;
  EXPECT_EQ(codes(bounded),
            (std::vector<std::vector<int>>{{0, 0, 1, 1, 0}, {3, 2, 4, 0, 1}, {1, 1, 3, 1, 1}}));
  bounded.records_per_person = 1;
  const Batch all = read_all(bounded);
  EXPECT_EQ(std::count(all.y.begin(), all.y.end(), schema::kNoClass), 1) << "of two rows of one person";
  EXPECT_NE(all.y[2], schema::kNoClass);
  // The other byte order, a half of a surrogate pair, bytes that are no UTF-8: the last two are no category.
  DataSpec clamped = npz();
  clamped.schema.on_error = schema::OnError::kClamp;
  some = arrays_;
  some[3].second = array(">U1", "(3,)", std::string("\0\0\0?\0\0\xD8\1\0\0\0-", 12));
  zipped(some);
  EXPECT_EQ(codes(clamped)[1][2], 3) << "the missing value";
  some[3].second = array("|S5", "(3,)", std::string("clerk\xFF\xFE\0\0\0?\0\0\0\0", 15));
  zipped(some);
  EXPECT_EQ(codes(clamped)[0][2], 0);
  EXPECT_EQ(codes(clamped)[1][2], 3);
  put("m.npy", array("<U5", "(1, 5)", characters({U"20", U"1.0", U"clerk", U"note", U"<=50K"}, 5)));
  EXPECT_EQ(codes(npz("m.npy")), (std::vector<std::vector<int>>{{1, 1, 0, 0}}));
}

// What is a number in one file and a text in another means the same in both.
TEST_F(NpzTables, NumbersThatAreAColumnsTextsMeanTheseTexts) {
  schema::Table table;
  table.columns.push_back(category("grade", {{"1", {}}, {"2", {}}, {"3", {"4"}}}));
  table.columns.back().missing = true;
  table.columns.back().spellings = {"-9"};
  table.columns.push_back(number("age", 0, 99, 1, 0, {0, 50, 100}));
  table.columns.back().missing = true;
  table.columns.back().spellings = {"", "77"};
  table.columns.push_back(category("twice", {{"01", {}}, {"1", {}}, {"a", {}}}, schema::ColumnRole::kLabel));
  const auto read = [&](const std::string& bytes) {
    put("r.csv", bytes);
    DataSpec csv = spec("r.csv");
    csv.schema = schema_of(table, schema::OnError::kClamp);
    return codes(csv);
  };
  const auto numbers = [&](const std::string& twice) {
    zipped({{"grade", array("<i8", "(5,)", raw<std::int64_t>({1, 2, 3, 4, -9}))},
            {"age", array("<f8", "(5,)", raw<double>({1, 77, kNaN, 99, 0}))},
            {"twice", twice}});
    DataSpec spec = npz();
    spec.schema = schema_of(table, schema::OnError::kClamp);
    return spec;
  };
  const std::vector<std::vector<int>> want{{0, 0, 2}, {1, 2, 2}, {2, 2, 2}, {2, 1, 2}, {3, 0, 2}};
  EXPECT_EQ(read("grade,age,twice\n1,1,a\n2,77,a\n3,,a\n4,99,a\n-9,0,a\n"), want);
  EXPECT_EQ(codes(numbers(array("<U1", "(5,)", characters({U"a", U"a", U"a", U"a", U"a"}, 1)))), want);
  // 1 may be "01" or "1"; 2 is the index of "a", and no text: neither means anything.
  const DataSpec odd = numbers(array("<i8", "(5,)", raw<std::int64_t>({1, 1, 2, 2, 0})));
  for (const auto& row : codes(odd)) EXPECT_EQ(row.back(), -1);
  EXPECT_EQ(check_records(odd, 0, 20).misfits, 5U) << "the check says so, too";
  // Index and text agree: an index it is, also of the missing value.
  table.columns[0] = category("grade", {{"0", {}}, {"1", {}}, {"2", {}}});
  table.columns[0].missing = true;
  table.columns[0].spellings = {""};
  zipped({{"grade", array("<i8", "(2,)", raw<std::int64_t>({1, 3}))},
          {"age", array("<f8", "(2,)", raw<double>({1, 1}))},
          {"twice", array("<U2", "(2,)", characters({U"01", U"1"}, 2))}});
  DataSpec indices = npz();
  indices.schema = schema_of(table);
  EXPECT_EQ(codes(indices), (std::vector<std::vector<int>>{{1, 0, 0}, {3, 0, 1}}));
}

TEST_F(NpzTables, CategoriesThatAreNumbersAreWrittenAsTexts) {
  schema::Table table;
  table.columns.push_back(category("grade", {{"1", {}}, {"20", {}}, {"\xC3\xA4\xF0\x9F\x98\x80", {}}}));
  table.columns.push_back(category("y", {{"1", {}}, {"2", {}}}, schema::ColumnRole::kLabel));
  const schema::Schema schema = schema_of(table);
  schema::Records some{{1}, {}, {}, {0, 1, 1}};
  for (std::uint32_t code = 0; code < 3; ++code) some.floats.push_back(schema::position({code, 0.5f}, 3));
  const auto files = find_format("npz").writers(folder_.path(), "w", {{1}, true, 3, schema.table});
  files.front().writer->add(some);
  files.front().writer->finish([] {});
  DataSpec back = written_records(folder_ / "w.npz");
  back.schema = schema;
  EXPECT_EQ(codes(back), (std::vector<std::vector<int>>{{0, 0}, {1, 1}, {2, 1}}));
}

TEST_F(NpzTables, AreCheckedAsCsvFilesAre) {
  schema::Table table = people_table();
  table.columns.push_back(category("patient", {}, schema::ColumnRole::kPerson));
  auto some = arrays_;
  some[1].second = array("<i8", "(3,)", raw<std::int64_t>({0, 100, 20}));
  some[3].second = array("<U6", "(3,)", characters({U"cook", U"nobody", U"?"}, 6));
  some.emplace_back("patient", array("<f8", "(3,)", raw<double>({7, 7, kNaN})));
  zipped(some);
  DataSpec spec = npz();
  spec.schema.table = std::make_shared<const schema::Table>(table);
  const std::string file = (folder_ / "r.npz").string();
  const RecordCheck found = check_records(spec, 0, 20);
  EXPECT_EQ(found.records, 3U);
  EXPECT_THAT(found.places,
              testing::ElementsAre(
                  "row 2 of '" + file + "', column 'age': the field is above the column's hi",
                  "row 2 of '" + file + "', column 'job': the field is not one of the column's values",
                  testing::HasSubstr("row 3 of '" + file + "', column 'patient'")));
  spec.features = "nothing.npy";
  expect_error(ExitCode::kIo, {"nothing.npy"}, [&] { check_records(spec, 0, 20); });
}

TEST_F(NpzTables, AreRefusedWhereTheyDoNotFit) {
  const auto refused = [&](std::size_t array_of, const std::string& content,
                           std::initializer_list<std::string> open,
                           std::initializer_list<std::string> local) {
    auto some = arrays_;
    some[array_of].second = content;
    zipped(some);
    (void)expect_local_detail(ExitCode::kData, open, local, [&] { read_all(npz()); });
  };
  refused(1, array("<i8", "(3,)", raw<std::int64_t>({0, 100, 20})), {"does not fit"},
          {"row 2", "'age'", "above"});
  refused(1, array("<f8", "(3,)", raw<double>({0, 1, 0.5})), {"does not fit"}, {"row 3", "'age'", "whole"});
  refused(2, array("<f4", "(3,)", raw<float>({0, 1, std::numeric_limits<float>::infinity()})),
          {"does not fit"}, {"row 3", "'height'", "number"});
  refused(2, array("<f8", "(3,)", raw<double>({kNaN, 1, 1})), {"does not fit"},
          {"row 1", "'height'", "missing"});
  refused(3, array("<f8", "(3,)", raw<double>({0, 1, 4})), {"does not fit"},
          {"row 3", "'job'", "not one of"});
  refused(0, array("|i1", "(3,)", raw<std::int8_t>({0, -1, 1})), {"does not fit"}, {"row 2", "'income'"});
  refused(1, array("<i8", "(2,)", raw<std::int64_t>({0, 1})), {"array age", "different numbers"}, {});
  refused(1, array("<i8", "(3, 2)", raw<std::int64_t>({0, 1, 2, 3, 4, 5})),
          {"array age", "one number or text a record"}, {});
  refused(3, array("<M8", "(3,)", std::string(24, '\0')), {"array job", "<M8", "astype(str)"}, {});
  refused(3, array("<U0", "(3,)", ""), {"array job", "<U0"}, {});
  refused(3, array("<U300000", "(0,)", ""), {"array job", "<U300000", "up to 1 MiB"}, {});
  refused(3, array("<U5", "(3,)", characters({U"clerk", U"nobody", U"?"}, 5)), {"does not fit"},
          {"row 2", "'job'", "not one of"});
  auto some = arrays_;
  some.erase(some.begin() + 3);
  zipped(some);
  expect_error(ExitCode::kData, {"array job", "missing", "data.schema"}, [&] { read_all(npz()); });
  put("m.npy", array("|i1", "(1, 4)", raw<std::int8_t>({20, 1, 0, 1})));
  expect_error(ExitCode::kData, {"m.npy", "5 columns", "4 numbers"}, [&] { read_all(npz("m.npy")); });
  DataSpec labels = npz("m.npy");
  labels.labels = "l.npy";
  expect_error(ExitCode::kData, {"data.labels", "column"}, [&] { read_all(labels); });
}

TEST_F(NpzTables, TellPeopleApartByAllTheirDigits) {
  schema::Table table = people_table();
  table.columns.push_back(category("patient", {}, schema::ColumnRole::kPerson));
  constexpr std::int64_t kLong = 9'007'199'254'740'993;  // no double
  arrays_.emplace_back("patient", array("<i8", "(3,)", raw<std::int64_t>({kLong, kLong - 1, kLong})));
  zipped(arrays_);
  DataSpec bounded = npz();
  bounded.schema = schema_of(table);
  bounded.records_per_person = 1;
  const Batch all = read_all(bounded);
  EXPECT_EQ(std::count(all.y.begin(), all.y.end(), schema::kNoClass), 1);
  EXPECT_NE(all.y[1], schema::kNoClass);
}

// 0.0 and -0.0 are one number, and so one person.
TEST_F(NpzTables, TakeZeroForOnePersonWhateverItsSign) {
  schema::Table table = people_table();
  table.columns.push_back(category("patient", {}, schema::ColumnRole::kPerson));
  arrays_.emplace_back("patient", array("<f8", "(3,)", raw<double>({0.0, -0.0, -1.0})));
  zipped(arrays_);
  DataSpec bounded = npz();
  bounded.schema = schema_of(table);
  bounded.records_per_person = 1;
  const Batch all = read_all(bounded);
  EXPECT_EQ(std::count(all.y.begin(), all.y.end(), schema::kNoClass), 1);
  EXPECT_NE(all.y[2], schema::kNoClass);
}

TEST_F(NpzTables, AreWrittenAsArraysThatNumpyReads) {
  expect_written(
      {{3}, true, 2, schema_of(people_table()).table},
      "sorted(a.files) == ['age', 'height', 'income', 'job'] and a['age'].tolist() == [30, 80] and "
      "a['height'].tolist() == [1.5, 2.3] and a['job'].tolist() == [1, 3] and "
      "a['income'].tolist() == [0, 1]");
}

TEST_F(NpzTables, KeysAreWrittenAsTextsAndReadPast) {
  schema::Table table = people_table();
  schema::Column& key = *table.columns.emplace(table.columns.begin());
  key.name = "id";
  key.type = schema::ColumnType::kKey;
  key.notation.suffix = "é";
  schema::RecordKind kind{{3}, true, 2, schema_of(table).table};
  kind.keys_before = 8;
  expect_written(kind, "a['id'].tolist() == ['9\\u00e9', '10\\u00e9']");
}

}  // namespace
}  // namespace muffle::data::test
