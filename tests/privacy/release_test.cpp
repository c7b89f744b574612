#include "muffle/privacy/release.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <type_traits>
#include <vector>

#include "muffle/core/error.hpp"
#include "muffle/privacy/accountant.hpp"
#include "support/expect_error.hpp"
#include "support/one_noise.hpp"

namespace muffle::privacy {
namespace {

using test::expect_error;

static_assert(!std::is_copy_constructible_v<RawSum> && !std::is_copy_assignable_v<RawSum>);
static_assert(!std::is_copy_constructible_v<NoiseVector> && !std::is_copy_assignable_v<NoiseVector>);

SensitivityInput rff_input(const PrivacySpec& spec) {
  return {.blocks = {{1.0, false, "random Fourier"}},
          .adjacency = spec.adjacency,
          .max_records_per_person = spec.max_records_per_person};
}

/// One number in units of 2^-bits.
std::vector<bounds::CoordinatePart> numbers_of(int bits) { return {{{{1, std::ldexp(1.0, bits)}}, 1}}; }
std::uint64_t drawn(const NoisePlan& plan) { return plan.parts.at(0).runs.at(0).sigma_lattice; }

PrivacySpec main_job() { return {.epsilon = 1.0, .noise_multiplier = {}, .max_records_per_person = 1}; }

TEST(PlanNoise, MainJobHasTheHonestSigma) {
  const PrivacySpec spec = main_job();
  const NoisePlan plan = plan_noise(spec, rff_input(spec), numbers_of(24));
  EXPECT_NEAR(plan.noise_multiplier, 3.73063163482, 1e-10);
  EXPECT_EQ(plan.sensitivity.value, 2.0);
  EXPECT_EQ(plan.sigma, 2 * plan.noise_multiplier);
  EXPECT_EQ(drawn(plan), static_cast<std::uint64_t>(std::ceil(plan.sigma * 16777216.0)));
  EXPECT_GE(static_cast<double>(drawn(plan)), plan.sigma * 16777216.0);
  EXPECT_EQ(plan.epsilon, 1.0);
  EXPECT_EQ(plan.delta, 1e-5);
  EXPECT_EQ(plan.sensitivity_input.blocks.size(), 1u);
  // The whole chain once more, the other way round: what the integer sigma gives.
  EXPECT_LE(delta_for(1.0, plan.sensitivity.value * 16777216.0 / static_cast<double>(drawn(plan))), 1e-5);
}

TEST(PlanNoise, NoiseMultiplierGivesEpsilonRoundedUp) {
  const PrivacySpec spec{.epsilon = {}, .noise_multiplier = 5.0, .max_records_per_person = 2};
  const NoisePlan plan = plan_noise(spec, rff_input(spec), numbers_of(20));
  EXPECT_NEAR(plan.epsilon, 0.72552, 5e-6);
  EXPECT_LE(delta_for(plan.epsilon, 0.2), 1e-5);
  EXPECT_EQ(plan.sigma, 20.0);
  EXPECT_EQ(drawn(plan), 20u << 20);
}

// One sigma in units of the features, whatever the units: drawn never below it, and less than a unit above.
TEST(PlanNoise, APersonInSeveralFilesMultipliesTheBound) {
  PrivacySpec spec = main_job();
  settings::Keys keys("privacy");
  spec.declare(keys);
  const std::vector<settings::Key> all = keys.take();
  const auto key = std::find_if(all.begin(), all.end(),
                                [](const settings::Key& k) { return k.name == "privacy.person_spans"; });
  ASSERT_NE(key, all.end());
  using ValueKind = settings::Value::Kind;
  EXPECT_EQ(key->get(), "\"\"");
  spec.max_records_per_person = 3;
  EXPECT_EQ(spec.records_of_a_person(), 3u);
  EXPECT_EQ(key->set({.kind = ValueKind::kString, .text = "one-file", .shown = ""}), "");
  EXPECT_EQ(key->get(), "\"one-file\"");
  EXPECT_EQ(spec.records_of_a_person(), 3u);
  EXPECT_EQ(key->set({.kind = ValueKind::kInteger, .integer = 5, .shown = ""}), "");
  EXPECT_EQ(key->get(), "5");
  EXPECT_EQ(spec.records_of_a_person(), 15u);
  for (const std::int64_t bad : {std::int64_t{0}, std::int64_t{-1}, std::int64_t{1'000'001}})
    EXPECT_NE(key->set({.kind = ValueKind::kInteger, .integer = bad, .shown = ""}), "") << bad;
  EXPECT_NE(key->set({.kind = ValueKind::kString, .text = "all", .shown = ""}), "");
  SensitivityInput input = rff_input(spec);
  input.max_records_per_person = 15;
  EXPECT_EQ(plan_noise(spec, input, numbers_of(24)).sensitivity.value, 30.0);
  spec.person_spans = 1'000'000;
  expect_error(ExitCode::kConfig, {"person_spans"}, [&] { plan_noise(spec, input, numbers_of(24)); });
}

TEST(PlanNoise, EveryRunGetsSigmaInItsOwnUnits) {
  const PrivacySpec spec = main_job();
  const double half = std::ldexp(0.5, 32) * std::nextafter(std::sqrt(2.0), 2.0);
  const std::vector<bounds::CoordinatePart> coordinates{
      {{{197, 0x1p32}, {19'306, half}}, 10}, {{{5'000, 0x1p24 / 3}}, 10}, {{{10, 0x1p24}}, 1}};
  const NoisePlan plan = plan_noise(spec, rff_input(spec), coordinates);
  EXPECT_EQ(length_of(plan.parts), 10u * (197 + 19'306) + 50'000 + 10);
  std::uint64_t next = 0, runs = 0;
  for_each_run(plan.parts, [&](std::uint64_t first, const NoiseRun& run) {
    EXPECT_EQ(first, next);
    next += run.count;
    ++runs;
    const long double exact = static_cast<long double>(plan.sigma) * run.unit;
    EXPECT_GE(static_cast<long double>(run.sigma_lattice), exact);
    EXPECT_LT(static_cast<long double>(run.sigma_lattice), exact + 1.001L);
  });
  EXPECT_EQ(next, length_of(plan.parts));
  EXPECT_EQ(runs, 31u);
  EXPECT_EQ(plan.parts[0].repeat, 10u);
}

TEST(NoiseVector, EachRunHasItsOwnNoise) {
  const std::vector<NoisePart> parts{{{{2'000, 1.0, 10}, {3'000, 1.0, 1'000'000}}, 2}};
  const auto entropy = os_entropy();
  const std::vector<std::int64_t> z =
      NoiseVector(parts, *entropy).publish(RawSum(std::vector<std::uint64_t>(10'000, 0))).values;
  for_each_run(parts, [&](std::uint64_t first, const NoiseRun& run) {
    double squares = 0;
    for (std::uint64_t i = first; i < first + run.count; ++i)
      squares += static_cast<double>(z[i]) * static_cast<double>(z[i]);
    const double ratio = squares / static_cast<double>(run.count) /
                         (static_cast<double>(run.sigma_lattice) * static_cast<double>(run.sigma_lattice));
    // Standard error sqrt(2 / 2000) = 0.032: wrong by chance with probability below 1e-13.
    EXPECT_NEAR(ratio, 1.0, 0.25) << first;
  });
}

TEST(PlanNoise, RefusesWithEveryProblemInOneMessage) {
  const double nan = std::numeric_limits<double>::quiet_NaN(), inf = std::numeric_limits<double>::infinity();
  const auto refused = [](std::initializer_list<std::string> parts,
                          const std::function<void(PrivacySpec&)>& change) {
    PrivacySpec spec = main_job();
    change(spec);
    expect_error(ExitCode::kConfig, parts, [&] { (void)plan_noise(spec, rff_input(spec), numbers_of(24)); });
  };
  const auto multiplier = [](double value) {
    return [=](PrivacySpec& s) { s.epsilon.reset(), s.noise_multiplier = value; };
  };
  for (const double bad : {0.0, -1.0, nan, inf, 1e-4, 1000.0})
    refused({"epsilon is"}, [=](PrivacySpec& s) { s.epsilon = bad; });
  for (const double bad : {0.0, -1.0, nan, inf, 9e-4, 1e7}) refused({"noise multiplier is"}, multiplier(bad));
  for (const double bad : {0.0, -1e-5, nan, inf, 1.0, 1.5})
    refused({"delta is"}, [=](PrivacySpec& s) { s.delta = bad; });
  refused({"both epsilon and a noise multiplier"}, [](PrivacySpec& s) { s.noise_multiplier = 4.0; });
  refused({"neither epsilon nor"}, [](PrivacySpec& s) { s.epsilon.reset(); });
  refused({"max_records_per_person", "write 1"}, [](PrivacySpec& s) { s.max_records_per_person = 0; });
  refused({"epsilon is -1", "delta is nan", "max_records_per_person", "nothing was released"},
          [=](PrivacySpec& s) { s.epsilon = -1.0, s.delta = nan, s.max_records_per_person = 0; });
  // Noise that protects nobody, noise that leaves nothing, noise beyond the sampler.
  refused({"protects nobody"}, multiplier(0.01));
  refused({"noise multiplier of 1e+05", "0.001"}, multiplier(1e5));
  refused({"sigma", "units of 1/1.67772e+07"},
          [](PrivacySpec& s) { s.epsilon = 1e-3, s.delta = 1e-12, s.max_records_per_person = 1'000'000; });
  // Two statements of one thing must not differ.
  SensitivityInput other = rff_input(main_job());
  other.adjacency = Adjacency::kAddRemoveOne;
  expect_error(ExitCode::kInvariant, {"adjacency"},
               [&] { (void)plan_noise(main_job(), other, numbers_of(24)); });
}

TEST(NoiseVector, ShowsLifeByCountWhileItIsDrawn) {
  const auto entropy = insecure_seeded_entropy(3);
  const std::vector<NoisePart> parts{{{{kDrawsBetweenSigns + 1, 1.0, 1000}}, 1}};
  int calls = 0;
  const auto noise = draw_noise(parts, *entropy, [&] { ++calls; });
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(noise, draw_noise(parts, *insecure_seeded_entropy(3)));
  EXPECT_THROW(NoiseVector(parts, *entropy, [&] { throw CommError("lost rank 1"); }), CommError);
}

TEST(NoiseVector, PublishesSumPlusNoiseModulo2To64) {
  const auto entropy = insecure_seeded_entropy(3), again = insecure_seeded_entropy(3);
  const std::vector<std::int64_t> expected = draw_noise(test::one_noise(4, 1000), *again);
  const std::vector<std::uint64_t> sums{0, 5, static_cast<std::uint64_t>(-7), std::uint64_t{1} << 61};
  NoiseVector noise(test::one_noise(4, 1000), *entropy);
  const NoisySum out = std::move(noise).publish(RawSum(sums));
  ASSERT_EQ(out.values.size(), 4u);
  EXPECT_EQ(out.values[0], expected[0]);
  EXPECT_EQ(out.values[1], 5 + expected[1]);
  EXPECT_EQ(out.values[2], -7 + expected[2]);
  EXPECT_EQ(out.values[3], (std::int64_t{1} << 61) + expected[3]);
  EXPECT_FALSE(out.is_private) << "seeded noise protects nobody";
}

TEST(NoiseVector, NoNoiseIsTheExactSumAndNotPrivate) {
  const auto none = insecure_no_noise();
  EXPECT_FALSE(none->is_secure());
  const std::vector<std::uint64_t> sums{0, 5, static_cast<std::uint64_t>(-7)};
  const NoisySum out = NoiseVector(test::one_noise(3, 1000), *none).publish(RawSum(sums));
  EXPECT_EQ(out.values, (std::vector<std::int64_t>{0, 5, -7}));
  EXPECT_FALSE(out.is_private);
  std::array<std::byte, 4> bits{};
  EXPECT_THROW(none->fill(bits), InvariantError) << "no key is made of it";
}

TEST(NoiseVector, OsEntropyIsPrivateAndNeverRepeats) {
  const auto entropy = os_entropy();
  EXPECT_TRUE(entropy->is_secure());
  const std::vector<std::uint64_t> zeros(64, 0);
  NoisySum first = NoiseVector(test::one_noise(64, std::uint64_t{1} << 40), *entropy).publish(RawSum(zeros));
  NoisySum second =
      NoiseVector(test::one_noise(64, std::uint64_t{1} << 40), *os_entropy()).publish(RawSum(zeros));
  EXPECT_TRUE(first.is_private);
  EXPECT_NE(first.values, second.values);  // equal with probability below 2^-2000
}

TEST(NoiseVector, IsSpentOnceAndOnlyOnItsOwnLength) {
  const auto entropy = insecure_seeded_entropy(4);
  const auto refused = [](const char* why, NoiseVector& noise, std::vector<std::uint64_t> sums) {
    expect_error(ExitCode::kInvariant, {why}, [&] { (void)std::move(noise).publish(RawSum(sums)); });
  };
  NoiseVector noise(test::one_noise(3, 10), *entropy), from(test::one_noise(3, 10), *entropy);
  (void)std::move(noise).publish(RawSum({1, 2, 3}));
  NoiseVector to(std::move(from));
  refused("already spent", noise, {1, 2, 3});  // NOLINT(bugprone-use-after-move)
  refused("already spent", from, {1, 2, 3});   // NOLINT(bugprone-use-after-move)
  refused("2 numbers, but noise was drawn for 3", to, {1, 2});
  expect_error(ExitCode::kInvariant, {"no numbers"}, [&] { NoiseVector(test::one_noise(0, 10), *entropy); });
  for (const std::uint64_t sigma : {std::uint64_t{0}, kMaxSigmaLattice + 1}) {
    expect_error(ExitCode::kInvariant, {"sigma"}, [&] { NoiseVector(test::one_noise(1, sigma), *entropy); });
  }
}

/// Fails after some bytes, as a machine whose entropy gives out would.
class FailingEntropy final : public EntropySource {
 public:
  explicit FailingEntropy(int good_blocks) : good_blocks_(good_blocks), source_(insecure_seeded_entropy(1)) {}
  void fill(std::span<std::byte> out) override {
    if (good_blocks_-- <= 0) throw InvariantError("no entropy: getrandom failed");
    source_->fill(out);
  }
  bool is_secure() const override { return true; }

 private:
  int good_blocks_;
  std::unique_ptr<EntropySource> source_;
};

/// The same few bytes for ever, as a virtual machine restored from a snapshot without a generator might give.
class StuckEntropy final : public EntropySource {
 public:
  explicit StuckEntropy(std::vector<std::uint8_t> pattern) : pattern_(std::move(pattern)) {}
  void fill(std::span<std::byte> out) override {
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = std::byte{pattern_[i % pattern_.size()]};
  }
  bool is_secure() const override { return true; }

 private:
  std::vector<std::uint8_t> pattern_;
};

TEST(Entropy, FailureAbortsAndNeverFallsBack) {
  for (const int good_blocks : {0, 1, 3}) {
    FailingEntropy entropy(good_blocks);
    expect_error(ExitCode::kInvariant, {"no entropy"},
                 [&] { NoiseVector(test::one_noise(5000, 1000), entropy); });
  }
}

TEST(Entropy, AStuckSourceIsNoticed) {
  for (const std::vector<std::uint8_t>& pattern : std::vector<std::vector<std::uint8_t>>{
           {0}, {0xFF}, {0x55}, {1, 2, 3, 4}, {0x10, 0x80, 0x33, 0x01, 0x99, 0xA7, 0x5C, 0xE2}}) {
    StuckEntropy entropy(pattern);
    expect_error(ExitCode::kInvariant, {"stuck"}, [&] { NoiseVector(test::one_noise(5000, 1000), entropy); });
  }
}

TEST(Entropy, SeededSourceIsAFunctionOfItsSeedAlone) {
  std::array<std::byte, 1000> a{}, b{}, c{};
  insecure_seeded_entropy(9)->fill(a);
  const auto again = insecure_seeded_entropy(9);
  again->fill(std::span(b).first(504));
  again->fill(std::span(b).subspan(504));
  insecure_seeded_entropy(10)->fill(c);
  EXPECT_EQ(a, b);
  EXPECT_NE(a, c);
  EXPECT_FALSE(again->is_secure());
}

}  // namespace
}  // namespace muffle::privacy
