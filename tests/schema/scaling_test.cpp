#include "muffle/schema/scaling.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "muffle/core/error.hpp"
#include "muffle/schema/schema.hpp"
#include "support/expect_error.hpp"

namespace muffle::schema {
namespace {

Schema points(double lo, double hi) { return {.shape = {2}, .lo = lo, .hi = hi}; }

TEST(Scaling, BytesOfFullRangeAreSharesOf255) {
  const Scaling scaling(points(0, 255));
  for (int i = 0; i < 256; ++i) {
    EXPECT_EQ(scaling.bytes()[static_cast<std::size_t>(i)], static_cast<float>(i) / 255.0f);
    EXPECT_EQ(SampleScaling::from_byte(static_cast<std::uint8_t>(i)), static_cast<float>(i) / 255.0f);
    EXPECT_EQ(SampleScaling::to_byte(scaling.bytes()[static_cast<std::size_t>(i)]), i);
  }
}

TEST(Scaling, WhatDoesNotFitBecomesTheNearerBound) {
  const Scaling scaling(points(-1, 3));
  EXPECT_TRUE(scaling.fits(-1) && scaling.fits(3));
  for (const float v : {-1.5f, 3.5f, NAN, INFINITY}) EXPECT_FALSE(scaling.fits(v));
  EXPECT_EQ(scaling.to_unit(-9), 0.0f);
  EXPECT_EQ(scaling.to_unit(NAN), 0.0f);
  EXPECT_EQ(scaling.to_unit(9), 1.0f);
  EXPECT_EQ(scaling.to_unit(0), 0.25f);
}

TEST(Scaling, SamplesReturnToTheirBounds) {
  const SampleScaling plain(points(-1, 3));
  EXPECT_FALSE(plain.as_bytes());
  EXPECT_EQ(plain.to_number(0.25), 0.0f);
  EXPECT_EQ(plain.from_number(plain.to_number(0.75)), 0.75f);
  EXPECT_EQ(plain.from_number(17), 1.0f);
  Schema image = points(0, 1);
  image.shape = {1, 2, 2};
  const SampleScaling images(image);
  EXPECT_TRUE(images.as_bytes());
  EXPECT_EQ(images.hi(), 255.0);
  EXPECT_EQ(SampleScaling::to_byte(0.5), 128);
}

TEST(SchemaJson, ReadsWhatItWroteAndRefusesTheRest) {
  Schema schema = points(-1.5, 3);
  schema.classes = 7;
  schema.on_error = OnError::kClamp;
  const JsonDocument document{"x.mfl", "a release", "Copy it again."};
  const nlohmann::json good = to_json(schema);
  const Schema again = read_schema(JsonFields(good, document, "schema."));
  EXPECT_EQ(to_json(again), good);
  EXPECT_EQ(again.on_error, OnError::kClamp);
  EXPECT_NE(to_json(points(0, 1)), good);
  schema.class_names = {"a", "b", "c", "d", "e", "f", "n\u00E4he"};
  const nlohmann::json named = to_json(schema);
  const Schema named_again = read_schema(JsonFields(named, document, "schema."));
  EXPECT_EQ(named_again.class_names, schema.class_names);
  EXPECT_TRUE(class_names_agree(named_again, schema));
  schema.class_names.back() = "na\u0308he";  // as macOS writes it
  EXPECT_TRUE(class_names_agree(named_again, schema));
  std::swap(schema.class_names[0], schema.class_names[1]);
  EXPECT_FALSE(class_names_agree(named_again, schema));
  EXPECT_TRUE(class_names_agree(named_again, again)) << "which names none";
  const std::vector<std::pair<const char*, nlohmann::json>> lies{
      {"shape", nlohmann::json::array()},
      {"shape", {1, 2, 0}},
      {"shape", {2, 2}},
      {"classes", 0},
      {"lo", 5},
      {"hi", "3"},
      {"on_error", "ignore"},
      {"class_names", {"a", "b"}},
      {"class_names", {"a", "b", "c", "d", "e", "f", "a"}},
      {"class_names", {"a", "b", "c", "d", "e", "f", "a/b\n"}},
      {"class_names", {"a", "b", "c", "d", "e", "f", 7}},
      {"class_names", "abcdefg"},
      {"extra", 1}};
  for (const auto& [key, value] : lies) {
    nlohmann::json bad = good;
    bad[key] = value;
    muffle::test::expect_error(ExitCode::kProtocol, {"x.mfl", "schema."},
                               [&] { (void)read_schema(JsonFields(bad, document, "schema.")); });
  }
}

}  // namespace
}  // namespace muffle::schema
