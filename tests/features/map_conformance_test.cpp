// What every feature map must do, whatever its kind: run over the table, so that a new kind is tested by
// being in it. What is peculiar to a kind is tested in a file of its own.
#include <gtest/gtest.h>

#include <algorithm>
#include <cfenv>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

#include "features/features_fixture.hpp"
#include "features/lies.hpp"
#include "features/map_cases.hpp"
#include "support/expect_error.hpp"
#include "support/maps.hpp"

namespace muffle::features {
namespace {

using test::MapKeys;

constexpr std::size_t kClasses = 3;

schema::Schema schema_of_case(const MapCase& c) {
  return c.codes.empty() ? test::schema_of(c.shape, kClasses)
                         : test::table_schema(c.codes, kClasses, c.numbers);
}

/// The same of records that have a number more, or of tables that have a column and codes more.
schema::Schema larger(MapCase c) {
  if (c.codes.empty()) {
    c.shape.back() += c.shape.size() == 1 ? 1 : 4;
  } else {
    c.codes.front() += 2;
    c.codes.push_back(3);
  }
  return schema_of_case(c);
}

class MapConformance : public ::testing::TestWithParam<MapCase> {
 protected:
  MapConformance()
      : schema_(schema_of_case(GetParam())),
        map_(test::make_map(GetParam().kind, GetParam().settings, schema_)),
        block_(test_block(*map_, lattice_)) {}

  std::unique_ptr<FeatureMap> again(const nlohmann::json& json) const {
    const JsonDocument document{"x.mfl", "a release", ""};
    std::unique_ptr<FeatureMap> map = make_map(GetParam().kind);
    map->read_json(JsonFields(json, document, "map."));
    map->resolve(schema_);
    return map;
  }
  /// The map with other settings; null: they cannot be.
  std::unique_ptr<FeatureMap> with(const std::string& key, const std::string& value) const {
    MapKeys settings = GetParam().settings;
    settings.emplace_back(key, value);
    try {
      return test::make_map(GetParam().kind, settings, schema_);
    } catch (const std::exception&) {
      return nullptr;
    }
  }

