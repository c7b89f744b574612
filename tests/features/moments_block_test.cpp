#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "muffle/core/philox.hpp"
#include "muffle/features/moments.hpp"
#include "muffle/features/weighted.hpp"
#include "reference/moments_reference.hpp"
#include "support/expect_error.hpp"

namespace muffle::features {
namespace {

using reference::Int128;
using test::expect_error;

MomentsSpec image(std::vector<std::size_t> shape, std::size_t k = 0, int bits = 16) {
  return {.kind = MomentLiftKind::kImage, .shape = std::move(shape), .coefficients = k, .bits = bits};
}
MomentsSpec vector_of(std::size_t d, int bits = 16) {
  return {.kind = MomentLiftKind::kVector, .shape = {d}, .bits = bits};
}
std::vector<MomentsSpec> all_kinds() {
  return {image({1, 12, 10}, 4),
          image({3, 8, 8}),
          vector_of(5),
          vector_of(7, 20),
          {.kind = MomentLiftKind::kFourier, .shape = {2}, .coefficients = 16, .bits = 12},
          {.kind = MomentLiftKind::kHermite, .shape = {2}, .coefficients = 6}};
}

std::vector<float> records(std::size_t n, std::size_t dims, std::uint32_t which = 0) {
  const CounterStream stream(5, Stream::kTest, which);
  std::vector<float> x(n * dims);
  for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(stream.uniform(i));
  return x;
}
std::vector<std::int32_t> labels(std::size_t n, std::uint64_t classes) {
  const CounterStream stream(6, Stream::kTest);
  std::vector<std::int32_t> y(n);
  for (std::size_t i = 0; i < n; ++i) y[i] = static_cast<std::int32_t>(stream.below(i, classes));
  return y;
}

std::vector<std::uint64_t> sums_of(const Block& block, const std::vector<float>& x,
                                   const std::vector<std::int32_t>& y, std::size_t classes, std::size_t tile,
                                   std::uint64_t* refused = nullptr) {
  const auto workspace = block.make_workspace();
  std::vector<std::uint64_t> sums(classes * block.features(), 0);
  for (std::size_t i = 0; i < y.size(); i += tile) {
    const std::uint64_t lost = block.accumulate(x.data() + i * block.dims(), y.data() + i,
                                                std::min(tile, y.size() - i), *workspace, sums);
    if (refused != nullptr) *refused += lost;
  }
  return sums;
}

TEST(MomentsBlock, EqualsAPlainLoopOver128BitIntegers) {
  for (const MomentsSpec& spec : all_kinds()) {
    const MomentLift lift(spec);
    const auto block = make_moments_block(spec);
    const std::vector<float> x = records(700, lift.dims());
    const std::vector<std::int32_t> y = labels(700, 3);
    EXPECT_EQ(block->features(), lift.order() * (lift.order() + 1) / 2);
    EXPECT_EQ(sums_of(*block, x, y, 3, block->tile()), reference::moment_sums(lift, x, y, 3));
  }
}

TEST(MomentsBlock, TilesAndOrderDoNotMatter) {
  const MomentsSpec spec = image({1, 12, 12}, 5, 20);
  const auto block = make_moments_block(spec);
  const std::size_t n = 1500, d = block->dims();
  const std::vector<float> x = records(n, d);
  const std::vector<std::int32_t> y = labels(n, 4);
  const auto whole = sums_of(*block, x, y, 4, block->tile());
  for (const std::size_t tile : {std::size_t{1}, std::size_t{7}, std::size_t{48}, std::size_t{1000}})
    EXPECT_EQ(sums_of(*block, x, y, 4, tile), whole) << tile;
  std::vector<float> turned;
  std::vector<std::int32_t> turned_y(y.rbegin(), y.rend());
  for (std::size_t i = n; i-- > 0;) turned.insert(turned.end(), x.begin() + i * d, x.begin() + (i + 1) * d);
  EXPECT_EQ(sums_of(*block, turned, turned_y, 4, block->tile()), whole);
}

// The largest sums that a tile can make, one below the doubles' exact range: 1024 x 2^40 = 2^50.
TEST(MomentsBlock, AFullTileOfEqualRecordsIsExact) {
  const MomentsSpec spec = vector_of(2, 20);
  const MomentLift lift(spec);
  const auto block = make_moments_block(spec);
  std::vector<float> x;
  for (std::size_t i = 0; i < block->tile(); ++i) x.insert(x.end(), {1.0f, 0.25f});
  const std::vector<std::int32_t> y(block->tile(), 0);
  EXPECT_EQ(sums_of(*block, x, y, 1, block->tile()), reference::moment_sums(lift, x, y, 1));
}

TEST(MomentsBlock, RecordsThatAreNoneContributeNothing) {
  const auto block = make_moments_block(image({1, 6, 6}, 3));
  std::vector<float> x = records(6, 36);
  const std::vector<std::int32_t> y{0, 1, schema::kNoClass, 2, 1, 0};
  x[36] = std::numeric_limits<float>::quiet_NaN();
  x[5 * 36 + 7] = std::numeric_limits<float>::infinity();
  const auto workspace = block->make_workspace();
  std::vector<std::uint64_t> sums(2 * block->features(), 0);
  EXPECT_EQ(block->accumulate(x.data(), y.data(), 6, *workspace, sums), 4u);
  const std::vector<float> first(x.begin(), x.begin() + 36), fifth(x.begin() + 4 * 36, x.begin() + 5 * 36);
  std::vector<float> good = first;
  good.insert(good.end(), fifth.begin(), fifth.end());
  EXPECT_EQ(sums, sums_of(*block, good, {0, 1}, 2, 2));
}

TEST(MomentsBlock, NormsAreCheckedToTheLastInteger) {
  for (const int bits : {8, 16, 20}) {
    const double most = std::ldexp(1.0, bits);
    EXPECT_TRUE(within_norm(std::vector{most}, bits)) << "2^bits itself";
    EXPECT_TRUE(within_norm(std::vector{-most, 0.0}, bits));
    EXPECT_FALSE(within_norm(std::vector{most + 1}, bits));
    EXPECT_FALSE(within_norm(std::vector{most, 1.0}, bits)) << "one above 2^(2 bits)";
    EXPECT_TRUE(within_norm(std::vector<double>(4, most / 2), bits)) << "2^(2 bits) in four parts";
    EXPECT_FALSE(within_norm(std::vector{most / 2, most / 2, most / 2, most / 2, -1.0}, bits));
    EXPECT_TRUE(within_norm(std::vector{most - 1, std::floor(std::sqrt(2 * most - 1))}, bits))
        << "just below";
    EXPECT_FALSE(within_norm(std::vector{most - 1, std::floor(std::sqrt(2 * most - 1)) + 1}, bits));
  }
  EXPECT_FALSE(within_norm(std::vector{1.0, std::nan("")}, 16));
  EXPECT_FALSE(within_norm(std::vector{-std::numeric_limits<double>::infinity()}, 16));
  EXPECT_FALSE(within_norm(std::vector<double>(8001, 0x1p20), 20)) << "the most that z can have";
}

/// phi of one record, as the block sums it.
std::vector<std::int64_t> phi(const Block& block, const std::vector<float>& x) {
  const auto sums = sums_of(block, x, {0}, 1, 1);
  return {sums.begin(), sums.end()};
}

/// Sum over all q x q entries of a_ij b_ij: entries beside the diagonal count twice.
Int128 inner(const std::vector<std::int64_t>& a, const std::vector<std::int64_t>& b, std::size_t q) {
  Int128 sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (i < q ? 1 : 2) * (Int128{a[i]} * b[i]);
  return sum;
}

struct Pair {
  Int128 squared_distance, kernel;
};
Pair compare(const Block& block, std::size_t q, const std::vector<float>& a, const std::vector<float>& b) {
  const auto fa = phi(block, a), fb = phi(block, b);
  std::vector<std::int64_t> difference(fa.size());
  for (std::size_t i = 0; i < fa.size(); ++i) difference[i] = fa[i] - fb[i];
  return {inner(difference, difference, q), inner(fa, fb, q)};
}

/// Looks for the pair of records that are farthest apart: random ones and corners of the cube, the straight
/// line towards the opposite record (on which u . u' passes -c0^2), then a random walk. Every pair that it
/// meets must keep the bound, in exact integers: ||phi - phi'||^2 <= 2 2^(4 bits) and <phi, phi'> >= 0.
class Falsifier {
 public:
  explicit Falsifier(const MomentsSpec& spec)
      : block_(make_moments_block(spec)),
        d_(block_->dims()),
        q_(MomentLift(spec).order()),
        most_((Int128{2} << (2 * spec.bits)) << (2 * spec.bits)) {}

