// HDF5: files that libhdf5 wrote (tests/data/make_hdf5.py), and what is refused of them.
#include <gtest/gtest.h>

#include "data/shard_fixture.hpp"
#include "muffle/core/files.hpp"
#include "muffle/data/format.hpp"
#include "support/expect_error.hpp"

namespace muffle::data::test {
namespace {

using muffle::test::expect_error;
constexpr std::size_t kRecords = 23;

class Hdf5 : public Shards {
 protected:
  static DataSpec spec(const std::string& file, const std::string& x = "x", const std::string& y = "y") {
    DataSpec out;
    out.format = "hdf5";
    out.dir = MUFFLE_HDF5_FILES;
    out.features = file + ".h5";
    out.schema = {.shape = {1, 2, 3}, .classes = 3, .hi = 255, .on_error = schema::OnError::kRejectFile};
    out.arrays = {x, y};
    out.records = kRecords;
    return out;
  }
  static void expect_counts(const DataSpec& spec, int of_label = 3) {
    const Batch all = read_all(spec);
    ASSERT_EQ(all.n, kRecords);
    for (std::size_t i = 0; i < 6 * kRecords; ++i)
      EXPECT_FLOAT_EQ(all.x[i], static_cast<float>(i) / 255.0f) << i;
    for (std::size_t i = 0; i < kRecords; ++i) {
      const int label = static_cast<int>(i % 3);
      EXPECT_EQ(all.y[i], of_label == 3 ? label : label == of_label ? 1 : 0);
    }
  }
  static std::string refused(const DataSpec& spec, std::initializer_list<std::string> parts) {
    return expect_error(ExitCode::kData, parts, [&] { read_all(spec); });
  }
};

TEST_F(Hdf5, ReadsWhatLibhdf5Wrote) {
  for (const char* name : {"gzip", "big", "halves", "many-names", "compact", "latest"}) {
    SCOPED_TRACE(name);
    expect_counts(spec(name));
  }
  expect_counts(spec("newer", "train/x", "/train/y"), /*of_label=*/1);
  DataSpec many = spec("many-chunks");
  many.schema.shape = {1};
  many.records = 300;
  const Batch all = read_all(many);
  for (std::size_t i = 0; i < 300; ++i) EXPECT_FLOAT_EQ(all.x[i], static_cast<float>(i % 256) / 255.0f);
}

TEST_F(Hdf5, RanksPassOverChunksThatAreNotTheirs) {
  for (const char* name : {"gzip", "big", "halves"}) {
    const Batch all = read_all(spec(name));
    for (const ShardRule rule : {ShardRule::kContiguous, ShardRule::kRoundRobin}) {
      DataSpec mine = spec(name);
      mine.shards = rule;
      for (std::size_t rank = 0; rank < 3; ++rank) {
        const Batch shard = read_all(mine, static_cast<int>(rank), 3);
        for (std::size_t i = 0; i < shard.n; ++i) {
          const std::size_t record = rule == ShardRule::kRoundRobin ? rank + 3 * i : rank * kRecords / 3 + i;
          EXPECT_EQ(shard.x[6 * i], all.x[6 * record]) << name << " " << record;
        }
      }
    }
  }
}

TEST_F(Hdf5, SaysWhatItDoesNotRead) {
  refused(spec("lzf"), {"lzf.h5", "filter 32000", "gzip", "loads no plug-ins"});
  refused(spec("links", "soft", "real"), {"soft", "link", "does not follow"});
  // Another file is not opened, whatever it is.
  refused(spec("links", "other", "real"), {"other", "link", "does not follow"});
  refused(spec("links", "outside", "real"), {"in other files"});
  refused(spec("links", "group", "real"), {"group", "is a group", "data.arrays"});
  refused(spec("links", "missing", "real"), {"array missing", "is missing", "data.arrays"});
  refused(spec("links", "group/text", "real"), {"neither whole numbers"});
  refused(spec("links", "group/number", "real"), {"without dimensions"});
  refused(spec("links", "holes", "real"), {"parts were never written"});
  refused(spec("links", "never", "real"), {"never written"});
  refused(spec("gzip", "x", "x"), {"does not hold labels"});
  DataSpec other = spec("gzip");
  other.schema.shape = {1, 3, 2};
  refused(other, {"2 x 3", "3 x 2"});
  write("none.h5", "x,y\n1,2\n");
  DataSpec none = spec("none");
  none.dir = folder_.path().string();
  refused(none, {"none.h5", "not an HDF5 file"});
}

TEST_F(Hdf5, EveryCutIsFound) {
  for (const char* name : {"gzip", "newer", "many-names"}) {
    DataSpec cut = name == std::string("newer") ? spec(name, "train/x", "train/y") : spec(name);
    const std::string good = read_file(std::string(MUFFLE_HDF5_FILES) + "/" + name + ".h5");
    cut.dir = folder_.path().string();
    for (std::size_t n = 0; n < good.size(); n += n < 200 ? 1 : 97) {
      write(std::string(name) + ".h5", good.substr(0, n));
      refused(cut, {name});
    }
  }
}

TEST_F(Hdf5, AWrongChecksumIsDamage) {
  std::string bytes = read_file(std::string(MUFFLE_HDF5_FILES) + "/gzip.h5");
  DataSpec wrong = spec("gzip");
  wrong.dir = folder_.path().string();
  bytes[4536 + 20] = static_cast<char>(bytes[4536 + 20] ^ 1);  // in the first chunk of x
  write("gzip.h5", bytes);
  refused(wrong, {"gzip.h5", "checksum"});
}

}  // namespace
}  // namespace muffle::data::test
