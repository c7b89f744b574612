// What is peculiar to Hermite features: the kernel that they expand, and a recursion that stays stable to
// order 200.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "features/features_fixture.hpp"
#include "muffle/core/text.hpp"
#include "muffle/features/hermite_sum.hpp"
#include "support/maps.hpp"

namespace muffle::features {
namespace {

/// Reference: psi_k from Hermite polynomials in long double, scaled at every step so that none overflows:
/// with H_{k+1} = 2 t' H_k - 2 k H_{k-1}, psi_k = height sqrt(rho^k / (2^k k!)) H_k(t) exp(-rho t^2 / (1 +
/// rho)).
std::vector<long double> reference_functions(long double length_scale, int order, long double stretch,
                                             long double x) {
  length_scale *= stretch;
  const long double t = stretch * x, a = 1 / (2 * length_scale * length_scale),
                    rho = 2 * a / (std::sqrt(1 + 4 * a * a) + 1);
  std::vector<long double> psi{std::pow(rho / a, 0.25L) * std::exp(-rho * t * t / (1 + rho))};
  long double before = 0;
  for (int k = 0; k < order; ++k) {
    // c_{k+1} / c_k = sqrt(rho / (2 (k + 1))), c_k the factor of H_k.
    const long double up = std::sqrt(rho / (2 * (k + 1.0L))),
                      upper = k > 0 ? up * std::sqrt(rho / (2.0L * k)) : 0;
    const long double next = up * 2 * t * psi.back() - upper * 2 * k * before;
    before = psi.back();
    psi.push_back(next);
  }
  return psi;
}

HermiteRecursion recursion_of(const std::string& order, const std::string& length_scale,
                              const std::string& stretch = "1") {
  const auto map =
      test::make_map("hermite-sum", {{"order", order}, {"length_scale", length_scale}, {"stretch", stretch}},
                     test::schema_of({1}, 1));
  return dynamic_cast<const HermiteSumMap&>(*map).recursion();
}

std::vector<double> functions(const HermiteRecursion& r, double t) {
  std::vector<double> psi{r.first(t)};
  for (std::size_t k = 1; k < r.count(); ++k)
    psi.push_back(r.up[k] * t * psi[k - 1] - (k > 1 ? r.back[k] * psi[k - 2] : 0.0));
  return psi;
}

TEST(HermiteSumMap, TheRecursionIsStableToOrder200) {
  for (const char* stretch : {"0.01", "1", "6", "25"}) {
    for (const char* length_scale : {"0.001", "0.03", "0.3", "1.0", "30.0"}) {
      const HermiteRecursion r = recursion_of("200", length_scale, stretch);
      for (double t = -0.5; t <= 0.5; t += 0.0625) {
        const auto psi = functions(r, t);
        const auto reference = reference_functions(std::stold(length_scale), 200, std::stold(stretch), t);
        double squares = 0;
        for (std::size_t k = 0; k < psi.size(); ++k) {
          ASSERT_NEAR(psi[k], static_cast<double>(reference[k]), 1e-12)
              << length_scale << " " << stretch << " " << t << " " << k;
          squares += psi[k] * psi[k];
        }
        ASSERT_LE(squares, 1 + 1e-13) << length_scale << " " << stretch << " " << t;
      }
    }
  }
}

double kernel_error(const HermiteRecursion& r, double l) {
  double error = 0;
  for (double t = -0.5; t <= 0.5; t += 0.05) {
    for (double s = -0.5; s <= 0.5; s += 0.05) {
      const auto a = functions(r, t), b = functions(r, s);
      double kernel = 0;
      for (std::size_t k = 0; k < a.size(); ++k) kernel += a[k] * b[k];
      error = std::max(error, std::fabs(kernel - std::exp(-(t - s) * (t - s) / (2 * l * l))));
    }
  }
  return error;
}

TEST(HermiteSumMap, StretchedFunctionsExpandTheSameKernelByFewerOrders) {
  for (const auto& [order, length_scale, error] :
       {std::tuple{"25", "0.3", 1e-12}, std::tuple{"10", "0.3", 1e-6}, std::tuple{"20", "0.1", 1e-4},
        std::tuple{"25", "0.07", 3e-4}, std::tuple{"25", "0.05", 0.01}, std::tuple{"5", "0.5", 1e-5},
        std::tuple{"200", "0.01", 1e-4}, std::tuple{"6", "0.3873", 2e-5}}) {
    const double l = std::stod(length_scale);
    const double own = kernel_error(recursion_of(order, length_scale, "0"), l);
    const double former = kernel_error(recursion_of(order, length_scale), l);
    EXPECT_LT(own, error) << order << " " << length_scale;
    EXPECT_GT(former, 0.03) << "by the functions of x - 1/2";
    // What docs/reference/feature-maps.md shows.
    const std::string name = std::string("order_") + order + "_length_" + length_scale;
    RecordProperty(name, exact_text(own));
    RecordProperty(name + "_unstretched", exact_text(former));
  }
}

TEST(HermiteSumMap, TheStretchThatIsLeftOpenIsNearlyTheBest) {
  for (const auto& [order, length_scale] :
       {std::pair{"10", "0.1"}, {"20", "0.1"}, {"25", "0.05"}, {"50", "0.05"}, {"5", "0.3"}}) {
    const double l = std::stod(length_scale);
    double best = 1;
    for (int stretch = 1; stretch <= 25; ++stretch)
      best = std::min(best, kernel_error(recursion_of(order, length_scale, std::to_string(stretch)), l));
    EXPECT_LT(kernel_error(recursion_of(order, length_scale, "0"), l), 3 * best)
        << order << " " << length_scale;
  }
}

TEST(HermiteSumMap, AStretchIsResolvedOnceAndSaidByTheRelease) {
  const auto stretch_of = [](const std::string& order, const std::string& stretch) {
    return test::make_map("hermite-sum", {{"order", order}, {"stretch", stretch}}, test::schema_of({2}, 1))
        ->to_json()
        .at("stretch")
        .get<double>();
  };
  EXPECT_EQ(stretch_of("25", "0"), 10.0);
  EXPECT_EQ(stretch_of("0", "0"), 2.0);
  EXPECT_EQ(stretch_of("200", "0"), 25.0);
  EXPECT_EQ(stretch_of("25", "0.5"), 0.5);
  EXPECT_THROW(stretch_of("25", "0.001"), ConfigError);
  for (const char* stretch : {"25.1", "-1", "nan"})
    EXPECT_THROW(stretch_of("25", stretch), std::invalid_argument) << stretch;
}

// Releases from before there was a stretch. Hashes and sums are those that the code of then (commit e03ba38)
// made of the same 50 records; functions of x - 1/2 are these until today.
TEST(HermiteSumMap, AReleaseThatSaysNoStretchIsOfTheMapThatItWas) {
  for (const auto& [kind, text, hash, sums] :
       {std::tuple{"hermite-sum", R"({"length_scale":0.1,"order":100})",
                   "1a0d85b121406d051e393260394dc78300b62575e2db2f8a72774ca91005b1a5",
                   "c796036cb8637f63571deea00e8839148704d7c3fbbefc3e935ef84b487c4da8"},
        std::tuple{"hermite-product", R"({"columns":2,"length_scale":0.1,"order":20,"seed":1,"subsets":3})",
                   "75f759138ef8190152216a0b9f9508e4abbd5a819ee41b858ba0829a52c269dd",
                   "d8b648742062b9e123fde6e864764c71d8c9ff683cb2fee74f14726119da6b0a"}}) {
    const auto json = nlohmann::json::parse(text);
    const JsonDocument document{"x.mfl", "a release", ""};
    const auto map = make_map(kind);
    map->read_json(JsonFields(json, document, "map."));
    map->resolve(test::schema_of({1, 2, 2}, 3));
    EXPECT_EQ(map->to_json().dump(), text);
    EXPECT_EQ(map->hash(), hash) << kind;
    const Records records(50, 4, 3);
    EXPECT_EQ(sha256_of(sums_of(*map->make_block({}), records, 3)), sums) << kind;
    auto settings = test::MapKeys{{"stretch", "1"}};
    for (const auto& [key, value] : json.items()) settings.emplace_back(key, value.dump());
    EXPECT_EQ(test::make_map(kind, settings, test::schema_of({1, 2, 2}, 3))->to_json(), json);
  }
}

TEST(HermiteSumMap, TheFunctionsExpandTheGaussianKernelAndTheirSquaresSumToOneAtMost) {
  for (const auto& [order, length_scale, error] :
       {std::tuple{"200", "0.3", 1e-8}, std::tuple{"25", "0.3", 0.04}, std::tuple{"100", "1.0", 1e-14},
        std::tuple{"5", "0.05", 1.0}}) {
    const HermiteRecursion r = recursion_of(order, length_scale);
    const double l = std::stod(length_scale);
    for (double t = -0.5; t <= 0.5; t += 0.05) {
      const auto a = functions(r, t);
      double squares = 0;
      for (const double p : a) squares += p * p;
      EXPECT_LE(squares, 1 + 1e-14);
      for (double s = -0.5; s <= 0.5; s += 0.1) {
        const auto b = functions(r, s);
        double kernel = 0;
        for (std::size_t k = 0; k < a.size(); ++k) kernel += a[k] * b[k];
        EXPECT_NEAR(kernel, std::exp(-(t - s) * (t - s) / (2 * l * l)), error);
      }
    }
  }
}

TEST(HermiteSumMap, TheBlockHoldsTheFunctionsOfEachNumberOrderByOrder) {
  const auto map = test::make_map(
      "hermite-sum", {{"order", "7"}, {"length_scale", "0.4"}, {"stretch", "1.5"}}, test::schema_of({3}, 1));
  const Lattice lattice;
  const auto block = map->make_block(lattice);
  const Records records(20, 3, 1);
  const HermiteRecursion r = recursion_of("7", "0.4", "1.5");
  for (std::size_t i = 0; i < records.n; ++i) {
    const auto values = features_of(*block, records.x.data() + 3 * i);
    ASSERT_EQ(values.size(), 24u);
    for (std::size_t j = 0; j < 3; ++j) {
      const auto psi = functions(r, static_cast<double>(records.x[3 * i + j]) - 0.5);
      for (std::size_t k = 0; k < psi.size(); ++k) {
        const double wanted = psi[k] / std::sqrt(3.0) * static_cast<double>(lattice.scale());
        EXPECT_NEAR(static_cast<double>(values[3 * k + j]), wanted, 1.001);
        EXPECT_LE(std::fabs(static_cast<double>(values[3 * k + j])), std::fabs(wanted)) << "toward zero";
      }
    }
  }
}

}  // namespace
}  // namespace muffle::features
