// Tries to break the sensitivity bounds: random and adversarial neighbouring data sets, embedded on the
// integer lattice in exact arithmetic, may never be further apart than the bound, and must come within 2 % of
// it where it is tight.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "muffle/core/philox.hpp"
#include "muffle/features/mixed.hpp"
#include "muffle/privacy/sensitivity.hpp"

namespace muffle::privacy {
namespace {

__extension__ using Int128 = __int128;

constexpr int kBits = 24;

/// How a block's vectors look: the rows of the table in docs/math.md, "sensitivity".
enum class Kind { kSigned, kNonnegative, kSecondMoments, kOneHot };

struct TestBlock {
  Kind kind = Kind::kSigned;
  double norm = 1.0;
  std::size_t length = 4;  ///< of z for second moments
  std::vector<std::size_t> columns =
      {};  ///< of a one-hot block: their numbers of categories, `length` in all
  bool labelled = true;
};

/// Records of so many categorical columns, held to the bound that the product states for them.
TestBlock one_hot_block(std::vector<std::size_t> columns) {
  const std::size_t d = std::accumulate(columns.begin(), columns.end(), std::size_t{0});
  return {Kind::kOneHot, features::one_hot_bound(columns.size(), d).norm, d, std::move(columns)};
}

struct TestCase {
  std::string name;
  std::vector<TestBlock> blocks;
  Adjacency adjacency = Adjacency::kReplaceOne;
  double lambda = 0.0;  ///< 0: no counts
  std::uint64_t q = 1;
  double tight = 0.98;  ///< the search must reach this share of the bound
};

using Vector = std::vector<std::int64_t>;
struct Record {
  std::vector<Vector> phi;
  int label = 0;
};

class Search {
 public:
  explicit Search(const TestCase& test)
      : test_(test), stream_(test.name.size() * 1000 + test.q, Stream::kTest) {}

  SensitivityInput input() const {
    SensitivityInput in;
    for (const TestBlock& b : test_.blocks)
      in.blocks.push_back({b.norm, b.kind != Kind::kSigned, "test", 1.0, b.labelled});
    in.adjacency = test_.adjacency;
    in.counts = test_.lambda > 0;
    in.counts_weight = test_.lambda;
    in.max_records_per_person = test_.q;
    return in;
  }

  /// The largest squared distance that was found, lattice units squared.
  Int128 run() {
    Int128 worst = 0;
    for (int attempt = 0; attempt < 4000; ++attempt) {
      // A person's records before and after; all other records cancel out exactly.
      std::vector<Record> before, after;
      const int style = attempt % 4;
      Record a = random_record(), b = random_record();
      if (style == 1) b = opposite(a);
      if (style == 2) a = one_axis(a, 0), b = one_axis(b, 1);
      if (style == 3) b = opposite(a), b.label = a.label ^ (attempt % 8 == 3);
      // Records that fail a block's norm check are 0 in that block; they are counted by their labels.
      if (attempt % 5 == 4) refuse_some(attempt % 2 == 0 ? a : b);
      for (std::uint64_t i = 0; i < test_.q; ++i) {
        before.push_back(style == 0 ? random_record() : a);
        after.push_back(style == 0 ? random_record() : b);
      }
      if (test_.adjacency == Adjacency::kAddRemoveOne) after.clear();
      const Int128 found = squared_distance(before, after);
      if (found > worst) worst = found;
    }
    return worst;
  }

 private:
  double normal() { return stream_.normal(next_++); }

  /// Scaled to the norm, truncated toward zero on the lattice; held to the product's integer check.
  static Vector to_lattice(const std::vector<double>& v, double norm) {
    double square = 0.0;
    for (const double x : v) square += x * x;
    Vector out;
    Int128 sum = 0;
    for (const double x : v) {
      const auto z = static_cast<std::int64_t>(x / std::sqrt(square) * norm * ((1 << kBits) - 1));
      out.push_back(z);
      sum += Int128{z} * z;
    }
    EXPECT_LE(static_cast<long double>(sum), static_cast<long double>(norm) * norm * 0x1p48L);
    return out;
  }