  const Lattice lattice_;
  const schema::Schema schema_;
  const std::unique_ptr<const FeatureMap> map_;
  const std::unique_ptr<const Block> block_;
};

TEST_P(MapConformance, IsWhatItsSchemaAndItsBlockSay) {
  EXPECT_EQ(map_->kind(), GetParam().kind);
  EXPECT_EQ(map_->dims(), schema_.dims());
  EXPECT_EQ(block_->dims(), schema_.dims());
  EXPECT_EQ(block_->features(), map_->features());
  EXPECT_GT(map_->features(), 0u);
  EXPECT_GT(block_->tile(), 0u);
  const std::unique_ptr<FeatureMap> twice = map_->clone();
  twice->resolve(schema_);
  EXPECT_EQ(twice->to_json(), map_->to_json()) << "resolved once is resolved for good";
  if (map_->second_moments()) {
    const std::size_t q = map_->second_moments()->moments().order();
    EXPECT_EQ(map_->features(), q * (q + 1) / 2);
  }
  const MapCost cost = map_->cost();
  EXPECT_GT(cost.flops_per_record, 0.0);
  EXPECT_GT(cost.bytes, 0u);
  EXPECT_GT(cost.bytes_per_thread, 0u);
  EXPECT_GT(map_->numbers_in_map(), 0.0);
  const double scale = map_->scale(lattice_), unit = map_->coordinates(lattice_).front().unit;
  EXPECT_GT(scale, 0.5 * unit) << "means are in units of the scale";
  EXPECT_LE(scale, unit);
  const std::unique_ptr<FeatureMap> small = map_->shrunk(2);
  EXPECT_EQ(small->kind(), map_->kind());
  EXPECT_EQ(small->dims(), map_->dims());
  EXPECT_LE(small->features(), map_->features());
  EXPECT_EQ(test_block(*small, lattice_)->features(), small->features());
  EXPECT_EQ(map_->shrunk(map_->features())->to_json(), map_->to_json());
}

TEST_P(MapConformance, GoesThroughAReleasesHeaderAndBack) {
  const std::unique_ptr<FeatureMap> back = again(nlohmann::json::parse(map_->to_json().dump()));
  EXPECT_EQ(back->to_json(), map_->to_json());
  EXPECT_EQ(back->hash(), map_->hash());
  EXPECT_EQ(back->coordinates(lattice_), map_->coordinates(lattice_));
  EXPECT_EQ(back->stretches(), map_->stretches());
  std::size_t numbers = 0;
  for (const std::size_t stretch : map_->stretches()) numbers += stretch;
  EXPECT_EQ(numbers, map_->features());
  EXPECT_EQ(back->bound().norm, map_->bound().norm);
  const Records records(20, block_->dims(), kClasses);
  EXPECT_EQ(sums_of(*test_block(*back, lattice_), records, kClasses), sums_of(*block_, records, kClasses));
}

TEST_P(MapConformance, LyingHeadersAreRefused) {
  test::refuses_lies(map_->to_json(), [&](const nlohmann::json& json) { again(json); }, {"stretch"});
}

TEST_P(MapConformance, EveryKeyRefusesNonsenseAndReadsBackWhatItShows) {
  test::refuses_nonsense(*test::prepared_map(GetParam().kind, GetParam().settings, schema_));
}

TEST_P(MapConformance, TheHashIsOfTheMapItsSettingsAndItsRecords) {
  EXPECT_EQ(map_->hash().size(), 64u);
  EXPECT_EQ(map_->hash().find_first_not_of("0123456789abcdef"), std::string::npos);
  EXPECT_EQ(map_->clone()->hash(), map_->hash());
  MapKeys changes{{"seed", "12345"},  {"order", "5"},      {"length_scale", "0.77"}, {"coefficients", "5"},
                  {"offset", "0.37"}, {"singles", "0.31"}, {"count", "8"},           {"pool", "channel"},
                  {"moments", "1"},   {"stretch", "3"}};
  std::size_t told_apart = 0;
  const auto compare = [&](const FeatureMap& other, const std::string& what) {
    if (other.to_json() == map_->to_json()) return;
    ++told_apart;
    EXPECT_NE(other.hash(), map_->hash()) << what;
  };
  for (const auto& [key, value] : changes) {
    if (const auto other = with(key, value)) compare(*other, key);
  }
  // Records of as many numbers, for kinds without keys.
  MapCase turned = GetParam();
  std::reverse(turned.codes.begin(), turned.codes.end());
  if (turned.codes != GetParam().codes)
    compare(*test::make_map(turned.kind, turned.settings, schema_of_case(turned)), "columns turned round");
  compare(*test::make_map(GetParam().kind, GetParam().settings, larger(GetParam())), "larger records");
  EXPECT_GT(told_apart, 0u) << "nothing was compared: add a key of this kind to `changes`";
}

TEST_P(MapConformance, SizesThatTheNoiseChoosesCanBeUsed) {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
  for (const double noise : {1e-30, 1e-4, 1.0, 1e30, 0.0, -1.0, inf, nan}) {
    const auto map = test::prepared_map(GetParam().kind, GetParam().settings, schema_);
    map->prepare(schema_);
    map->choose_sizes(schema_, noise);
    EXPECT_NO_THROW(map->resolve(schema_)) << noise;
  }
}

// ---- the arithmetic that the guarantee rests on

TEST_P(MapConformance, UnitsCoverEveryNumberAndAreThoseOfThePlainArithmetic) {
  for (const int bits : {8, 24}) {
    for (const double weight : {1.0, 0.1, 1.0 / 3.0, 7.7}) {
      const NamedMap map = test::named("x", map_->clone(), weight);
      const Lattice lattice{bits};
      const std::vector<CoordinateRun> runs = map.coordinates(lattice);
      const PlainFacts plain = map.plain_facts(lattice);
      ASSERT_EQ(runs.size(), plain.runs.size());
      std::uint64_t numbers = 0;
      for (std::size_t i = 0; i < runs.size(); ++i) {
        numbers += runs[i].count;
        EXPECT_EQ(static_cast<long double>(runs[i].count), plain.runs[i].count);
        EXPECT_GE(runs[i].unit, plain.runs[i].unit * (1 - 1e-18L))
            << "never below, or there is too little noise";
        EXPECT_LE(runs[i].unit, plain.runs[i].unit * (1 + 1e-15L));
      }
      EXPECT_EQ(numbers, map_->features());
      const BlockBound bound = map.bound();
      EXPECT_GE(bound.norm, plain.norm * (1 - 1e-18L));
      EXPECT_LE(bound.norm, plain.norm * (1 + 1e-15L));
      EXPECT_EQ(bound.nonnegative_kernel, plain.nonnegative_kernel);
      EXPECT_FALSE(bound.theorem.empty());
    }
  }
  for (const double weight : {0.0, -1.0, std::nan(""), 1e7}) {
    EXPECT_THROW(test::named("x", map_->clone(), weight).bound(), ConfigError) << weight;
    EXPECT_THROW(test::named("x", map_->clone(), weight).coordinates(lattice_), ConfigError) << weight;
  }
}

/// Looks for the pair of records that are farthest apart: random ones, corners of the cube and hostile ones,
/// the straight line towards the opposite record, then a random walk. No pair that it meets may break the
/// bound.
class Falsifier {
 public:
  Falsifier(const Block& block, const BlockBound& bound, const std::vector<CoordinateRun>& runs)
      : block_(block), bound_(bound) {
    for (const CoordinateRun& run : runs) units_.insert(units_.end(), run.count, run.unit);
  }

