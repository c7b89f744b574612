// Folders of pictures. What all formats must do, of the PNGs that muffle writes, is in
// format_conformance_test.cpp.
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <zlib.h>

#include <filesystem>
#include <fstream>

#include "data/drain.hpp"
#include "data/picture_files.hpp"
#include "muffle/core/files.hpp"
#include "muffle/data/format.hpp"
#include "muffle/data/record_check.hpp"
#include "support/expect_error.hpp"
#include "support/mutate.hpp"
#include "support/temporary_folder.hpp"

namespace muffle::data::test {
namespace {

using muffle::test::expect_error;
using muffle::test::expect_local_detail;
namespace fs = std::filesystem;

using Bytes = std::vector<std::uint8_t>;

/// Interleaved, of levels that change slowly.
Bytes ramp(std::size_t height, std::size_t width, std::size_t channels) {
  Bytes out;
  for (std::size_t y = 0; y < height; ++y) {
    for (std::size_t x = 0; x < width; ++x) {
      for (std::size_t c = 0; c < channels; ++c)
        out.push_back(static_cast<std::uint8_t>(20 + 9 * y + 5 * x + 40 * c));
    }
  }
  return out;
}

class Pictures : public ::testing::Test {
 protected:
  void put(const std::string& file, const std::string& bytes) const {
    fs::create_directories((folder_ / file).parent_path());
    fs::remove(folder_ / file);
    std::ofstream(folder_ / file, std::ios::binary) << bytes;
  }
  void put_grey(const std::string& file, std::uint8_t level) const {
    const Bytes pixels(4, level);
    put(file, png_of(pixels.data(), 2, 2, PNG_FORMAT_GRAY));
  }
  DataSpec spec(std::vector<std::size_t> shape = {1, 2, 2}, std::size_t classes = 2) const {
    DataSpec out;
    out.format = "png";
    out.dir = folder_.path().string();
    out.features = "all";
    out.schema.shape = std::move(shape);
    out.schema.classes = classes;
    if (classes == 2) out.schema.class_names = {"cat", "dog"};
    return out;
  }
  /// The numbers of an only picture.
  Bytes read(const DataSpec& spec) const {
    Row row;
    open_records(spec)->read(row);
    return row.bytes;
  }
  /// The first pixels of all records, and the labels.
  static std::pair<Bytes, std::vector<std::int64_t>> levels(const DataSpec& spec) {
    const auto stream = open_records(spec);
    std::pair<Bytes, std::vector<std::int64_t>> out;
    Row row;
    for (std::uint64_t i = 0; i < stream->records(); ++i) {
      stream->read(row);
      out.first.push_back(row.bytes[0]);
      out.second.push_back(row.label);
    }
    return out;
  }
  void refused(const DataSpec& spec, std::initializer_list<std::string> local) const {
    expect_local_detail(ExitCode::kData, {"/all'", "log", "muffle check"}, local, [&] { read_all(spec); });
    const RecordCheck check = check_records(spec, 0, 10);
    EXPECT_TRUE(check.refused);
    ASSERT_EQ(check.places.size(), 1u);
    for (const std::string& part : local) EXPECT_THAT(check.places[0], ::testing::HasSubstr(part));
  }

  /// Of an only picture: it counts as nothing, or is refused.
  void unfit(DataSpec spec, std::initializer_list<std::string> local) const {
    EXPECT_EQ(read_all(spec).y, std::vector<std::int32_t>{schema::kNoClass});
    EXPECT_EQ(read(spec), Bytes(spec.schema.dims(), 0));
    const RecordCheck check = check_records(spec, 0, 10);
    EXPECT_FALSE(check.refused);
    EXPECT_EQ(check.counts.size(), 1u);
    ASSERT_EQ(check.places.size(), 1u);
    for (const std::string& part : local) EXPECT_THAT(check.places[0], ::testing::HasSubstr(part));
    spec.schema.on_error = schema::OnError::kRejectFile;
    expect_local_detail(ExitCode::kData, {"/all'", "picture of another size", "reject-file"}, local,
                        [&] { read_all(spec); });
  }