  /// In each column the category with the largest number; 1/sqrt(d) for it, truncated on the lattice.
  static Vector one_hot(const TestBlock& block, const std::vector<double>& v) {
    const auto one = static_cast<std::int64_t>(((1 << kBits) - 1) / std::sqrt(static_cast<double>(v.size())));
    Vector out(v.size(), 0);
    std::size_t first = 0;
    for (const std::size_t categories : block.columns) {
      const auto begin = v.begin() + static_cast<std::ptrdiff_t>(first);
      const auto chosen = std::max_element(begin, begin + static_cast<std::ptrdiff_t>(categories));
      out[static_cast<std::size_t>(chosen - v.begin())] = one;
      first += categories;
    }
    return out;
  }

  Vector make(const TestBlock& block, std::vector<double> v) const {
    if (block.kind == Kind::kNonnegative) {
      for (double& x : v) x = std::fabs(x);
    }
    if (block.kind == Kind::kOneHot) return one_hot(block, v);
    if (block.kind != Kind::kSecondMoments) return to_lattice(v, block.norm);
    // z rounded to integers of 12 bits, products formed in integers (2^12 x 2^12 = 2^24): z z^T with
    // off-diagonal entries once, scaled by sqrt(2), has the inner products of the full matrix used here.
    double square = 0.0;
    for (const double x : v) square += x * x;
    Vector z, out;
    for (const double x : v)
      z.push_back(static_cast<std::int64_t>(x / std::sqrt(square) * std::sqrt(block.norm) * 4095));
    for (const std::int64_t x : z) {
      for (const std::int64_t y : z) out.push_back(x * y);
    }
    return out;
  }

  Record random_record() {
    Record r;
    for (const TestBlock& block : test_.blocks) {
      std::vector<double> v(block.length);
      for (double& x : v) x = normal();
      r.phi.push_back(make(block, v));
    }
    r.label = static_cast<int>(stream_.below(next_++, 3));
    return r;
  }

  /// Negated where that is allowed; unit vectors along other axes where it is not.
  Record opposite(Record& a) {
    Record b = a;
    for (std::size_t i = 0; i < test_.blocks.size(); ++i) {
      const TestBlock& block = test_.blocks[i];
      if (block.kind == Kind::kSigned) {
        for (std::int64_t& x : b.phi[i]) x = -x;
      } else {
        a.phi[i] = axis(block, 0);
        b.phi[i] = axis(block, 1);
      }
    }
    return b;
  }

  void refuse_some(Record& r) {
    for (Vector& phi : r.phi) {
      if (stream_.below(next_++, 2) == 0) std::fill(phi.begin(), phi.end(), 0);
    }
  }

  Record one_axis(Record r, std::size_t which) const {
    for (std::size_t i = 0; i < test_.blocks.size(); ++i) r.phi[i] = axis(test_.blocks[i], which);
    return r;
  }

  Vector axis(const TestBlock& block, std::size_t which) const {
    std::vector<double> v(block.length, 0.0);
    v[which] = 1.0;
    std::size_t first = 0;  // of one-hot columns every one
    for (const std::size_t categories : block.columns) {
      v[first + which] = 1.0;
      first += categories;
    }
    return make(block, v);
  }

  Int128 squared_distance(const std::vector<Record>& before, const std::vector<Record>& after) const {
    const auto count_units = static_cast<std::int64_t>(std::floor(test_.lambda * (1 << kBits)));
    Int128 total = 0;
    for (int label = 0; label < 4; ++label) {
      std::int64_t count = 0;
      std::vector<Vector> column;
      const auto add = [&](const std::vector<Record>& records, std::int64_t sign) {
        for (const Record& r : records) {
          if (column.empty()) {
            for (const Vector& phi : r.phi) column.emplace_back(phi.size(), 0);
          }
          if (r.label == label) count += sign * count_units;
          for (std::size_t b = 0; b < r.phi.size(); ++b) {
            if (label != (test_.blocks[b].labelled ? r.label : 0)) continue;
            for (std::size_t j = 0; j < r.phi[b].size(); ++j) column[b][j] += sign * r.phi[b][j];
          }
        }
      };
      add(before, 1);
      add(after, -1);
      total += Int128{count} * count;
      for (const Vector& block : column) {
        for (const std::int64_t x : block) total += Int128{x} * x;
      }
    }
    return total;
  }