  /// The largest distance over sqrt(2).
  double reach(std::uint32_t starts, std::uint64_t steps) {
    for (std::uint32_t t = 0; t < starts; ++t) {
      std::vector<float> a = records(1, d_, 10 + t), b = records(1, d_, 1000 + t);
      if (t % 2 == 0) {
        for (float& v : a) v = std::round(v);
        for (float& v : b) v = std::round(v);
      }
      keep_if_farther(a, b);
    }
    const std::vector<float> from = a_;
    for (int t = 0; t <= 64; ++t) {
      std::vector<float> b = from;
      for (float& v : b) v += ((v < 0.5f ? 1.0f : 0.0f) - v) * static_cast<float>(t) / 64.0f;
      keep_if_farther(from, b);
    }
    const CounterStream stream(9, Stream::kTest);
    double step = 0.3;
    for (std::uint64_t t = 0; t < steps; ++t) {
      std::vector<float> moved = t % 2 == 0 ? a_ : b_;
      for (std::size_t i = 0; i < d_; ++i) {
        const double to = static_cast<double>(moved[i]) + step * (2 * stream.uniform(t * d_ + i) - 1);
        moved[i] = static_cast<float>(std::clamp(to, 0.0, 1.0));
      }
      const bool farther = t % 2 == 0 ? keep_if_farther(moved, b_) : keep_if_farther(a_, moved);
      step = std::clamp(step * (farther ? 1.5 : 0.9), 1e-4, 0.5);
    }
    return std::sqrt(static_cast<double>(farthest_) / static_cast<double>(most_));
  }

