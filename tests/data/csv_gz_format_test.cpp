// What csv-gz adds to csv: files that gunzip takes, and the same whenever they are written.
#include <cstdlib>

#include "data/table_fixture.hpp"
#include "muffle/core/files.hpp"

namespace muffle::data::test {
namespace {

class CsvGz : public Tables {};

TEST_F(CsvGz, HoldsTheBytesOfTheCsv) {
  const schema::Schema schema = schema_of(people_table());
  schema::RecordKind kind{{3}, true, 3000, schema.table};
  for (const char* format : {"csv", "csv-gz"}) {
    const auto files = find_format(format).writers(folder_.path(), "w", kind);
    for (int i = 0; i < 3; ++i) {
      schema::Records some{{3}, {}, {}, std::vector<std::uint8_t>(1000, 1)};
      for (int j = 0; j < 3000; ++j) some.floats.push_back(static_cast<float>((i + 7 * j) % 1000) / 1000);
      files.front().writer->add(some);
    }
    files.front().writer->finish([] {});
  }
  const std::string packed = read_file(folder_ / "w.csv.gz"), plain = read_file(folder_ / "w.csv");
  EXPECT_LT(packed.size(), plain.size() / 2);
  EXPECT_EQ(packed.substr(0, 10), std::string("\x1F\x8B\x08\0\0\0\0\0\0\x03", 10)) << "no time, no name";
  ASSERT_EQ(std::system(("gunzip -c '" + (folder_ / "w.csv.gz").string() + "' > '" +
                         (folder_ / "u.csv").string() + "'")
                            .c_str()),
            0);
  EXPECT_TRUE(read_file(folder_ / "u.csv") == plain);
}

}  // namespace
}  // namespace muffle::data::test