  /// The largest distance over the replace-one bound.
  double reach(std::uint64_t steps) {
    meet_strangers();
    const Met from = a_;
    for (int t = 0; t <= 64; ++t) {
      std::vector<float> b = from.x;
      for (float& v : b) v += ((v < 0.5f ? 1.0f : 0.0f) - v) * static_cast<float>(t) / 64.0f;
      keep_if_farther(from, met(b));
    }
    const CounterStream stream(9, Stream::kTest);
    double step = 0.3;
    for (std::uint64_t t = 0; t < steps; ++t) {
      std::vector<float> moved = t % 2 == 0 ? a_.x : b_.x;
      for (std::size_t i = 0; i < moved.size(); ++i) {
        const double to =
            static_cast<double>(moved[i]) + step * (2 * stream.uniform(t * moved.size() + i) - 1);
        moved[i] = static_cast<float>(std::clamp(to, 0.0, 1.0));
      }
      const bool farther = t % 2 == 0 ? keep_if_farther(met(moved), b_) : keep_if_farther(a_, met(moved));
      step = std::clamp(step * (farther ? 1.5 : 0.9), 1e-5, 0.5);
    }
    return static_cast<double>(farthest_ / most());
  }

 private:
  struct Met {
    std::vector<float> x;
    std::vector<long double> phi;  ///< in units of the features
  };

  long double most() const { return bound_.norm * (bound_.nonnegative_kernel ? std::sqrt(2.0L) : 2.0L); }

  Met met(const std::vector<float>& x) const {
    Met out{x, {}};
    const auto values = features_of(block_, x.data());
    long double norm = 0;
    for (std::size_t i = 0; i < units_.size(); ++i) {
      out.phi.push_back(static_cast<long double>(values[i]) / units_[i]);
      norm += out.phi[i] * out.phi[i];
    }
    EXPECT_LE(std::sqrt(norm), bound_.norm * (1 + 1e-15L));
    return out;
  }