  muffle::test::TemporaryFolder folder_;
};

TEST_F(Pictures, AreInTheOrderOfTheFilesOwnNamesWithTheirFoldersClasses) {
  put_grey("all/dog/1.png", 10);
  put_grey("all/cat/2.PNG", 20);
  put_grey("all/dog/2.PNG", 30);
  put_grey("all/cat/3.png", 40);
  put_grey("all/cat/10.png", 50);
  put("all/.DS_Store", "x");
  put("all/cat/Thumbs.db", "x");
  EXPECT_EQ(levels(spec()), (std::pair{Bytes{10, 50, 20, 30, 40}, std::vector<std::int64_t>{1, 0, 0, 1, 0}}));
  DataSpec turned = spec();
  turned.schema.class_names = {"dog", "cat"};
  EXPECT_EQ(levels(turned).second, (std::vector<std::int64_t>{0, 1, 1, 0, 1}));
  // Without classes: whatever the folders are called, and pictures beside them.
  put_grey("all/0.png", 60);
  EXPECT_EQ(levels(spec({1, 2, 2}, 1)),
            (std::pair{Bytes{60, 10, 50, 20, 30, 40}, std::vector<std::int64_t>(6, 0)}));
}

TEST_F(Pictures, ClassesAreComparedAsPeopleReadThem) {
  put_grey("all/na\u0308he/1.png", 10);  // as macOS writes it
  put_grey("all/weite/2.png", 20);
  DataSpec named = spec();
  named.schema.class_names = {"weite", "n\u00E4he"};
  EXPECT_EQ(levels(named).second, (std::vector<std::int64_t>{1, 0}));
  named.schema.class_names = {"weite"};
  expect_error(ExitCode::kData, {"class_names", "2 classes"}, [&] { read_all(named); });
  named.schema.class_names = {"weite", "weite"};
  expect_error(ExitCode::kData, {"class_names"}, [&] { read_all(named); });
  for (const std::string& other :
       {std::string(), std::string(" "), std::string("a\tb"), std::string(256, 'n')}) {
    named.schema.class_names = {"weite", other};
    expect_error(ExitCode::kData, {"class_names", "1 to 255 bytes"}, [&] { read_all(named); });
  }
  std::string composed;  // 255 bytes, and 510 as it is released
  for (int i = 0; i < 85; ++i) composed += "\u0958";
  named.schema.class_names = {"weite", composed};
  expect_error(ExitCode::kData, {"class_names", "1 to 255 bytes"}, [&] { read_all(named); });
  named.schema.class_names = {"a/b", "a_b"};
  expect_error(ExitCode::kData, {"class_names", "2 classes"}, [&] { read_all(named); });
}

TEST_F(Pictures, FoldersOfClassesLieWhereTheyAreMade) {
  put_grey("all/T-shirt_top/1.png", 10);
  put_grey("all/_._boots/2.png", 20);
  DataSpec named = spec();
  named.schema.class_names = {"../boots", "T-shirt/top"};
  EXPECT_EQ(levels(named).second, (std::vector<std::int64_t>{1, 0}));
  schema::Records made{{1, 2, 2}, Bytes(8, 7), {}, {1, 0}};
  schema::RecordKind kind = made.kind();
  kind.class_names = named.schema.class_names;
  const auto written = find_format("png").writers(folder_.path(), "made", kind);
  ASSERT_EQ(written.size(), 1u);
  written[0].writer->add(made);
  written[0].writer->finish({});
  named.features = "made-png";
  EXPECT_EQ(levels(named).second, (std::vector<std::int64_t>{1, 0}));
  EXPECT_TRUE(fs::exists(folder_ / "made-png/T-shirt_top/000000.png"));
  EXPECT_TRUE(fs::exists(folder_ / "made-png/_._boots/000001.png"));
}

TEST_F(Pictures, ATableNamesThem) {
  put_grey("all/a.png", 10);
  put_grey("all/deep/er/b.png", 20);
  put_grey("all/unlisted.png", 30);
  DataSpec listed = spec();
  listed.labels = "labels.csv";
  put("labels.csv", "label,from,file\ndog,x,deep/er/b.png\n cat ,y,\"a.png\"\n");
  EXPECT_EQ(levels(listed), (std::pair{Bytes{20, 10}, std::vector<std::int64_t>{1, 0}}));
  put("labels.csv", "a.png;1\ndeep/er/b.png;7\n");
  listed.header = false;
  listed.separator = ';';
  listed.schema.class_names.clear();
  EXPECT_EQ(levels(listed).second, (std::vector<std::int64_t>{1, 7})) << "data.on_error decides about 7";
  const auto wrong = [&](const std::string& rows, const std::string& why) {
    put("labels.csv", rows);
    expect_local_detail(ExitCode::kData, {"labels.csv", "muffle check"}, {"row 2", why},
                        [&] { read_all(listed); });
  };
  wrong("a.png;1\n../all/a.png;1\n", "names no file");
  wrong("a.png;1\n/etc/passwd;1\n", "names no file");
  wrong("a.png;1\n./a.png;1\n", "names no file");
  wrong("a.png;1\n;1\n", "names no file");
  wrong("a.png;1\na.png;0\n", "second time");
  wrong("a.png;1\nunlisted.png;cat\n", "no class");
  wrong("a.png;1\nunlisted.png\n", "too few");
  put("labels.csv", "a.png;1\ngone.png;1\n");
  refused(listed, {"gone.png", "cannot be read"});
  listed.header = true;
  put("labels.csv", "a.png;1\n");
  expect_error(ExitCode::kData, {"labels.csv", "file and label"}, [&] { read_all(listed); });
  listed.labels = "absent.csv";
  expect_error(ExitCode::kIo, {"absent.csv"}, [&] { read_all(listed); });
}

TEST_F(Pictures, NamesThatAreWrongAreSaidOnTheirOwnRankAlone) {
  const DataSpec two = spec();
  put_grey("all/cat/1.png", 10);
  EXPECT_EQ(levels(two).first.size(), 1u) << "no dog is no error";
  const auto wrong = [&](const std::string& file, const std::string& local) {
    refused(two, {local});
    fs::remove_all(folder_ / "all" / file);
  };
  put_grey("all/bird/1.png", 10);
  wrong("bird", "'bird' is named as no class");
  put_grey("all/2.png", 10);
  wrong("2.png", "'2.png' lies in no class's folder");
  put_grey("all/cat/inner/2.png", 10);
  wrong("cat/inner", "'cat/inner' is no regular file");
  put("all/cat/2.gif", "GIF89a");
  wrong("cat/2.gif", "'cat/2.gif' does not end");
  put_grey("all/cat/caf\xE9.png", 10);
  wrong("cat/caf\xE9.png", "is no UTF-8");
  fs::create_symlink(folder_ / "all/cat/1.png", folder_ / "all/cat/2.png");
  wrong("cat/2.png", "'cat/2.png' is a link");
  fs::create_directory_symlink(folder_ / "all/cat", folder_ / "all/dog");
  wrong("dog", "'dog' is a link");
  DataSpec numbered = two;
  numbered.schema.class_names.clear();
  refused(numbered, {"'cat' is named as no class"});
  DataSpec listed = two;
  listed.labels = "labels.csv";
  fs::create_directory_symlink(folder_ / "all/cat", folder_ / "all/way");
  put("labels.csv", "file,label\nway/1.png,cat\n");
  expect_local_detail(ExitCode::kData, {"/all'"}, {"way/1.png"}, [&] { read_all(listed); });
  DataSpec file = two;
  file.features = "all/cat/1.png";
  expect_error(ExitCode::kData, {"is a file"}, [&] { read_all(file); });
  file.labels = "labels.csv";
  expect_error(ExitCode::kData, {"is a file"}, [&] { read_all(file); });
}

TEST_F(Pictures, OtherSizesAreAnErrorOrMadeOfAreaMeansInIntegers) {
  const Bytes pixels{0,  10, 20, 30, 40,  50,  //
                     60, 70, 80, 90, 100, 111};
  put("all/cat/only.png", png_of(pixels.data(), 2, 6, PNG_FORMAT_GRAY));
  unfit(spec(), {"cat/only.png' has 2 x 6 pixels", "data.shape says 2 x 2"});
  DataSpec other = spec();
  other.resize = Resize::kStretch;
  EXPECT_EQ(read(other), (Bytes{10, 40, 70, 100})) << "100.33";
  other.resize = Resize::kCrop;
  EXPECT_EQ(read(other), (Bytes{20, 30, 80, 90}));
  other.schema.shape = {1, 1, 4};  // 1.5 columns each, both rows
  other.resize = Resize::kStretch;
  EXPECT_EQ(read(other), (Bytes{33, 47, 63, 77})) << "(2 (0 + 60) + 10 + 70) / 6 = 33.3, and so on";
  other.schema.shape = {1, 4, 12};
  const Bytes large = read(other);
  for (std::size_t y = 0; y < 4; ++y) {
    for (std::size_t x = 0; x < 12; ++x) EXPECT_EQ(large[y * 12 + x], pixels[y / 2 * 6 + x / 2]);
  }
  other.schema.shape = {3, 2, 2};
  EXPECT_EQ(read(other), (Bytes{10, 40, 70, 100, 10, 40, 70, 100, 10, 40, 70, 100})) << "grey for colour";
}

TEST_F(Pictures, OfEveryKindThatHasAsManyChannels) {
  const Bytes grey = ramp(2, 2, 1), colour = ramp(2, 2, 3), clear = ramp(2, 2, 4), half = ramp(2, 2, 2);
  const auto put_only = [&](const std::string& bytes) { put("all/cat/only.png", bytes); };
  const auto plane = [](const Bytes& pixels, std::size_t channels) {
    Bytes out;
    for (std::size_t c = 0; c < channels; ++c) {
      for (std::size_t p = 0; p < 4; ++p) out.push_back(pixels[p * channels + c]);
    }
    return out;
  };
  put_only(png_of(colour.data(), 2, 2, PNG_FORMAT_RGB));
  EXPECT_EQ(read(spec({3, 2, 2})), plane(colour, 3));
  unfit(spec(), {"has 3 channels", "data.shape says 1"});
  put_only(png_of(half.data(), 2, 2, PNG_FORMAT_GA));
  EXPECT_EQ(read(spec({2, 2, 2})), plane(half, 2));
  unfit(spec(), {"has 2 channels"});
  unfit(spec({3, 2, 2}), {"has 2 channels"});
  put_only(png_of(clear.data(), 2, 2, PNG_FORMAT_RGBA));
  unfit(spec({3, 2, 2}), {"has 4 channels"});
  const Bytes colours{1, 2, 3, 40, 50, 60}, places{1, 0, 0, 1};
  put_only(png_of(places.data(), 2, 2, PNG_FORMAT_RGB_COLORMAP, colours.data(), 2));
  EXPECT_EQ(read(spec({3, 2, 2})), (Bytes{40, 1, 1, 40, 50, 2, 2, 50, 60, 3, 3, 60}));
  const std::vector<std::uint16_t> deep{0, 1000, 30000, 65535};
  put_only(png_of(deep.data(), 2, 2, PNG_FORMAT_LINEAR_Y));
  unfit(spec(), {"16 bits"});
  put_only(jpeg_of(ramp(2, 2, 4), 2, 2, 4));
  unfit(spec({3, 2, 2}), {"has 4 channels"});
  expect_error(ExitCode::kData, {"/all'", "[4, 2, 2]"}, [&] { read_all(spec({4, 2, 2})); });
  expect_error(ExitCode::kData, {"/all'", "[4]"}, [&] { read_all(spec({4})); });
  put_only("not a picture");
  refused(spec(), {"no PNG and no JPEG"});
  put_only("");
  refused(spec(), {"is cut off"});
}

TEST_F(Pictures, JpegsAreReadWithinTheirOwnLossAndCutOffNowhere) {
  for (const int channels : {1, 3}) {
    for (const bool progressive : {false, true}) {
      const Bytes pixels = ramp(8, 16, static_cast<std::size_t>(channels));
      const std::string good = jpeg_of(pixels, 8, 16, channels, progressive);
      const DataSpec of = spec({static_cast<std::size_t>(channels), 8, 16});
      put("all/cat/only.jpeg", good);
      const Bytes got = read(of);
      for (std::size_t i = 0; i < got.size(); ++i) {
        const auto at = i % 128 * static_cast<std::size_t>(channels) + i / 128;
        ASSERT_NEAR(got[i], pixels[at], 3) << i;
      }
      for (std::size_t n = 0; n < good.size(); ++n) {
        put("all/cat/only.jpeg", good.substr(0, n));
        const std::string said =
            expect_local_detail(ExitCode::kData, {"/all'"}, {"cat/only.jpeg' is cut off"}, [&] { read(of); });
        ASSERT_FALSE(said.empty()) << n << " bytes of " << good.size();
      }
      muffle::test::Mutator mutate(3);
      for (int i = 0; i < 500; ++i) {
        put("all/cat/only.jpeg", mutate(good));
        try {
          (void)read(of);
        } catch (const DataError&) {
        }
      }
    }
  }
}

TEST_F(Pictures, AHeaderOfAHugePictureIsRefusedBeforeItIsDecoded) {
  const Bytes pixel(1);
  std::string bomb = png_of(pixel.data(), 1, 1, PNG_FORMAT_GRAY);
  constexpr std::size_t kHeader = 12, kSizes = 16, kSum = 29;  // behind the signature and the piece's length
  for (const std::size_t at : {kSizes, kSizes + 4}) bomb.replace(at, 4, std::string("\0\0\x75\x30", 4));
  const uLong sum = ::crc32(0, reinterpret_cast<const Bytef*>(bomb.data()) + kHeader, kSum - kHeader);
  for (std::size_t i = 0; i < 4; ++i) bomb[kSum + i] = static_cast<char>(sum >> (24 - 8 * i) & 0xFF);
  put("all/cat/bomb.png", bomb);
  DataSpec of = spec();
  of.resize = Resize::kStretch;
  unfit(of, {"30000 x 30000", "4096"});
  std::string jpeg = jpeg_of(ramp(8, 8, 1), 8, 8, 1);
  const std::size_t frame = jpeg.find("\xFF\xC0");
  ASSERT_NE(frame, std::string::npos);
  for (const std::size_t at : {frame + 5, frame + 7}) jpeg.replace(at, 2, std::string("\x75\x30", 2));
  put("all/cat/bomb.png", jpeg);
  unfit(of, {"30000 x 30000", "4096"});
}

/// Behind its header.
std::string with_pieces(std::string png, const std::string& pieces) { return png.insert(33, pieces); }

TEST_F(Pictures, NotesAreDroppedUnread) {
  const Bytes pixels(4, 7);
  const std::string png = png_of(pixels.data(), 2, 2, PNG_FORMAT_GRAY);
  std::string zeros(std::size_t{3} << 20, '\0'), packed(std::size_t{1} << 16, '\0');
  uLongf size = packed.size();
  ASSERT_EQ(::compress(reinterpret_cast<Bytef*>(packed.data()), &size,
                       reinterpret_cast<const Bytef*>(zeros.data()), zeros.size()),
            Z_OK);
  std::string notes;
  const std::string name{"note\0\0", 6};
  for (int i = 0; i < 400; ++i) notes += png_piece("zTXt", name + packed.substr(0, size));
  rusage before{}, after{};
  getrusage(RUSAGE_SELF, &before);
  put("all/cat/only.png", with_pieces(png, notes));
  EXPECT_EQ(read(spec()), pixels);
  getrusage(RUSAGE_SELF, &after);
  EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 200 << 10) << "KiB; unpacked they are 1.2 GB";
  // A note that is damaged in itself is none of the pixels; one of another sum is damage.
  put("all/cat/only.png", with_pieces(png, png_piece("zTXt", "no end")));
  EXPECT_EQ(read(spec()), pixels);
  std::string damaged = with_pieces(png, png_piece("tEXt", "a b"));
  damaged[33 + 9] ^= 1;
  put("all/cat/only.png", damaged);
  refused(spec(), {"CRC"});
}

TEST_F(Pictures, OneThatDoesNotFitCountsAsNothingWithoutClassesToo) {
  put_grey("all/1.png", 10);
  const Bytes pixels(6);
  put("all/2.png", png_of(pixels.data(), 2, 3, PNG_FORMAT_GRAY));
  put_grey("all/3.png", 30);
  EXPECT_EQ(read_all(spec({1, 2, 2}, 1)).y, (std::vector<std::int32_t>{0, schema::kNoClass, 0}));
  EXPECT_EQ(levels(spec({1, 2, 2}, 1)).first, (Bytes{10, 0, 30}));
}

TEST_F(Pictures, ComeInSmallLotsSoThatOthersAreLetIn) {
  for (int i = 0; i < 300; ++i) put_grey("all/" + std::to_string(1000 + i) + ".png", 10);
  const auto source = open_shard(spec({1, 2, 2}, 1), 0, 1);
  Batch batch;
  source->next(1024, batch);
  EXPECT_LE(batch.n, 256u);
  EXPECT_EQ(batch.x.size(), 4 * batch.n);
  EXPECT_EQ(batch.y.size(), batch.n);
  EXPECT_EQ(batch.n + drain(*source, 1024).n, 300u);
}

TEST_F(Pictures, AnyPictureThatIsInBothIsNotHeldOut) {
  put_grey("all/cat/1.png", 10);
  put_grey("all/cat/2.png", 20);
  put_grey("all/dog/3.png", 30);
  fs::create_symlink(folder_ / "all", folder_ / "again");
  const DataSpec whole = spec();
  DataSpec again = whole, copy = whole, one = whole, other = whole;
  again.features = "again";
  EXPECT_TRUE(share_records(whole, again, 1));
  fs::create_directories(folder_ / "copy/dog");
  fs::copy_file(folder_ / "all/cat/2.png", folder_ / "copy/dog/another.png");
  copy.features = "copy";
  EXPECT_TRUE(share_records(copy, whole, 1)) << "by its bytes";
  one.labels = "one.csv", other.labels = "other.csv";
  put("one.csv", "file,label\ncat/1.png,cat\ndog/3.png,dog\n");
  put("other.csv", "file,label\ncat/2.png,cat\n");
  EXPECT_TRUE(share_records(other, whole, 1)) << "a table of the folder, and the folder";
  EXPECT_FALSE(share_records(one, other, 1));
  EXPECT_TRUE(share_records(one, one, 1));
  put("other.csv", "file,label\ncat/2.png,cat\ncat/1.png,cat\n");
  EXPECT_TRUE(share_records(one, other, 1)) << "tables that overlap";
  // Equal tables, of other pictures that are called the same.
  put_grey("beside/cat/1.png", 11);
  put_grey("beside/dog/3.png", 31);
  other.features = "beside";
  other.labels = "same.csv";
  fs::copy_file(folder_ / "one.csv", folder_ / "same.csv");
  EXPECT_FALSE(share_records(one, other, 1));
  other.features = "absent";
  EXPECT_FALSE(share_records(one, other, 1));
  // Where a folder holds what is no picture, a table of it names its pictures all the same.
  put("all/README.txt", "pictures of animals");
  EXPECT_THROW((void)share_records(one, whole, 1), DataError);
}

#ifdef MUFFLE_CIFAR_JPEGS
/// Of 250 pictures of CIFAR-10 the 200 of the training set, unpacked; not in the repository.
TEST(CifarPictures, AreReadByTheirFoldersNames) {
  DataSpec spec;
  spec.format = "png";
  spec.features = MUFFLE_CIFAR_JPEGS;
  spec.schema.shape = {3, 32, 32};
  spec.schema.classes = 10;
  spec.schema.class_names = {"airplane", "automobile", "bird",  "cat",  "deer",
                             "dog",      "frog",       "horse", "ship", "truck"};
  const RecordCheck found = check_records(spec, 0, 10);
  EXPECT_EQ(found.misfits, 0u) << ::testing::PrintToString(found.places);
  EXPECT_EQ(found.records, 200u);
  ASSERT_EQ(found.holds.size(), 2u);
  for (const auto& [label, n] : found.holds[1].counts) EXPECT_EQ(n, 20u) << label;
}
#endif

}  // namespace
}  // namespace muffle::data::test