  TestCase test_;
  CounterStream stream_;
  std::uint64_t next_ = 0;
};

std::vector<TestCase> cases() {
  constexpr auto kReplace = Adjacency::kReplaceOne, kAdd = Adjacency::kAddRemoveOne;
  const TestBlock rff{Kind::kSigned, 1.0, 6, {}}, positive{Kind::kNonnegative, 0.6, 5, {}},
      one_hot = one_hot_block({2, 4, 5}), moments{Kind::kSecondMoments, 1.0, 4, {}},
      half{Kind::kSigned, 0.5, 3, {}};
  TestBlock texture = rff, shades = positive;
  texture.labelled = shades.labelled = false;
  return {
      {"one signed block", {rff}, kReplace},
      {"one signed block, counts for free", {rff}, kReplace, 1.0},
      {"one signed block, heavy counts", {rff}, kReplace, 1.7},
      {"one non-negative block", {positive}, kReplace},
      {"one-hot columns", {one_hot}, kReplace},
      {"many one-hot columns", {one_hot_block(std::vector<std::size_t>(40, 3))}, kReplace},
      {"one-hot columns with counts, two records a person", {one_hot}, kReplace, 0.3, 2},
      {"add or remove one-hot columns", {one_hot}, kAdd},
      {"non-negative block with counts", {one_hot}, kReplace, 0.4},
      {"second moments", {moments}, kReplace},
      {"signed and non-negative", {rff, one_hot}, kReplace},
      {"signed, non-negative, counts", {rff, one_hot}, kReplace, 0.9},
      {"three blocks, heavy counts", {rff, one_hot, half}, kReplace, 1.5},
      {"signed and second moments, counts", {half, moments}, kReplace, 0.8},
      {"signed without labels", {texture}, kReplace},
      {"signed without labels, counts", {texture}, kReplace, 1.0},
      {"non-negative without labels, counts", {shades}, kReplace, 0.5},
      {"with and without labels", {half, texture}, kReplace},
      {"with and without labels, counts, two records a person", {one_hot, texture, shades}, kReplace, 0.9, 2},
      {"add or remove without labels", {texture, one_hot}, kAdd, 0.4},
      // A start from the closed form: moments, random features, and the proxy.
      {"second moments and two signed blocks",
       {moments, {Kind::kSigned, 0.2, 6, {}}, {Kind::kSigned, 0.1, 4, {}}},
       kReplace},
      {"three records a person", {rff, one_hot}, kReplace, 0.5, 3},
      {"add or remove", {rff, one_hot}, kAdd},
      {"add or remove with counts", {rff, one_hot}, kAdd, 0.7},
      {"add or remove five records", {rff}, kAdd, 1.0, 5},
  };
}

TEST(Sensitivity, NoNeighboursAreFurtherApartAndTheBoundIsTight) {
  for (const TestCase& test : cases()) {
    Search search(test);
    const double bound = combined_sensitivity(search.input()).value;
    const long double found = std::sqrt(static_cast<long double>(search.run())) / 0x1p24L;
    EXPECT_LE(found, bound) << test.name;
    EXPECT_GE(found, test.tight * bound) << test.name;
    // The search would notice the classic mistakes: a factor of 2 or sqrt(2) too few, q forgotten.
    EXPECT_GT(found, bound / std::sqrt(2.0)) << test.name;
  }
}

}  // namespace
}  // namespace muffle::privacy