 private:
  bool keep_if_farther(const std::vector<float>& a, const std::vector<float>& b) {
    const Pair pair = compare(*block_, q_, a, b);
    EXPECT_TRUE(pair.squared_distance <= most_);
    EXPECT_TRUE(pair.kernel >= 0);
    if (pair.squared_distance <= farthest_) return false;
    farthest_ = pair.squared_distance;
    const std::vector<float> new_a = a, new_b = b;  // the arguments may be the members
    a_ = new_a, b_ = new_b;
    return true;
  }

  std::unique_ptr<Block> block_;
  std::size_t d_, q_;
  Int128 most_, farthest_ = -1;
  std::vector<float> a_, b_;
};

// Replace-one sensitivity sqrt(2): never passed, and reached.
TEST(MomentsBlock, NoPairPassesSqrt2AndAdversariesReachIt) {
  for (const int bits : {8, 12, 16, 20}) {
    for (MomentsSpec spec : all_kinds()) {
      spec.bits = bits;
      // With a small constant beside u, opposite records are orthogonal; at 8 bits the rounding's margin
      // alone shortens z by a few percent.
      spec.offset = 0.1;
      const double reached = Falsifier(spec).reach(40, 200);
      if (bits >= 12) {
        EXPECT_GT(reached, 0.98) << "kind " << static_cast<int>(spec.kind) << ", " << bits << " bits";
      }
    }
  }
}

TEST(MomentsBlock, TheDefaultLiftOfMnistReachesSqrt2) {
  EXPECT_GT(Falsifier(image({1, 28, 28})).reach(8, 20), 0.98);
}

// Another label: the two columns are orthogonal whatever the records are, so nearly sqrt(2) always.
TEST(MomentsBlock, AnotherLabelIsSqrt2Apart) {
  const auto block = make_moments_block(image({1, 8, 8}));
  const std::vector<float> x = records(1, 64);
  const auto f = phi(*block, x);
  const Int128 squares = 2 * inner(f, f, 17), most = (Int128{2} << 32) << 32;
  EXPECT_TRUE(squares <= most);
  EXPECT_GT(static_cast<double>(squares) / static_cast<double>(most), 0.999);
}

TEST(MomentsBlock, UnitsAndBoundSayWhatTheIntegersMean) {
  const MomentsSpec spec = resolved(vector_of(4, 16));
  const auto block = make_moments_block(spec);
  EXPECT_EQ(block->bound().norm, 1.0);
  EXPECT_TRUE(block->bound().nonnegative_kernel);
  const auto runs = block->coordinates();
  ASSERT_EQ(runs.size(), 2u);
  EXPECT_EQ(runs[0], (CoordinateRun{5, 0x1p32}));
  EXPECT_EQ(runs[1].count, 10u);
  EXPECT_GE(static_cast<long double>(runs[1].unit) * std::sqrt(2.0L), 0x1p32L) << "rounded up";
  EXPECT_LT(static_cast<long double>(runs[1].unit) * std::sqrt(2.0L), 0x1p32L * (1 + 1e-15L));
  for (std::size_t i = 0, next = 5; i < 5; ++i) {
    EXPECT_EQ(moments_index(5, i, i), i);
    for (std::size_t j = i + 1; j < 5; ++j, ++next) {
      EXPECT_EQ(moments_index(5, i, j), next);
      EXPECT_EQ(moments_index(5, j, i), next);
    }
  }
}

TEST(MomentsBlock, OverflowIsRefused) {
  MomentsSpec spec = resolved(vector_of(4, 20));
  require_no_overflow((1ull << 22) - 1, spec);
  expect_error(ExitCode::kConfig, {"4194304 records", "2^22", "moments.bits"},
               [&] { require_no_overflow(1ull << 22, spec); });
  spec.bits = 21;
  expect_error(ExitCode::kConfig, {"bits are 21"}, [&] { require_no_overflow(1, spec); });
}

TEST(WeightedBlock, BoundAndUnitsAreRoundedUp) {
  const MomentsSpec spec = vector_of(3);
  for (const double w : {0.5, 3.0, 0.1, 1.0 / 3.0, 7.7}) {
    const auto block = make_weighted_block(make_moments_block(spec), w);
    EXPECT_GE(static_cast<long double>(block->bound().norm), static_cast<long double>(w));
    EXPECT_LE(block->bound().norm, std::nextafter(w, 10.0));
    const auto plain = make_moments_block(spec)->coordinates(), runs = block->coordinates();
    for (std::size_t i = 0; i < runs.size(); ++i) {
      EXPECT_EQ(runs[i].count, plain[i].count);
      EXPECT_GE(static_cast<long double>(runs[i].unit) * w, static_cast<long double>(plain[i].unit));
      EXPECT_LE(runs[i].unit, std::nextafter(plain[i].unit / w, 1e300));
    }
    // The integers are the same ones.
    EXPECT_EQ(sums_of(*block, records(9, 3), labels(9, 2), 2, 4),
              sums_of(*make_moments_block(spec), records(9, 3), labels(9, 2), 2, 9));
  }
  for (const double w : {0.0, -1.0, std::numeric_limits<double>::quiet_NaN(), 1e7}) {
    expect_error(ExitCode::kConfig, {"weight is", "1e-06 to 1000000"},
                 [&] { make_weighted_block(make_moments_block(spec), w); });
  }
}

}  // namespace
}  // namespace muffle::features
