// Dates that count since another of their row: read from files, checked, and written back.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "data/table_fixture.hpp"
#include "muffle/core/files.hpp"
#include "muffle/data/record_check.hpp"
#include "muffle/schema/table_toml.hpp"
#include "support/expect_error.hpp"

namespace muffle::data::test {
namespace {

using Codes = std::vector<std::vector<int>>;
using muffle::test::expect_error;

/// @param discharged  of that column, beside its name and type
std::string stays_toml(const std::string& discharged, const std::string& type = "date") {
  return "[[columns]]\nname = \"discharged\"\ntype = \"" + type + "\"\n" + discharged +
         "\n[[columns]]\nname = \"admitted\"\ntype = \"" + type + "\"\n" +
         (type == "date"
              ? "lo = 2020-01-01\nhi = 2020-12-31\nbins = 2\n"
              : "lo = \"2020-01-01 00:00:00\"\nhi = \"2020-12-31 23:59:00\"\nstep = 60\nbins = 2\n");
}

/// A rule between the two.
const std::string kInOrder =
    "[[constraints]]\nkind = \"compare\"\nleft = \"admitted\"\nop = \"<=\"\nright = \"discharged\"\n";

class DatesSince : public Tables {
 protected:
  DataSpec stays(const std::string& toml, schema::OnError on_error = schema::OnError::kRejectFile) const {
    DataSpec one = spec("stays.csv");
    one.schema = schema_of(schema::parse_table_toml(toml, "s"), on_error);
    return one;
  }
  std::string written(const schema::Schema& schema, const std::string& format, const Batch& some) const {
    schema::Records records{schema.shape, {}, some.x, std::vector<std::uint8_t>(some.n)};
    schema::RecordKind kind = records.kind();
    kind.table = schema.table;
    const auto files = find_format(format).writers(folder_.path(), "w", kind);
    files.front().writer->add(records);
    files.front().writer->finish([] {});
    return read_file(folder_ / ("w." + format));
  }
};

TEST_F(DatesSince, TheRecordHasTheDifferenceAndFilesHaveTheDate) {
  const DataSpec one = stays(
      stays_toml("since = \"admitted\"\nlo = 0\nhi = 30\nbins = [0, 1, 7, 31]\nmissing = [\"\", \"NA\"]"));
  const std::string rows =
      "discharged,admitted\n2020-03-01,2020-03-01\n2020-03-07,2020-03-01\n2021-01-30,2020-12-31\n,2020-07-"
      "02\n";
  put("stays.csv", rows);
  EXPECT_EQ(codes(one), (Codes{{0, 0, 0}, {1, 0, 0}, {2, 1, 0}, {3, 1, 0}}));
  EXPECT_EQ(written(one.schema, "csv", read_all(one)), rows) << "and so they come back";
  const std::string arrays = written(one.schema, "npz", read_all(one));
  DataSpec back = written_records(folder_ / "w.npz");
  back.schema = one.schema;
  EXPECT_EQ(codes(back), codes(one));
}

TEST_F(DatesSince, TimesKeepTheirMinutesAndALearnedGridIsFineWhereStaysAreShort) {
  const DataSpec one = stays(stays_toml("since = \"admitted\"\nstep = 60\nlo = -0.5\nhi = 100", "datetime"));
  const schema::Column& column = one.schema.table->columns[0];
  EXPECT_EQ(column.lo, -43200.0);
  EXPECT_EQ(column.hi, 8640000.0);
  EXPECT_TRUE(column.learned);
  EXPECT_GT(column.bins(), 200u) << "parts that grow with the distance from 0, too";
  const std::string rows =
      "discharged,admitted\n2020-03-01T10:31:00,2020-03-01T10:30:00\n2020-02-29T23:00:00,2020-03-01T10:30:"
      "00\n"
      "2020-06-08T10:29:00,2020-03-01T10:30:00\n";
  put("stays.csv", rows);
  EXPECT_EQ(written(one.schema, "csv", read_all(one)), rows);
}

TEST_F(DatesSince, WhatDoesNotFitIsSaidAndClampedToTheBounds) {
  const std::string toml = stays_toml("since = \"admitted\"\nlo = 0\nhi = 30\nbins = [0, 1, 7, 31]");
  const std::string header = "discharged,admitted\n";
  put("stays.csv",
      header + "2020-03-01,2020-03-02\n2020-05-01,2020-03-01\n2020-03-01,soon\nlater,2020-03-01\n");
  const DataSpec clamped = stays(toml, schema::OnError::kClamp);
  const Batch all = read_all(clamped);
  EXPECT_EQ(codes_of(all, 0, clamped.schema), (std::vector<int>{0, 0, 0}));
  EXPECT_EQ(codes_of(all, 1, clamped.schema), (std::vector<int>{2, 0, 0}));
  EXPECT_EQ(all.y[2], schema::kNoClass);
  EXPECT_EQ(all.y[3], schema::kNoClass);
  EXPECT_THAT(
      check_records(clamped, 0, 20).places,
      testing::ElementsAre(testing::HasSubstr("later than the other date by less than the column's lo"),
                           testing::HasSubstr("later than the other date by more than the column's hi"),
                           testing::HasSubstr("column 'admitted': the field is not a date"),
                           testing::HasSubstr("column 'discharged': the field is not a date")));
  expect_error(ExitCode::kData, {"does not fit"}, [&] { (void)read_all(stays(toml)); });
}

TEST_F(DatesSince, WhereEitherDateIsMissingSoIsTheDifference) {
  const DataSpec one =
      stays(stays_toml("since = \"admitted\"\nlo = 0\nhi = 30\nbins = [0, 31]\nmissing = [\"\"]") +
            "missing = [\"-\"]\n");
  put("stays.csv", "discharged,admitted\n2020-03-07,-\n,2020-03-01\n,-\n2020-03-07,2020-03-01\n");
  EXPECT_EQ(codes(one), (Codes{{1, 2, 0}, {1, 0, 0}, {1, 2, 0}, {0, 0, 0}}));
  Batch drawn = read_all(one);
  drawn.x[0] = schema::position({0, 0.5f}, 2);  // a difference without the date that it counts since
  EXPECT_THAT(written(one.schema, "csv", drawn), testing::StartsWith("discharged,admitted\n,-\n,2020-"));
}

// Sentinels are dates; as differences the same numbers are days like any others.
TEST_F(DatesSince, NoDifferenceIsTakenForAMissingDate) {
  const DataSpec one = stays(stays_toml(
      "since = \"admitted\"\nlo = 0\nhi = 30\nbins = [0, 31]\nmissing = [\"1970-01-01\", \"1970-01-05\"]"));
  put("stays.csv",
      "discharged,admitted\n2020-03-01,2020-03-01\n2020-03-05,2020-03-01\n1970-01-05,2020-03-01\n");
  EXPECT_EQ(codes(one), (Codes{{0, 0, 0}, {0, 0, 0}, {1, 0, 0}}));
}

TEST_F(DatesSince, ARuleBetweenTwoDatesCountsOneSinceTheOther) {
  const std::string toml = stays_toml("lo = 2020-01-01\nhi = 2021-03-31\nmissing = [\"\"]") + kInOrder;
  const DataSpec one = stays(toml);
  ASSERT_EQ(one.schema.table->columns[0].since, 1u);
  const std::string header = "discharged,admitted\n";
  const std::string rows = header + "2020-03-01,2020-03-01\n2021-03-31,2020-01-01\n,2020-12-31\n";
  put("stays.csv", rows);
  EXPECT_EQ(written(one.schema, "csv", read_all(one)), rows);
  // Records need not keep rules, and the rule is kept in what is made of them.
  put("stays.csv", header + "2020-03-01,2020-03-07\n");
  EXPECT_EQ(written(one.schema, "csv", read_all(one)), header + "2020-03-07,2020-03-07\n");
  EXPECT_THAT(
      check_records(one, 0, 20).places,
      testing::ElementsAre(testing::HasSubstr("earlier than the constraint between it and another date")));
  // The column's own bounds hold, in records and in samples.
  put("stays.csv", header + "2021-04-01,2020-12-31\n2019-12-31,2020-01-01\n");
  expect_error(ExitCode::kData, {"does not fit"}, [&] { (void)read_all(one); });
  EXPECT_THAT(check_records(one, 0, 20).places,
              testing::ElementsAre(testing::HasSubstr("'discharged': the field is above the column's hi"),
                                   testing::HasSubstr("'discharged': the field is below the column's lo")));
  const DataSpec clamped = stays(toml, schema::OnError::kClamp);
  Batch drawn = read_all(clamped);
  EXPECT_EQ(written(one.schema, "csv", drawn), header + "2021-03-31,2020-12-31\n2020-01-01,2020-01-01\n");
  const std::size_t codes = one.schema.table->codes()[0];
  drawn.x[0] = schema::position({static_cast<std::uint32_t>(codes) - 2, 0.5f}, codes);  // 455 days
  EXPECT_THAT(written(one.schema, "csv", drawn), testing::HasSubstr("\n2021-03-31,2020-12-31\n"));
}

TEST_F(DatesSince, WhatIsDerivedIsWrittenAndNeverRead) {
  const std::string toml =
      stays_toml("since = \"admitted\"\nstep = 60\nlo = 0\nhi = 100\nmissing = [\"\"]", "datetime") +
      "[[columns]]\nname = \"nights\"\ntype = \"integer\"\nderive = \"days(discharged - admitted)\"\nmissing "
      "= [\"NA\"]\n"
      "[[columns]]\nname = \"stay\"\ntype = \"decimal\"\ndecimals = 2\nsuffix = \" d\"\nmissing = [\"\"]\n"
      "derive = \"days(discharged-admitted)\"\n"
      "[[columns]]\nname = \"birth\"\ntype = \"date\"\nlo = 1900-01-01\nhi = 2020-12-31\nbins = 1\n"
      "[[columns]]\nname = \"age\"\ntype = \"integer\"\nderive = \" years(admitted - birth) \"\n";
  const DataSpec one = stays(toml);
  EXPECT_EQ(one.schema.dims(), 4u);
  EXPECT_EQ(one.schema.table->codes().size(), 4u);
  const std::string header = "discharged,admitted,nights,stay,birth,age\n";
  const std::string rows = header +
                           "2020-03-02T06:00:00,2020-03-01T18:00:00,1,0.50 d,2000-03-01,20\n"
                           "2020-03-01T18:30:00,2020-03-01T18:00:00,0,0.02 d,2000-03-02,19\n"
                           ",2020-03-01T18:00:00,NA,,2020-12-31,-1\n";
  put("stays.csv", rows);
  EXPECT_EQ(written(one.schema, "csv", read_all(one)), rows);
  EXPECT_TRUE(check_records(one, 0, 20).places.empty());
  // Files may lack it; what they have there does not count.
  put("stays.csv",
      "discharged,admitted,nights,birth\n2020-03-02T06:00:00,2020-03-01T18:00:00,many,2000-03-01\n");
  EXPECT_THAT(written(one.schema, "csv", read_all(one)), testing::HasSubstr(",1,0.50 d,2000-03-01,20\n"));
  EXPECT_THAT(check_records(one, 0, 20).places,
              testing::ElementsAre(
                  testing::HasSubstr("column 'nights': the field is not days(discharged - admitted)")));
  const std::string arrays = written(one.schema, "npz", read_all(one));
  DataSpec back = written_records(folder_ / "w.npz");
  back.schema = one.schema;
  EXPECT_EQ(codes(back), codes(one));
}

TEST_F(DatesSince, WhatIsDeterminedIsWrittenAndNeverRead) {
  const std::string from =
      "determined_by = \"sub\"\nfrom = { A = [\"1\", \"3\"], \"b, c\" = [\"2\"] }\nmissing = [\"?\"]\n";
  const DataSpec one = stays(
      "[[columns]]\nname = \"grade\"\ntype = \"category\"\nvalues = [\"A\", \"b, c\"]\n" + from +
      "[[columns]]\nname = \"sub\"\ntype = \"category\"\nvalues = [\"1\", \"2\", \"3\"]\nmissing = [\"\"]\n"
      "[[columns]]\nname = \"level\"\ntype = \"category\"\nvalues = [\"7\", \"8\"]\ndetermined_by = \"sub\"\n"
      "from = { 7 = [\"1\", \"2\"], 8 = [\"3\"] }\nmissing = [\"-\"]\n");
  EXPECT_EQ(one.schema.dims(), 1u);
  const std::string rows = "grade,sub,level\nA,1,7\n\"b, c\",2,7\nA,3,8\n?,,-\n";
  put("stays.csv", rows);
  EXPECT_EQ(written(one.schema, "csv", read_all(one)), rows);
  EXPECT_TRUE(check_records(one, 0, 20).places.empty());
  const std::string arrays = written(one.schema, "npz", read_all(one));
  DataSpec back = written_records(folder_ / "w.npz");
  back.schema = one.schema;
  EXPECT_EQ(codes(back), codes(one));
  put("stays.csv", "grade,sub\nA,2\n?,1\n?,4\n");
  DataSpec clamped = one;
  clamped.schema.on_error = schema::OnError::kClamp;
  EXPECT_EQ(written(one.schema, "csv", read_all(clamped)), "grade,sub,level\n\"b, c\",2,7\nA,1,7\n?,,-\n");
  EXPECT_THAT(check_records(clamped, 0, 20).places,
              testing::ElementsAre(testing::HasSubstr("'grade': the field is not what 'sub' determines"),
                                   testing::HasSubstr("'grade': the field is not what 'sub' determines"),
                                   testing::HasSubstr("'sub': the field is not one of")));
}

TEST_F(DatesSince, WhatCannotBeCountedIsRefused) {
  const auto refused = [&](const std::string& toml, const std::string& why) {
    expect_error(ExitCode::kConfig, {why}, [&] { (void)schema::parse_table_toml(toml, "s"); });
  };
  const std::string bounds = "lo = 0\nhi = 30\n";
  refused(stays_toml("since = \"nobody\"\n" + bounds), "no column 'nobody'");
  refused(stays_toml("since = \"discharged\"\n" + bounds), "neither 'since' nor 'derive' of its own");
  refused(stays_toml("since = \"admitted\"\n" + bounds, "date") + "missing = true\n", "then so may this one");
  refused(stays_toml("since = \"admitted\"\nhi = 30\n"), "needs 'lo'");
  refused(stays_toml("since = \"admitted\"\nlo = 0\nhi = 4000000\n"), "years 1 to 9999");
  refused(stays_toml("since = \"admitted\"\n" + bounds) + kInOrder, "no other comparison");
  refused("[[columns]]\nname = \"a\"\ntype = \"integer\"\nlo = 0\nhi = 9\nsince = \"b\"\n", "only dates");
}

/// A datetime that counts days since another, and has a time of day of its own.
class CountedDaysInFiles : public DatesSince {
 protected:
  static inline const std::string kHeader = "admitted,discharged\n";
  /// @param step  of the admission, in seconds
  static std::string toml(const std::string& discharged, int step = 3600, const std::string& admitted = "") {
    return fmt::format(
        "[[columns]]\nname = \"admitted\"\ntype = \"datetime\"\nformat = \"%d.%m.%Y %H:%M\"\nlo = "
        "\"2020-01-01 00:00\"\nhi = \"2020-01-04 22:00\"\nstep = {}\n{}[[columns]]\nname = "
        "\"discharged\"\ntype = \"datetime\"\nformat = \"%d.%m.%Y %H:%M\"\nstep = 3600\n{}",
        step, admitted, discharged);
  }
  static inline const std::string kSince = "since = \"admitted\"\nlo = 0\nhi = 9.5\n";
  static inline const std::string kRule = "lo = \"2020-01-01 06:00\"\nhi = \"2020-01-12 18:00\"\n";
};

TEST_F(CountedDaysInFiles, TheDaysOfBothDatesAreCountedAndTheTimeIsOfTheLaterOne) {
  const DataSpec one = stays(toml(kSince + "missing = [\"\"]\n"));
  const std::string rows = kHeader +
                           "01.01.2020 08:00,01.01.2020 08:00\n02.01.2020 08:00,02.01.2020 23:00\n"
                           "02.01.2020 23:00,03.01.2020 00:00\n01.01.2020 08:00,03.01.2020 07:00\n"
                           "03.01.2020 10:00,12.01.2020 22:00\n04.01.2020 05:00,\n";
  put("stays.csv", rows);
  // Days of the admission, cells of the difference (24 hours, then days), and hours of both.
  EXPECT_EQ(codes(one), (Codes{{0, 0, 8, 8, 0},
                               {1, 15, 8, 23, 0},
                               {1, 24, 23, 0, 0},
                               {0, 25, 8, 7, 0},
                               {2, 32, 10, 22, 0},
                               {3, 34, 5, 24, 0}}));
  EXPECT_EQ(written(one.schema, "csv", read_all(one)), rows);
  const std::string arrays = written(one.schema, "npz", read_all(one));
  DataSpec back = written_records(folder_ / "w.npz");
  back.schema = one.schema;
  EXPECT_EQ(codes(back), codes(one));
  const auto checked = check_records(one, 0, 20);
  EXPECT_TRUE(checked.places.empty());
  ASSERT_EQ(checked.holds.size(), 2u);
  EXPECT_EQ(checked.holds[1].bounds, "0 days to 9.5 days");
  EXPECT_EQ(checked.holds[1].least, "0 days");
  EXPECT_EQ(checked.holds[1].largest, "9.5 days") << "as files have it, not what is counted";
}

// What one record is made of hangs on nothing but that record: another in front of it, or none.
TEST_F(CountedDaysInFiles, ARecordIsTheSameWhateverIsBeforeIt) {
  const DataSpec one = stays(toml(kSince + "missing = [\"\"]\n", 3600, "missing = [\"-\"]\n"));
  const std::vector<std::string> rows{"01.01.2020 08:00,03.01.2020 07:00\n", "-,04.01.2020 05:00\n",
                                      "02.01.2020 10:00,\n", "-,\n"};
  Codes alone;
  for (const std::string& row : rows) {
    put("stays.csv", kHeader + row);
    alone.push_back(codes(one).front());
  }
  EXPECT_EQ(alone, (Codes{{0, 25, 8, 7, 0}, {4, 34, 24, 24, 0}, {1, 34, 10, 24, 0}, {4, 34, 24, 24, 0}}));
  put("stays.csv", kHeader + rows[0] + rows[1] + rows[2] + rows[3]);
  EXPECT_EQ(codes(one), alone);
}

TEST_F(CountedDaysInFiles, BoundsAreOfTheDifferenceAndWhatIsOutsideIsClamped) {
  const DataSpec one = stays(toml(kSince), schema::OnError::kClamp);
  put("stays.csv", kHeader +
                       "02.01.2020 08:00,02.01.2020 07:00\n02.01.2020 08:00,11.01.2020 21:00\n"
                       "02.01.2020 08:00,soon\nsoon,02.01.2020 08:00\n");
  Batch all = read_all(one);
  EXPECT_EQ(all.y, (std::vector<int>{0, 0, schema::kNoClass, schema::kNoClass}));
  EXPECT_THAT(written(one.schema, "csv", all),
              testing::StartsWith(kHeader +
                                  "02.01.2020 08:00,02.01.2020 08:00\n02.01.2020 08:00,11.01.2020 20:00\n"));
  EXPECT_THAT(check_records(one, 0, 20).places,
              testing::ElementsAre(
                  testing::HasSubstr("later than the other date by less than the column's lo"),
                  testing::HasSubstr("later than the other date by more than the column's hi"),
                  testing::HasSubstr("'discharged': the field is not written as the column's format"),
                  testing::HasSubstr("'admitted': the field is not written as the column's format")));
  expect_error(ExitCode::kData, {"does not fit"}, [&] { (void)read_all(stays(toml(kSince))); });
}

TEST_F(CountedDaysInFiles, ByARuleTheColumnsOwnDatesHoldToo) {
  const DataSpec one = stays(toml(kRule) + kInOrder, schema::OnError::kClamp);
  ASSERT_TRUE(one.schema.table->columns[1].counts_days());
  put("stays.csv", kHeader +
                       "01.01.2020 00:00,01.01.2020 05:00\n04.01.2020 22:00,13.01.2020 01:00\n"
                       "03.01.2020 09:00,02.01.2020 09:00\n02.01.2020 09:00,12.01.2020 18:00\n");
  const std::string rows = kHeader +
                           "01.01.2020 00:00,01.01.2020 06:00\n04.01.2020 22:00,12.01.2020 18:00\n"
                           "03.01.2020 09:00,03.01.2020 09:00\n02.01.2020 09:00,12.01.2020 18:00\n";
  EXPECT_EQ(written(one.schema, "csv", read_all(one)), rows);
  EXPECT_THAT(
      check_records(one, 0, 20).places,
      testing::ElementsAre(testing::HasSubstr("'discharged': the field is below the column's lo"),
                           testing::HasSubstr("'discharged': the field is above the column's hi"),
                           testing::HasSubstr("earlier than the constraint between it and another date")));
  put("stays.csv", kHeader + "03.01.2020 09:00,02.01.2020 09:00\n");
  EXPECT_EQ(written(one.schema, "csv", read_all(stays(toml(kRule) + kInOrder))),
            kHeader + "03.01.2020 09:00,03.01.2020 09:00\n")
      << "records need not keep rules";
}

// A datetime that is nearest to the next day's first one is of that day, and so are the days.
TEST_F(CountedDaysInFiles, DatetimesAreCountedOnTheirGrids) {
  const DataSpec one = stays(toml(kSince, 7200));
  put("stays.csv", kHeader + "01.01.2020 23:10,02.01.2020 06:40\n01.01.2020 23:10,01.01.2020 23:20\n");
  EXPECT_EQ(codes(one), (Codes{{1, 7, 0, 7, 0}, {1, 0, 0, 0, 0}}));
  EXPECT_EQ(written(one.schema, "csv", read_all(one)),
            kHeader + "02.01.2020 00:00,02.01.2020 07:00\n02.01.2020 00:00,02.01.2020 00:00\n");
}

/// A datetime without bins is a day and a time of day in records, and one text in files.
class DaysAndTimes : public DatesSince {
 protected:
  static inline const std::string kToml =
      "[[columns]]\nname = \"admitted\"\ntype = \"datetime\"\nformat = \"%d.%m.%Y %H:%M\"\nlo = \"2020-01-01 "
      "06:00\"\nhi = \"2020-01-05 18:00\"\nstep = 900\nmissing = [\"NA\"]\n[[columns]]\nname = \"n\"\ntype = "
      "\"integer\"\nlo = 0\nhi = 9\nbins = 1\n";
  static inline const std::string kHeader = "admitted,n\n";
};

TEST_F(DaysAndTimes, ADatetimeIsReadInTwoPartsAndWrittenAsOne) {
  const DataSpec one = stays(kToml);
  const std::string rows =
      kHeader + "01.01.2020 06:00,1\n03.01.2020 23:45,2\n04.01.2020 00:00,3\n05.01.2020 18:00,4\nNA,5\n";
  put("stays.csv", rows);
  // The day, n, and quarters of an hour; of what is missing the last codes.
  EXPECT_EQ(codes(one), (Codes{{0, 0, 24, 0}, {2, 0, 95, 0}, {3, 0, 0, 0}, {4, 0, 72, 0}, {5, 0, 96, 0}}));
  EXPECT_EQ(written(one.schema, "csv", read_all(one)), rows);
  const std::string arrays = written(one.schema, "npz", read_all(one));
  DataSpec back = written_records(folder_ / "w.npz");
  back.schema = one.schema;
  EXPECT_EQ(codes(back), codes(one));
  EXPECT_TRUE(check_records(one, 0, 20).places.empty());
}

TEST_F(DaysAndTimes, FilesHaveNoColumnOfTheTime) {
  DataSpec one = stays(kToml);
  put("stays.csv", "admitted,n,admitted (time of day)\n01.01.2020 06:00,1,06:00:00\n");
  expect_error(ExitCode::kData, {"different columns"}, [&] { (void)read_all(one); });
  one.header = false;
  put("stays.csv", "04.01.2020 00:00,3\n");
  EXPECT_EQ(codes(one), (Codes{{3, 0, 0, 0}}));
}

TEST_F(DaysAndTimes, WhatDoesNotFitIsSaidAndClampedToTheDatetimesBounds) {
  put("stays.csv",
      kHeader + "01.01.2020 05:45,1\n05.01.2020 18:15,2\n02.01.2020 23:59,3\n02.01.2020,4\n,5\n");
  const DataSpec clamped = stays(kToml, schema::OnError::kClamp);
  // What is nearest to midnight is of the next day; what is no datetime is missing, in both parts.
  EXPECT_EQ(codes(clamped),
            (Codes{{0, 0, 24, 0}, {4, 0, 72, 0}, {2, 0, 0, 0}, {5, 0, 96, 0}, {5, 0, 96, 0}}));
  EXPECT_THAT(
      check_records(clamped, 0, 20).places,
      testing::ElementsAre(testing::HasSubstr("'admitted': the field is below the column's lo"),
                           testing::HasSubstr("'admitted': the field is above the column's hi"),
                           testing::HasSubstr("'admitted': the field is not written as the column's format"),
                           testing::HasSubstr("'admitted': the field is missing")));
  expect_error(ExitCode::kData, {"does not fit"}, [&] { (void)read_all(stays(kToml)); });
  std::string always = kToml;
  always.erase(always.find("missing"), std::string("missing = [\"NA\"]\n").size());
  const Batch all = read_all(stays(always, schema::OnError::kClamp));
  EXPECT_EQ(all.y[2], 0);
  EXPECT_EQ(all.y[3], schema::kNoClass) << "it counts as nothing";
}

TEST_F(DaysAndTimes, ADateCountsSinceTheWholeDatetime) {
  const DataSpec one =
      stays(kToml +
            "[[columns]]\nname = \"left\"\ntype = \"datetime\"\nsince = \"admitted\"\nlo = 0\nhi = "
            "4\nstep = 900\nmissing = [\"\"]\n[[columns]]\nname = \"nights\"\ntype = "
            "\"integer\"\nderive = \"days(left - admitted)\"\nmissing = [\"\"]\n");
  const std::string rows =
      "admitted,n,left,nights\n01.01.2020 23:45,1,2020-01-02T00:00:00,1\n02.01.2020 "
      "07:15,2,2020-01-06T07:15:00,"
      "4\nNA,3,,\n";
  put("stays.csv", rows);
  EXPECT_EQ(written(one.schema, "csv", read_all(one)), rows);
  EXPECT_TRUE(check_records(one, 0, 20).places.empty());
  put("stays.csv", "admitted,n,left,nights\n02.01.2020 07:15,2,2020-01-02T07:00:00,1\n");
  EXPECT_THAT(
      check_records(one, 0, 20).places,
      testing::ElementsAre(testing::HasSubstr("later than the other date by less than the column's lo"),
                           testing::HasSubstr("'nights': the field is not days(left - admitted)")));
}

}  // namespace
}  // namespace muffle::data::test
