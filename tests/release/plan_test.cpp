#include "muffle/release/plan.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "muffle/features/lift.hpp"
#include "release/sample_artifact.hpp"
#include "support/expect_error.hpp"

namespace muffle::release {
namespace {

using features::MapRole;
using test::expect_error;
using test::make_rff;
using test::named;
using testing_artifact::privacy_of;
using testing_artifact::sample_plan;
using testing_artifact::Settings;

ReleaseSettings settings_of(std::vector<features::NamedMap> maps, const Settings& s = {}) {
  return {test::schema_of({1, 2, 2}, s.classes), {}, std::move(maps), privacy_of(s), s.counts, s.records};
}
features::NamedMap rff(const std::string& name, std::size_t features = 8, MapRole role = MapRole::kMatch) {
  return named(name, make_rff({.dims = 4, .features = features}), 1.0, role);
}
void refused(std::initializer_list<std::string> parts, std::vector<features::NamedMap> maps,
             const Settings& s = {}) {
  expect_error(ExitCode::kConfig, parts, [&] { make_plan(settings_of(std::move(maps), s)); });
}

TEST(ReleasePlan, MapsLieInTheOrderOfTheirNamesThenTheCounts) {
  ReleasePlan plan = make_plan(settings_of({rff("zebra", 10), rff("coarse", 6)}, {.counts = true}));
  EXPECT_EQ(plan.maps[0].name, "coarse");
  EXPECT_EQ(plan.offset(0), 0u);
  EXPECT_EQ(plan.offset(1), 18u);
  EXPECT_EQ(plan.offset(2), 48u);
  EXPECT_EQ(plan.size(), 51u);
  EXPECT_EQ(privacy::length_of(plan.noise.parts), 51u);
  plan.counts = false;
  EXPECT_EQ(plan.size(), 48u);
}

TEST(ReleasePlan, KnowsWhatItsMapsAreThereFor) {
  const ReleasePlan all = sample_plan({.moments = true, .proxy = true, .coarse = true});
  EXPECT_EQ(all.second_moments(), 1u);
  EXPECT_EQ(all.proxy(), 2u);
  EXPECT_TRUE(all.tells_counts()) << "the traces";
  const ReleasePlan plain = sample_plan();
  EXPECT_EQ(plain.second_moments(), std::nullopt);
  EXPECT_EQ(plain.proxy(), std::nullopt);
  EXPECT_FALSE(plain.tells_counts());
  EXPECT_TRUE(sample_plan({.counts = true}).tells_counts());
  const auto moments = test::make_moments({}, test::schema_of({1, 2, 2}, 3));
  EXPECT_EQ(
      make_plan(settings_of({rff("a"), named("b", moments->clone(), 1.0, MapRole::kProxy)})).second_moments(),
      std::nullopt)
      << "no generator is made of a proxy";
}

TEST(ReleasePlan, CountUnitsAreTheWeightOnTheLatticeRoundedDown) {
  ReleasePlan plan = sample_plan({.counts = true});
  EXPECT_EQ(plan.counts_units(), 1u << 24);
  plan.counts_weight = 0.3;
  EXPECT_EQ(plan.counts_units(), static_cast<std::uint64_t>(0.3 * (1 << 24)));
  for (const double bad : {0.0, -1.0, 1.5, std::numeric_limits<double>::quiet_NaN()}) {
    plan.counts_weight = bad;
    EXPECT_THROW(plan.counts_units(), ConfigError) << bad;
  }
}

TEST(ReleasePlan, TellsTheAccountantWhatIsReleased) {
  const auto input = sample_plan({.adjacency = privacy::Adjacency::kAddRemoveOne,
                                  .counts = true,
                                  .records_per_person = 7,
                                  .moments = true,
                                  .weight = 0.5})
                         .sensitivity_input();
  ASSERT_EQ(input.blocks.size(), 2u);
  EXPECT_EQ(input.blocks[0].norm, 0.5);
  EXPECT_TRUE(input.blocks[0].nonnegative_kernel);
  EXPECT_EQ(input.blocks[1].norm, 1.0);
  EXPECT_EQ(input.adjacency, privacy::Adjacency::kAddRemoveOne);
  EXPECT_TRUE(input.counts);
  EXPECT_EQ(input.counts_weight, 1.0);
  EXPECT_EQ(input.max_records_per_person, 7u);
  EXPECT_EQ(sample_plan({.adjacency = privacy::Adjacency::kAddRemoveOne, .counts = true}).records, 0u)
      << "m is private then";
}

TEST(ReleasePlan, SeveralMapsOfAKindShareTheBudget) {
  const double one = make_plan(settings_of({rff("a")})).noise.sensitivity.value;
  const ReleasePlan three = make_plan(settings_of({rff("a"), rff("b", 16), rff("c", 4)}));
  EXPECT_EQ(one, 2.0);
  EXPECT_NEAR(three.noise.sensitivity.value, 2 * std::sqrt(3.0), 1e-12);
  for (const privacy::NoisePart& part : three.noise.parts)
    EXPECT_GE(static_cast<double>(part.runs.at(0).sigma_lattice), three.noise.sigma * 0x1p24);
}

TEST(ReleasePlan, ContradictionsAmongMapsAreRefused) {
  refused({"no feature map", "[map.NAME]"}, {});
  refused({"more than one map", "proxy"},
          {rff("a"), rff("b", 8, MapRole::kProxy), rff("c", 8, MapRole::kProxy)});
  refused({"the only map", "proxy"}, {rff("a", 8, MapRole::kProxy)});
  refused({"two feature maps are named \"a\""}, {rff("a"), rff("b"), rff("a", 16)});
  std::vector<features::NamedMap> many;
  for (std::size_t b = 0; b <= kMostMaps; ++b) many.push_back(rff("m" + std::to_string(b)));
  refused({"129 feature maps", "a release holds 128"}, many);
  many.pop_back();
  EXPECT_NO_THROW(make_plan(settings_of(many)));
  for (const char* name : {"", "A", "a b", "1a", "a.b", "\n"}) refused({"is no name"}, {rff(name)});
  refused({"weight is 0"}, {named("a", make_rff({.dims = 4, .features = 8}), 0.0)});
}

TEST(ReleasePlan, SumsThatCouldOverflowAreRefused) {
  refused({"map.a", "below 2^38"}, {rff("a")}, {.records = std::uint64_t{1} << 38});
  const schema::Schema schema = test::schema_of({1, 2, 2}, 3);
  const Settings hidden{.adjacency = privacy::Adjacency::kAddRemoveOne};
  EXPECT_NO_THROW(make_plan(settings_of({named("m", test::make_moments({{"bits", "16"}}, schema))}, hidden)));
  refused({"map.m", "bits", "room for 2^30"}, {named("m", test::make_moments({{"bits", "17"}}, schema))},
          hidden);
}

TEST(ReleasePlan, PrivacySettingsThatMeanNothingAreRefused) {
  refused({"epsilon"}, {rff("a")}, {.epsilon = -1});
  refused({"one person"}, {rff("a")}, {.records_per_person = 0});
}

/// What the moments of images and 10 classes choose by the noise, beside keys that are written.
nlohmann::json chosen(double epsilon, std::uint64_t records, const test::MapKeys& written = {},
                      std::vector<std::size_t> shape = {1, 28, 28}) {
  const schema::Schema schema = test::schema_of(std::move(shape), 10);
  features::MapsSettings maps;
  maps.maps["m"].map = test::prepared_map("moments", {{"lift", "image"}}, schema);
  for (const auto& [key, value] : written) test::set_key(*maps.maps["m"].map, key, value);
  choose_sizes(maps, schema, privacy_of({.epsilon = epsilon}), false, records);
  return maps.resolved(schema).at(0).map->to_json();
}

// Chosen by the noise in a class's mean embedding, from public numbers: docs/explanation/moments.md.
TEST(ReleasePlan, SizesFollowThePublicNoise) {
  const auto side = [](double epsilon, std::uint64_t records, const char* most = "0",
                       const char* fewest = "0") {
    return chosen(epsilon, records,
                  {{"coefficients", most}, {"fewest_coefficients", fewest}})["lift_settings"]["coefficients"]
        .get<int>();
  };
  EXPECT_EQ(side(1, 60'000), 14);
  EXPECT_EQ(side(0.2, 60'000), 13);
  EXPECT_EQ(side(10, 60'000), 20);
  EXPECT_EQ(side(0.2, 1'000), 5) << "much noise: few numbers, each of which has more of it above the noise";
  EXPECT_EQ(side(0.1, 1), 5);
  EXPECT_LT(side(1, 3'000), 14);
  EXPECT_GT(side(1, 3'000), side(1, 1'000));
  EXPECT_EQ(side(10, 60'000, "9"), 9);
  EXPECT_EQ(side(0.2, 1'000, "3"), 3);
  for (const auto& [epsilon, records] : {std::pair(0.2, 1'000), {1.0, 3'000}, {1.0, 60'000}, {10.0, 60'000}})
    EXPECT_EQ(side(epsilon, records, "28"), side(epsilon, records)) << "one that is too large costs nothing";
  EXPECT_EQ(side(1, 3'000, "28", "14"), 14) << "unless it is asked for";
  EXPECT_EQ(side(1, 3'000, "0", "14"), 14);
  EXPECT_EQ(side(1, 60'000, "0", "28"), 28);
  EXPECT_EQ(side(1, 0, "0", "20"), 20);
  EXPECT_EQ(side(0.2, 1'000, "0", "3"), 3) << "fewer than 5, if they may be";
  EXPECT_EQ(side(90, 60'000'000), 27) << "nearly all that the image has";
  EXPECT_GT(side(1, 6'000'000), 20) << "more records: less noise in a mean";
  EXPECT_EQ(side(-1, 60'000), 14) << "make_plan() says what is wrong";
  EXPECT_EQ(side(1, 0), 14);
}

// A frequency says as much of a small image as of a large one.
TEST(ReleasePlan, SmallImagesMayHaveTheSidesOfLargeOnes) {
  const auto side = [](double epsilon, std::uint64_t records, std::vector<std::size_t> shape) {
    return chosen(epsilon, records, {}, std::move(shape))["lift_settings"]["coefficients"].get<int>();
  };
  EXPECT_EQ(side(10, 10'000, {1, 14, 14}), 14);
  EXPECT_EQ(side(1, 3'000, {1, 14, 14}), side(1, 3'000, {1, 28, 28}));
  EXPECT_EQ(side(1, 10'000, {1, 8, 7}), 7);
  EXPECT_EQ(side(1, 1'000, {1, 7, 7}), 5);
  EXPECT_EQ(side(1, 10'000, {1, 4, 4}), 4);
  EXPECT_EQ(side(1, 0, {1, 8, 8}), 4) << "half, where nothing is known";
  EXPECT_EQ(side(1, 60'000, {3, 16, 16}), 10) << "300 coefficients in all";
}

// Blocks tell of means that are longer than c0 what rows do not, once noise lets the means be seen; where
// there is little noise, a small c0 only weighs records unevenly.
TEST(ReleasePlan, TheOffsetFollowsThePublicNoiseToo) {
  const auto offset = [](auto... given) { return chosen(given...)["offset"].template get<double>(); };
  EXPECT_EQ(offset(1, 60'000), 8.0);
  EXPECT_EQ(offset(0.1, 1'000, test::MapKeys{{"weight_exponent", "0.5"}}), 8.0)
      << "nothing is seen of the means";
  EXPECT_LT(offset(1, 3'000), 6.0);
  EXPECT_GE(offset(1, 3'000), 4.0) << "half the usual one at least";
  EXPECT_LT(offset(1, 3'000, test::MapKeys{{"coefficients", "10"}, {"fewest_coefficients", "10"}}), 6.0)
      << "the side is written, c0 is not";
  EXPECT_EQ(offset(1, 3'000, test::MapKeys{{"offset", "7"}}), 7.0) << "what is written stands";
  EXPECT_EQ(offset(1, 0), 8.0);
}

// A side that is too large for the noise costs less where high frequencies take less of a record's length.
TEST(ReleasePlan, TheWeightsExponentFollowsThePublicNoiseToo) {
  const auto exponent = [](auto... given) {
    return chosen(given...)["lift_settings"]["weight_exponent"].template get<double>();
  };
  EXPECT_EQ(exponent(1, 60'000), 0.5);
  EXPECT_EQ(exponent(0.2, 10'000), 0.5);
  EXPECT_LT(exponent(0.2, 3'000, test::MapKeys{{"fewest_coefficients", "14"}}), 0.5) << "5 would be chosen";
  EXPECT_GE(exponent(0.1, 1), 0.0) << "no less";
  EXPECT_EQ(exponent(10, 60'000, test::MapKeys{{"coefficients", "14"}}), 0.5)
      << "there is no noise to speak of";
  EXPECT_EQ(exponent(10, 60'000, test::MapKeys{{"coefficients", "5"}}), 0.5);
  EXPECT_EQ(exponent(10, 10'000, test::MapKeys{}, std::vector<std::size_t>{1, 4, 4}), 0.5);
  EXPECT_LT(exponent(0.2, 300, test::MapKeys{}, std::vector<std::size_t>{1, 4, 4}), 0.5);
  EXPECT_EQ(exponent(0.1, 300, test::MapKeys{{"weight_exponent", "-1.5"}}), -1.5) << "what is written stands";
  EXPECT_EQ(exponent(1, 0), 0.5);
}

TEST(MapsSettings, AllProblemsOfAllMapsAreSaidAtOnce) {
  const schema::Schema schema = test::schema_of({4}, 3);
  features::MapsSettings maps;
  maps.maps["empty"];
  maps.maps["odd"].map = test::prepared_map("rff", {{"count", "7"}}, schema);
  maps.maps["shape"].map = test::prepared_map("moments", {{"lift", "image"}}, schema);
  expect_error(ExitCode::kConfig,
               {"[map.empty]", "has no kind", "[map.odd]", "count is 7", "[map.shape]", "shape is not"},
               [&] { maps.resolved(schema); });
  const features::MapsSettings copy = maps;
  EXPECT_NE(copy.maps.at("odd").map, maps.maps.at("odd").map) << "copies are deep";
}

}  // namespace
}  // namespace muffle::release