  void meet_strangers() {
    constexpr float kInf = std::numeric_limits<float>::infinity();
    const Records random(12, block_.dims(), 1);
    std::vector<std::vector<float>> records;
    for (std::size_t i = 0; i < random.n; ++i) {
      records.push_back(random.record(i));
      if (i % 2 == 0) std::transform(records[i].begin(), records[i].end(), records[i].begin(), roundf);
    }
    for (const float all : {0.0f, 0.5f, 1.0f}) records.emplace_back(block_.dims(), all);
    for (const float bad : {kInf, -kInf, std::nanf(""), 3.4e38f, -1e30f, 1e6f, 0x1p24f, 1e-38f}) {
      records.push_back(records.front());
      records.back().back() = bad;
    }
    std::vector<Met> all;
    for (const auto& record : records) all.push_back(met(record));
    for (const Met& a : all) {
      for (const Met& b : all) keep_if_farther(a, b);
    }
    for (float& v : a_.x) v = std::isfinite(v) ? std::clamp(v, 0.0f, 1.0f) : 0.5f;
    a_ = met(a_.x);
  }

  bool keep_if_farther(const Met& a, const Met& b) {
    long double kernel = 0, squares = 0;
    for (std::size_t i = 0; i < units_.size(); ++i) {
      kernel += a.phi[i] * b.phi[i];
      squares += (a.phi[i] - b.phi[i]) * (a.phi[i] - b.phi[i]);
    }
    EXPECT_LE(std::sqrt(squares), most() * (1 + 1e-15L));
    if (bound_.nonnegative_kernel) {
      EXPECT_GE(kernel, -1e-14L);
    }
    if (!(std::sqrt(squares) > farthest_)) return false;
    farthest_ = std::sqrt(squares);
    const Met new_a = a, new_b = b;  // the arguments may be the members
    a_ = new_a, b_ = new_b;
    return true;
  }

