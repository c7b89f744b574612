#include "muffle/schema/schema.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "support/expect_error.hpp"

namespace muffle::schema {
namespace {

Schema images() { return {{1, 28, 28}, 10}; }

template <class Change>
void expect_refused(Change&& change, std::initializer_list<std::string> parts) {
  Schema s = images();
  change(s);
  muffle::test::expect_error(ExitCode::kData, parts, [&] { s.validate(); });
}

TEST(Schema, AcceptsImagesAndVectors) {
  Schema s = images();
  EXPECT_NO_THROW(s.validate());
  EXPECT_EQ(s.dims(), 784u);
  EXPECT_TRUE(s.is_image());
  s.shape = {2};
  s.classes = 1;
  s.lo = -1.0;
  s.hi = 5.0;
  EXPECT_NO_THROW(s.validate());
  EXPECT_FALSE(s.is_image());
}

TEST(Schema, RefusesWhatCannotDescribeRecords) {
  expect_refused([](Schema& s) { s.shape = {}; }, {"shape has 0 sizes"});
  expect_refused([](Schema& s) { s.shape = {28, 28}; }, {"shape has 2 sizes", "{channels, height, width}"});
  expect_refused([](Schema& s) { s.shape = {1, 0, 28}; }, {"size of 0"});
  const std::size_t huge = std::size_t{1} << 40;
  expect_refused([&](Schema& s) { s.shape = {huge, huge, huge}; }, {"at most"});
  expect_refused([](Schema& s) { s.classes = 0; }, {"0 classes"});
}

TEST(Schema, RefusesBoundsThatAreNotApartOrNotFinite) {
  const double nan = std::nan(""), inf = std::numeric_limits<double>::infinity();
  for (const auto& [lo, hi] : {std::pair{1.0, 1.0},
                               {2.0, 1.0},
                               {nan, 1.0},
                               {0.0, nan},
                               {0.0, inf},
                               {-inf, 0.0},
                               {0.0, 1e300},
                               {-3e38, 3e38},
                               {1.0, 1.0 + 1e-12}}) {
    expect_refused([lo = lo, hi = hi](Schema& s) { s.lo = lo, s.hi = hi; }, {"lo = ", "hi = ", "lo < hi"});
  }
}

}  // namespace
}  // namespace muffle::schema
