#include "muffle/privacy/sensitivity.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "muffle/core/philox.hpp"
#include "muffle/features/mixed.hpp"
#include "muffle/privacy/accountant.hpp"
#include "support/expect_error.hpp"

namespace muffle::privacy {
namespace {

using bounds::BlockBound;
using test::expect_error;

// Counts, a signed block and a light non-negative one, and a record that the second block alone refuses. Were
// it not counted there, or counted only where all blocks take it, equal labels would be further apart than
// the bound.
TEST(Sensitivity, ARecordThatOneBlockRefusesMustBeCounted) {
  SensitivityInput input;
  const double w = 0.5;
  input.blocks = {{1.0, false, ""}, {w, true, ""}};
  input.counts = true;
  input.counts_weight = 1.0;
  const double bound = combined_sensitivity(input).value;
  EXPECT_NEAR(bound, std::sqrt(4 + 2 * w * w), 1e-15);
  const double counted = std::sqrt(4 + w * w), not_counted = std::sqrt(4 + w * w + 1);
  EXPECT_LE(counted, bound);
  EXPECT_GT(not_counted, bound) << "the old rule";
}

SensitivityInput blocks(std::vector<BlockBound> list) {
  SensitivityInput in;
  in.blocks = std::move(list);
  return in;
}

// One block of nine epochs' minibatches beside one that is released whole: its square counts nine times.
TEST(Sensitivity, OfMinibatchesIsOfAllTheirEpochs) {
  const BlockBound rff{1.0, false, "RFF"}, parts = bounds::in_minibatches(rff, 9);
  EXPECT_EQ(parts.norm, 3.0);
  EXPECT_EQ(combined_sensitivity(blocks({parts})).value, 6.0);
  EXPECT_NEAR(combined_sensitivity(blocks({parts, {1.0, true, "moments"}})).value, std::sqrt(36.0 + 2.0),
              1e-14);
  EXPECT_NE(combined_sensitivity(blocks({parts})).derivation.find("each of 9 epochs"), std::string::npos);
  // In units of one minibatch's sensitivity, for DP-HP's first version: five epochs.
  const double five = bounds::in_minibatches(rff, 5).norm;
  for (const auto& [epsilon, multiplier] :
       {std::pair(9.6, 1.156), std::pair(2.9, 3.204), std::pair(1.3, 6.573)})
    EXPECT_NEAR(five * noise_multiplier_for(epsilon, 1e-5), multiplier, 5e-4);
  SensitivityInput in = blocks({parts});
  in.adjacency = Adjacency::kAddRemoveOne;
  expect_error(ExitCode::kConfig, {"minibatches"}, [&] { (void)combined_sensitivity(in); });
}

TEST(Sensitivity, ValuesOfTheSpecificationsTable) {
  const BlockBound rff{1.0, false, "RFF"}, moments{1.0, true, "moments"};
  const double k = 3, d = 11;
  const BlockBound one_hot = features::one_hot_bound(3, 11);

  SensitivityInput in = blocks({rff});
  EXPECT_EQ(combined_sensitivity(in).value, 2.0);
  in.counts = true;
  for (const double lambda : {0.1, 0.5, 1.0}) {
    in.counts_weight = lambda;
    EXPECT_EQ(combined_sensitivity(in).value, 2.0) << "counts are free for lambda <= B";
  }
  in.counts_weight = 2.0;
  EXPECT_NEAR(combined_sensitivity(in).value, std::sqrt(10.0), 1e-15);
  in.adjacency = Adjacency::kAddRemoveOne;
  EXPECT_NEAR(combined_sensitivity(in).value, std::sqrt(5.0), 1e-15);
  in.max_records_per_person = 4;
  EXPECT_NEAR(combined_sensitivity(in).value, 4 * std::sqrt(5.0), 1e-14);

  EXPECT_NEAR(combined_sensitivity(blocks({moments})).value, std::sqrt(2.0), 1e-15);
  EXPECT_NEAR(combined_sensitivity(blocks({rff, one_hot})).value, std::sqrt(4 + 2 * k / d), 1e-15);
  // Beside a non-negative block alone counts are never free: both kinds of pair are sqrt(2) B apart.
  in = blocks({moments});
  in.counts = true;
  in.counts_weight = 0.5;
  EXPECT_NEAR(combined_sensitivity(in).value, std::sqrt(2.5), 1e-15);
}

TEST(OneHotBound, IsNeverBelowTheExactRoot) {
  for (std::uint64_t k = 1; k <= 200; ++k) {
    for (std::uint64_t d = k; d <= 4 * k; ++d) {
      const double norm = features::one_hot_bound(k, d).norm;
      ASSERT_TRUE(static_cast<__float128>(norm) * norm * d >= static_cast<__float128>(k)) << k << " " << d;
      ASSERT_LE(norm, std::sqrt(static_cast<double>(k) / static_cast<double>(d)) * (1 + 1e-15));
    }
  }
  for (const auto& [k, d] : {std::pair{0, 3}, std::pair{4, 3}}) {
    expect_error(ExitCode::kConfig, {"one-hot", "3 categories"},
                 [&, k = k, d = d] { (void)features::one_hot_bound(k, d); });
  }
}

TEST(Sensitivity, IsNeverBelowTheExactBound) {
  // norm^2 x 4 in long doubles would still round; squares of the result do not lie about the direction.
  const CounterStream stream(7, Stream::kTest);
  for (int i = 0; i < 20000; ++i) {
    const double a = stream.uniform(3 * i), b = stream.uniform(3 * i + 1), lambda = stream.uniform(3 * i + 2);
    SensitivityInput in = blocks({{a, false, ""}, {b, true, ""}});
    in.adjacency = Adjacency::kAddRemoveOne;
    in.counts = true;
    in.counts_weight = lambda;
    const double value = combined_sensitivity(in).value;
    const __float128 exact = static_cast<__float128>(a) * a + static_cast<__float128>(b) * b +
                             static_cast<__float128>(lambda) * lambda;
    ASSERT_TRUE(static_cast<__float128>(value) * value >= exact) << i;
    ASSERT_LE(value, std::sqrt(static_cast<double>(exact)) * (1 + 1e-15)) << i;
  }
}

TEST(Sensitivity, DerivationNamesEveryStep) {
  SensitivityInput in = blocks({{1.0, false, "cos^2 + sin^2 = 1 (Rahimi & Recht 2007)"}});
  in.counts = true;
  in.counts_weight = 1.0;
  in.max_records_per_person = 3;
  const std::string text = combined_sensitivity(in).derivation;
  for (const char* part : {"Replace-one", "B = 1", "Rahimi", "<= 2 B", "sqrt(2 B^2 + 2 lambda^2) = 2",
                           "cost nothing", "q = 3", "triangle inequality", "L2 sensitivity 6."}) {
    EXPECT_NE(text.find(part), std::string::npos) << part << " not in: " << text;
  }
  in.adjacency = Adjacency::kAddRemoveOne;
  EXPECT_NE(combined_sensitivity(in).derivation.find("Add/remove-one"), std::string::npos);
}

TEST(Sensitivity, DerivationProvesABoundOnce) {
  SensitivityInput in = blocks({{1.0, false, "Theorem A."}, {1.0, true, "Theorem B."}});
  in.blocks.push_back(features::weighted(in.blocks[0], 0.5));
  in.blocks.push_back(in.blocks[1]);
  in.blocks[3].nonnegative_kernel = false;  // the same words, another bound
  const std::string text = combined_sensitivity(in).derivation;
  EXPECT_NE(text.find("Block 3: by the theorem of block 1, scaled by 0.5: B = 0.5. "), std::string::npos)
      << text;
  EXPECT_EQ(text.find("Theorem A"), text.rfind("Theorem A"));
  EXPECT_NE(text.find("Theorem B"), text.rfind("Theorem B"));
}

TEST(Sensitivity, RefusesAbsurdInput) {
  expect_error(ExitCode::kConfig, {"no feature block"},
               [] { (void)combined_sensitivity(SensitivityInput{}); });
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  for (const double bad : {0.0, -1.0, nan, inf, 1e7, 9.9e-10, 1e-200}) {
    SensitivityInput in = blocks({{1.0, false, ""}, {bad, false, ""}});
    in.counts = true;
    in.counts_weight = bad;
    in.max_records_per_person = 0;
    expect_error(ExitCode::kConfig, {"block 2", "weight", "one person", "nothing was released"},
                 [&] { (void)combined_sensitivity(in); });
  }
  EXPECT_NEAR(combined_sensitivity(blocks({{1e-9, false, ""}})).value, 2e-9, 1e-24)
      << "the least that is allowed";
  SensitivityInput in = blocks({{1.0, false, ""}});
  in.max_records_per_person = std::numeric_limits<std::uint64_t>::max();
  expect_error(ExitCode::kConfig, {"18446744073709551615"}, [&] { (void)combined_sensitivity(in); });
}

}  // namespace
}  // namespace muffle::privacy
