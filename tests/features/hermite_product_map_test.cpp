// What is peculiar to products of Hermite features: which sets of numbers, and the kernel that they expand.
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "features/features_fixture.hpp"
#include "muffle/features/hermite_product.hpp"
#include "support/maps.hpp"

namespace muffle::features {
namespace {

std::unique_ptr<FeatureMap> product(const test::MapKeys& keys, const std::vector<std::size_t>& shape) {
  return test::make_map("hermite-product", keys, test::schema_of(shape, 1));
}

const std::vector<std::vector<std::size_t>>& subsets_of(const FeatureMap& map) {
  return dynamic_cast<const HermiteProductMap&>(map).subsets();
}

TEST(HermiteProductMap, SetsAreDifferentAscendingAndOfTheSeedAlone) {
  const auto map = product({{"columns", "3"}, {"subsets", "200"}, {"order", "1"}}, {1, 6, 7});
  const auto& subsets = subsets_of(*map);
  EXPECT_EQ(subsets.size(), 200u);
  EXPECT_EQ(std::set(subsets.begin(), subsets.end()).size(), 200u);
  std::vector<std::size_t> often(42);
  for (const auto& subset : subsets) {
    ASSERT_EQ(subset.size(), 3u);
    EXPECT_TRUE(subset[0] < subset[1] && subset[1] < subset[2] && subset[2] < 42u);
    for (const std::size_t column : subset) ++often[column];
  }
  EXPECT_LT(*std::ranges::max_element(often), 35u) << "14 on average";
  EXPECT_GT(*std::ranges::min_element(often), 2u);
  EXPECT_EQ(subsets_of(*product({{"columns", "3"}, {"subsets", "200"}}, {42})), subsets);
  EXPECT_NE(subsets_of(*product({{"columns", "3"}, {"subsets", "200"}, {"seed", "2"}}, {42})), subsets);
  EXPECT_EQ(subsets_of(*product({{"columns", "3"}, {"subsets", "20"}}, {42})),
            std::vector(subsets.begin(), subsets.begin() + 20));
}

TEST(HermiteProductMap, NoMoreSetsThanThereAre) {
  EXPECT_EQ(subsets_of(*product({}, {2})), (std::vector<std::vector<std::size_t>>{{0, 1}}));
  EXPECT_EQ(subsets_of(*product({{"columns", "5"}}, {2})), (std::vector<std::vector<std::size_t>>{{0, 1}}));
  const auto all = subsets_of(*product({{"columns", "5"}, {"order", "1"}}, {6}));
  EXPECT_EQ(std::set(all.begin(), all.end()).size(), 6u);
  EXPECT_THROW(product({{"columns", "9"}}, {30}), ConfigError) << "21^9 features";
}

TEST(HermiteProductMap, TheKernelIsTheMeanOverTheSetsOfProductsOfGaussians) {
  const auto map = product({{"order", "15"}, {"length_scale", "0.2"}, {"subsets", "3"}}, {4});
  const auto block = map->make_block({});
  const Records records(6, 4, 1);
  const double unit = map->scale({});
  for (std::size_t i = 0; i < records.n; ++i) {
    const auto a = features_of(*block, records.row(i));
    for (std::size_t j = 0; j < records.n; ++j) {
      const auto b = features_of(*block, records.row(j));
      double kernel = 0, expected = 0;
      for (std::size_t f = 0; f < a.size(); ++f)
        kernel += static_cast<double>(a[f]) / unit * (static_cast<double>(b[f]) / unit);
      for (const auto& subset : subsets_of(*map)) {
        double squares = 0;
        for (const std::size_t column : subset)
          squares += std::pow(records.row(i)[column] - records.row(j)[column], 2);
        expected += std::exp(-squares / (2 * 0.2 * 0.2)) / 3;
      }
      EXPECT_NEAR(kernel, expected, 2e-5);
    }
  }
}

/// psi_0 .. psi_4 of length-scale l by the Hermite polynomials themselves, not by their recursion.
std::vector<double> five_functions(double l, double t) {
  const double a = 1 / (2 * l * l), rho = (std::sqrt(1 + 4 * a * a) - 1) / (2 * a),
               first = std::pow(1 - rho * rho, 0.25) * std::exp(-rho * t * t / (1 + rho)), s = t * t;
  return {first, first * std::sqrt(rho / 2) * 2 * t, first * rho / std::sqrt(8.0) * (4 * s - 2),
          first * std::pow(rho, 1.5) / std::sqrt(48.0) * (8 * s - 12) * t,
          first * rho * rho / std::sqrt(384.0) * (16 * s * s - 48 * s + 12)};
}

TEST(HermiteProductMap, TheBlockHoldsTheProductsSubsetBySubsetTheLastOrderFastest) {
  const auto map = product(
      {{"order", "4"}, {"length_scale", "0.5"}, {"stretch", "3"}, {"columns", "3"}, {"subsets", "2"}}, {5});
  ASSERT_EQ(map->features(), 2u * 125u);
  const Records records(1, 5, 1);
  const auto values = features_of(*map->make_block({}), records.row(0));
  std::vector<std::vector<double>> psi;
  for (std::size_t c = 0; c < 5; ++c) {
    psi.push_back(five_functions(1.5, 3 * (static_cast<double>(records.row(0)[c]) - 0.5)));
  }
  std::size_t at = 0;
  for (const auto& s : subsets_of(*map)) {
    for (std::size_t i = 0; i < 5; ++i) {
      for (std::size_t j = 0; j < 5; ++j) {
        for (std::size_t k = 0; k < 5; ++k, ++at)
          EXPECT_NEAR(static_cast<double>(values[at]) / map->scale({}),
                      psi[s[0]][i] * psi[s[1]][j] * psi[s[2]][k] / std::sqrt(2.0), 2e-7);
      }
    }
  }
}

TEST(HermiteProductMap, AuditsAreOfFewerSets) {
  const auto map = product({{"order", "1"}, {"subsets", "5"}}, {9});
  EXPECT_EQ(map->features(), 20u);
  EXPECT_EQ(map->shrunk(9)->features(), 8u);
  EXPECT_EQ(map->shrunk(1)->features(), 4u);
}

}  // namespace
}  // namespace muffle::features
