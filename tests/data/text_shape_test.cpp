// What a draft names that muffle does not understand, and what it takes for mere texts.
#include "data/text_shape.hpp"

#include <gtest/gtest.h>

#include <string>

namespace muffle::data::test {
namespace {

using enum TextShape::Kind;

TEST(TextShapes, PartsOfYearsTimesAndDurationsAreDates) {
  for (const char* field : {"2020Q1",
                            "2020-Q1",
                            "2020 q1",
                            "Q1 2020",
                            "q1/2020",
                            "1. Quartal 2020",
                            "2001-W25",
                            "2001W25",
                            "2001-W25-3",
                            "KW 25/2001",
                            "week 3, 2020",
                            "2020M01",
                            "FY2020",
                            "FY 20",
                            "2020-05",
                            "05/2020",
                            "2020/21",
                            "Jan 2020",
                            "Jan-20",
                            "5-Oct",
                            "October 5",
                            "22:30",
                            "24:00",
                            "1:02:03.5",
                            "3h05m",
                            "1 day 4 hrs",
                            "PT3H5M",
                            "P1DT2H",
                            "2 days 03:44:00",
                            "Fri, 2 Dec 2022",
                            "Wednesday, October 02, 1996",
                            "Montag, 3. Juni 2019",
                            "3 d\xC3\xA9"
                            "cembre 1956",
                            "9:05 a.m.",
                            "31.12.2020 23.59",
                            "13-SEP-18 11.35.09.614826 AM"})
    EXPECT_EQ(shape_of(field).kind, kDate) << field;
  EXPECT_EQ(shape_of("2001-W25").form, "dddd-add");
}

TEST(TextShapes, DigitsOfOtherScriptsAreNamed) {
  for (const char* field : {"\uFF14\uFF12", "\uFF13", "\u0667\u0660", "\uFF11\uFF19\u5E74\uFF18\u6708",
                            "\uFF17\uFF10\uFF0E\uFF15"})
    EXPECT_EQ(shape_of(field).kind, kDate) << field;
  EXPECT_EQ(shape_of("\uFF13\u4E01\u76EE").kind, kText) << "a name with a number in it";
}

TEST(TextShapes, NumbersHaveMarksAroundThemAndCodesHaveLetters) {
  for (const char* field :
       {"Rs. 15,559/-", "Rs 500", "ca. 12", "~5", "736,-", "12 CR", "33.3 kg/m\u00B2", "\u2013217"})
    EXPECT_EQ(shape_of(field).kind, kNumber) << field;
  for (const char* field :
       {"ADM-2023-0042", "V27", "C3PO", "12345", "mason", "", "INV-2023-12", "B 2 B", "name 7", "Q1", "12a7"})
    EXPECT_EQ(shape_of(field).kind, kText) << field;
}

}  // namespace
}  // namespace muffle::data::test