  const Block& block_;
  const BlockBound bound_;
  std::vector<long double> units_;
  long double farthest_ = -1;
  Met a_, b_;
};

// Sensitivity in integers: whatever two records hold. Where records can be opposite the search comes near, or
// it could not be trusted to find a pair beyond; where they cannot, it still gets a good part of the way: a
// map that adds next to nothing is broken, too.
TEST_P(MapConformance, NoRecordAndNoPairPassesTheBoundAndAdversariesReachIt) {
  const std::uint64_t steps =
      std::clamp<std::uint64_t>(4'000'000 / (map_->features() * map_->dims()), 20, 400);
  EXPECT_GE(Falsifier(*block_, map_->bound(), map_->coordinates(lattice_)).reach(steps), GetParam().reaches);
}

TEST_P(MapConformance, OverflowIsRefusedBeforeItCanHappen) {
  for (const Lattice lattice : {Lattice{8}, Lattice{24}}) {
    EXPECT_NO_THROW(map_->require_no_overflow(1, lattice));
    EXPECT_THROW(map_->require_no_overflow(~std::uint64_t{0}, lattice), ConfigError);
    std::uint64_t fine = 1;  // the largest number of records that is not refused, bit by bit
    for (std::uint64_t step = std::uint64_t{1} << 62; step > 0; step /= 2) {
      try {
        map_->require_no_overflow(fine + step, lattice);
        fine += step;
      } catch (const ConfigError&) {
      }
    }
    for (const CoordinateRun& run : map_->coordinates(lattice))
      EXPECT_LT(static_cast<long double>(fine) * run.unit * map_->bound().norm, 0x1p63L);
    EXPECT_GT(fine, 60'000u);
  }
}

// ---- the sums

TEST_P(MapConformance, SumsAreThoseOfTheRecordsInEveryOrderAndTile) {
  const std::size_t n = std::min<std::size_t>(block_->tile() + 13, 500'000 / map_->dims());
  const Records records(n, block_->dims(), kClasses);
  const auto expected = sums_of(*block_, records, kClasses);
  std::vector<std::size_t> all(n);
  std::iota(all.begin(), all.end(), 0);
  EXPECT_EQ(expected, one_by_one(*block_, records, kClasses, all));
  Records turned = records;
  std::ranges::reverse(turned.y);
  turned.x.clear();
  for (std::size_t i = n; i-- > 0;)
    turned.x.insert(turned.x.end(), records.row(i), records.row(i) + records.dims);
  EXPECT_EQ(sums_of(*block_, turned, kClasses), expected);
  for (const std::size_t tile : {2, 7, 31, 1000})
    EXPECT_EQ(sums_of(*block_, records, kClasses, tile), expected) << tile;
  std::fesetround(FE_UPWARD);
  const auto upward = sums_of(*block_, records, kClasses);
  const int mode_after = std::fegetround();
  std::fesetround(FE_TONEAREST);
  EXPECT_EQ(upward, expected) << "whatever the thread's rounding mode";
  EXPECT_EQ(mode_after, FE_UPWARD) << "the caller's mode must come back";
}

TEST_P(MapConformance, RecordsWithoutAClassOrANumberAddNothing) {
  Records records(8, block_->dims(), kClasses);
  records.y = {2, schema::kNoClass, 3, INT32_MIN, INT32_MAX, 0, 1, 1};
  const std::size_t d = records.dims;
  records.x[6 * d] = std::nanf("");
  records.x[8 * d - 1] = std::numeric_limits<float>::infinity();
  std::vector<std::uint64_t> sums(kClasses * map_->features());
  EXPECT_EQ(
      block_->accumulate(records.x.data(), records.y.data(), records.n, *block_->make_workspace(), sums), 6u);
  EXPECT_EQ(sums, one_by_one(*block_, records, kClasses, std::vector<std::size_t>{0, 5}));
}

TEST_P(MapConformance, CountsInsideAreTheRecords) {
  const auto inside = map_->counts_inside(lattice_);
  if (!inside) return;
  ASSERT_LE(inside->numbers, map_->features());
  const Records records(300, block_->dims(), kClasses);
  const auto sums = sums_of(*block_, records, kClasses);
  for (std::size_t c = 0; c < kClasses; ++c) {
    double sum = 0;
    for (std::size_t i = 0; i < inside->numbers; ++i)
      sum += static_cast<double>(static_cast<std::int64_t>(sums[c * map_->features() + i]));
    const auto count =
        static_cast<double>(std::count(records.y.begin(), records.y.end(), static_cast<std::int32_t>(c)));
    EXPECT_NEAR(sum / inside->scale / count, 1.0, 1e-2);
  }
}

TEST_P(MapConformance, TooLargeATileOrHalfAClassIsABug) {
  const Records records(block_->tile() + 1, block_->dims(), 1);
  std::vector<std::uint64_t> sums(map_->features()), odd(map_->features() + 1);
  const auto workspace = block_->make_workspace();
  EXPECT_THROW(block_->accumulate(records.x.data(), records.y.data(), records.n, *workspace, sums),
               InvariantError);
  if (map_->features() > 1) {
    EXPECT_THROW(block_->accumulate(records.x.data(), records.y.data(), 1, *workspace, odd), InvariantError);
  }
}

INSTANTIATE_TEST_SUITE_P(Table, MapConformance, ::testing::ValuesIn(map_cases()),
                         [](const auto& c) { return c.param.name; });

TEST(MapTable, NamesAreKnownAndTheirOwn) {
  std::set<std::string> names;
  for (const MapKind& kind : map_kinds()) {
    EXPECT_TRUE(names.insert(std::string(kind.name)).second);
    EXPECT_TRUE(is_map_name(kind.name)) << kind.name;
    EXPECT_EQ(kind.make()->kind(), kind.name);
    EXPECT_FALSE(kind.summary.empty());
  }
  EXPECT_TRUE(names.contains("rff") && names.contains("moments"));
  const std::string message =
      test::expect_error(ExitCode::kConfig, {"wavelets"}, [] { make_map("wavelets"); });
  for (const std::string& name : names)
    EXPECT_NE(message.find("\"" + name + "\""), std::string::npos) << message;
  for (const char* good : {"a", "coarse", "x-2", "moments"}) EXPECT_TRUE(is_map_name(good)) << good;
  for (const char* bad :
       {"", "2", "-a", "A", "a.b", "a_b", "a b", "\u00e4", "abcdefghijklmnopqrstuvwxyzabcdefg"})
    EXPECT_FALSE(is_map_name(bad)) << bad;
}

}  // namespace
}  // namespace muffle::features
