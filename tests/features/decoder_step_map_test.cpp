// What is peculiar to the steps of a decoder: the gradient, its bound at any weights, and the state from
// round to round.
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "features/features_fixture.hpp"
#include "muffle/features/decoder_step.hpp"
#include "support/expect_error.hpp"
#include "support/maps.hpp"

namespace muffle::features {
namespace {

const schema::Schema kImages = test::schema_of({1, 8, 8}, 2);

std::shared_ptr<const FeatureMap> begun(const test::MapKeys& more = {}) {
  test::MapKeys keys{{"lift", "image"}, {"coefficients", "3"}, {"hidden", "7"}, {"rate", "0.5"}};
  keys.insert(keys.end(), more.begin(), more.end());
  return test::make_map("decoder-step", keys, kImages);
}

/// After rounds that released nothing but noise of this size.
std::shared_ptr<const FeatureMap> wandered(const FeatureMap& map, double size, std::size_t rounds = 2) {
  std::vector<std::vector<double>> means(rounds, std::vector<double>(map.features()));
  const CounterStream random(4, Stream::kTest);
  for (std::size_t r = 0; r < rounds; ++r) {
    for (std::size_t i = 0; i < means[r].size(); ++i)
      means[r][i] = size * random.normal(r * means[r].size() + i);
  }
  return map.steps()->after({nullptr, means});
}

/// The same with codes along axes of a release's moments, which are orthonormal as those are.
std::shared_ptr<const FeatureMap> along_axes(double size, std::size_t rounds = 2) {
  const auto map =
      test::make_map("decoder-step", {{"components", "5"}, {"hidden", "7"}, {"rate", "0.5"}}, kImages);
  const auto lift = test::make_map("moments", {{"lift", "image"}, {"coefficients", "3"}}, kImages);
  const SecondMoments& moments = lift->second_moments()->moments();
  const std::size_t q = moments.order();
  std::vector<double> second(q * q);
  const CounterStream random(7, Stream::kTest);
  for (std::size_t i = 0; i < q; ++i) {
    for (std::size_t j = 0; j <= i; ++j)
      second[i * q + j] = second[j * q + i] = (i == j ? 40.0 : 0.0) + random.normal(i * q + j);
  }
  std::vector<std::vector<double>> means(rounds, std::vector<double>(map->features()));
  for (std::size_t r = 0; r < rounds; ++r) {
    for (std::size_t i = 0; i < means[r].size(); ++i)
      means[r][i] = size * random.normal(1000 + r * means[r].size() + i);
  }
  return map->steps()->after(
      {std::make_shared<const PrincipalAxes>(PrincipalAxes::of(moments, second, 5)), means});
}

const DecoderStepMap& as_decoder(const FeatureMap& map) { return dynamic_cast<const DecoderStepMap&>(map); }

/// |dec(enc(x)) - x|^2 / 2 in long double, with one weight moved.
long double loss(const Decoder& decoder, const float* x, std::size_t which, long double moved) {
  const std::size_t q = decoder.inputs(), n = q - 1, d = decoder.outputs(), hidden = decoder.hidden;
  std::vector<double> u(n), base(d);
  decoder.encode(std::span(&x, 1), u.data(), n);
  decoder.back(u.data(), base.data());
  const auto weight = [&](std::size_t i) {
    return static_cast<long double>(decoder.weights[i]) + (i == which ? moved : 0.0L);
  };
  std::vector<long double> active(hidden);
  for (std::size_t j = 0; j < hidden; ++j) {
    long double sum = weight(j * q);
    for (std::size_t l = 0; l < n; ++l)
      sum += weight(j * q + l + 1) * static_cast<long double>(u[l]) / decoder.unit();
    active[j] = std::max(sum, 0.0L);
  }
  long double squares = 0;
  for (std::size_t i = 0; i < d; ++i) {
    long double error = static_cast<long double>(base[i]) - static_cast<long double>(x[i]);
    for (std::size_t j = 0; j < hidden; ++j) error += weight(hidden * q + i * hidden + j) * active[j];
    squares += error * error;
  }
  return squares / 2;
}

void adds_gradients_of_norm_one_at_most(const FeatureMap& map) {
  const auto block = map.make_block({});
  const Decoder decoder = as_decoder(map).decoder();
  const Records records(5, kImages.dims(), 1);
  for (std::size_t r = 0; r < records.n; ++r) {
    std::vector<long double> gradient;
    long double squares = 0;
    for (std::size_t i = 0; i < map.features(); ++i) {
      constexpr long double kStep = 1e-7L;  // of a quadratic, beside where a unit switches
      gradient.push_back(
          (loss(decoder, records.row(r), i, kStep) - loss(decoder, records.row(r), i, -kStep)) / (2 * kStep));
      squares += gradient.back() * gradient.back();
    }
    const std::vector<std::int64_t> added = features_of(*block, records.row(r));
    const long double norm = std::max(1.0L, std::sqrt(squares));
    for (std::size_t i = 0; i < added.size(); ++i) {
      ASSERT_NEAR(static_cast<double>(added[i]) / Lattice{}.scale(), static_cast<double>(gradient[i] / norm),
                  1e-6)
          << i;
    }
  }
}

TEST(DecoderStepMap, AddsEachRecordsGradientBroughtToNormOneAtMost) {
  for (const double size : {0.0, 0.1, 2.0}) {
    SCOPED_TRACE(size);
    adds_gradients_of_norm_one_at_most(*wandered(*begun(), size));
    adds_gradients_of_norm_one_at_most(*along_axes(size));
  }
}

// A short gradient stays as long as it is: where the decoder is right, records add nothing.
TEST(DecoderStepMap, ShortGradientsAreNotLengthened) {
  const auto map = begun({{"blob_height", "0.5"}, {"blob_radius", "1000000"}});
  std::vector<float> x(kImages.dims(), 0.5f);  // the lift's own image, almost
  long double squares = 0;
  for (const std::int64_t v : features_of(*map->make_block({}), x.data()))
    squares += std::pow(static_cast<long double>(v) / Lattice{}.scale(), 2);
  EXPECT_LT(squares, 1e-6);
}

// The bound by search, at weights of any size: never beyond 2, and records that pull against each other reach
// it.
TEST(DecoderStepMap, NoPairOfRecordsIsFartherApartThanTwoWhateverTheWeights) {
  constexpr float kInf = std::numeric_limits<float>::infinity();
  for (const auto& [map, size] :
       {std::pair(wandered(*begun(), 0.0), 0.0), std::pair(wandered(*begun(), 0.3), 0.3),
        std::pair(wandered(*begun(), 1e3), 1e3), std::pair(wandered(*begun(), 1e12), 1e12),
        std::pair(along_axes(0.0), 0.0), std::pair(along_axes(0.3), 0.3)}) {
    const auto block = map->make_block({});
    std::vector<std::vector<float>> records;
    const Records random(30, kImages.dims(), 1);
    for (std::size_t i = 0; i < random.n; ++i) {
      records.push_back(random.record(i));
      records.push_back(random.record(i));
      for (float& v : records.back()) v = 1.0f - v;
    }
    for (const float bad : {kInf, std::nanf(""), 3.4e38f, -1e30f, 0x1p24f, 1e-38f}) {
      records.push_back(records.front());
      records.back()[5] = bad;
      records.emplace_back(kImages.dims(), bad);
    }
    const std::uint64_t most = Lattice{}.max_squared_norm();
    double farthest = 0;
    std::vector<std::vector<std::int64_t>> all;
    for (const auto& x : records) {
      all.push_back(features_of(*block, x.data()));
      std::uint64_t norm = 0;
      for (const std::int64_t v : all.back()) norm += static_cast<std::uint64_t>(v * v);
      EXPECT_LE(norm, most) << size;
    }
    for (const auto& a : all) {
      for (const auto& b : all) {
        double squares = 0;
        for (std::size_t i = 0; i < a.size(); ++i) squares += std::pow(static_cast<double>(a[i] - b[i]), 2);
        farthest = std::max(farthest, std::sqrt(squares) * 0x1p-24);
      }
    }
    EXPECT_LE(farthest, 2.0);
    EXPECT_GT(farthest, 1.5) << "records that pull against each other are there, at " << size;
  }
}

// What a message says its axes are may be anything: no record adds more for that.
TEST(DecoderStepMap, NoAxesMakeAGradientLongerThanOne) {
  const auto honest = along_axes(0.3);
  const nlohmann::json stated = honest->to_json();
  const std::string state = honest->steps()->state();
  const std::size_t numbers = 6 * kImages.dims();  // the mean and five axes
  constexpr float kInf = std::numeric_limits<float>::infinity();
  for (const float bad : {1e30f, -3e38f, kInf, std::nanf(""), 1e-40f, 0.7f}) {
    for (const bool everywhere : {true, false}) {
      std::string forged = state;
      for (std::size_t i = everywhere ? 0 : numbers - 3; i < numbers; ++i)
        std::memcpy(forged.data() + i * sizeof(float), &bad, sizeof bad);
      nlohmann::json other = stated;
      other["state"] = to_hex(sha256(PublicBytes(std::as_bytes(std::span(forged)))));
      const JsonDocument document{"x.mfl", "a release", ""};
      const std::shared_ptr<FeatureMap> read = make_map("decoder-step");
      read->read_json(JsonFields(other, document));
      read->resolve(kImages);
      const auto block = read->steps()->with_state(forged)->make_block({});
      const Records records(20, kImages.dims(), 1);
      for (std::size_t r = 0; r < records.n; ++r) {
        std::uint64_t norm = 0;
        for (const std::int64_t v : features_of(*block, records.row(r)))
          norm += static_cast<std::uint64_t>(v * v);
        ASSERT_LE(norm, Lattice{}.max_squared_norm()) << bad;
      }
    }
  }
}

TEST(DecoderStepMap, SumsAreTheSameInEveryOrderAndTileAtAnyWeights) {
  for (const auto& map : {wandered(*begun(), 0.2), along_axes(0.2)}) {
    const auto block = map->make_block({});
    const Records records(60, kImages.dims(), 1);
    const auto expected = sums_of(*block, records, 1);
    for (const std::size_t tile : {1, 3, 11}) EXPECT_EQ(sums_of(*block, records, 1, tile), expected) << tile;
  }
}

TEST(DecoderStepMap, AStepIsAlongTheMeanAndKeepsAShareOfTheOneBefore) {
  const auto map = begun({{"momentum", "0.25"}});
  const std::vector<float> first = as_decoder(*map).decoder().weights;
  std::vector<std::vector<double>> means(2, std::vector<double>(map->features(), 0.0));
  means[0][3] = 1.0;
  means[1][3] = -0.5;
  means[1].back() = 0.125;
  std::vector<float> expected = first;
  expected[3] = static_cast<float>(static_cast<double>(first[3]) - 0.5 * 1.0 - 0.5 * (0.25 * 1.0 - 0.5));
  expected.back() = -0.0625f;
  EXPECT_EQ(as_decoder(*map->steps()->after({nullptr, means})).decoder().weights, expected);
  EXPECT_EQ(map->steps()->after({})->to_json(), map->to_json()) << "the first round's";
}

void names_its_state(const FeatureMap& map, const FeatureMap& later) {
  EXPECT_NE(map.to_json(), later.to_json());
  EXPECT_NE(map.hash(), later.hash());
  const JsonDocument document{"x.mfl", "a release", ""};
  const nlohmann::json stated = later.to_json();
  const std::shared_ptr<FeatureMap> read = make_map("decoder-step");
  read->read_json(JsonFields(stated, document));
  read->resolve(kImages);
  EXPECT_EQ(read->to_json(), stated);
  EXPECT_EQ(read->hash(), later.hash());
  EXPECT_EQ(read->features(), later.features());
  EXPECT_THROW(read->make_block({}), InvariantError) << "nobody told its weights";
  const std::string state = later.steps()->state();
  std::string other = state;
  other[17] ^= 1;
  for (const std::string& bad : {other, state.substr(4), std::string(), map.steps()->state()})
    test::expect_error(ExitCode::kConfig, {"another than the one that is stated"},
                       [&] { read->steps()->with_state(bad); });
  const Records records(9, kImages.dims(), 1);
  EXPECT_EQ(sums_of(*read->steps()->with_state(state)->make_block({}), records, 1),
            sums_of(*later.make_block({}), records, 1));
}

TEST(DecoderStepMap, TheStateIsNamedByItsHashAndNoOtherIsTaken) {
  const auto map = begun();
  names_its_state(*map, *wandered(*map, 0.1));
  // Its axes are a part of it: nothing but them is another here.
  names_its_state(
      *test::make_map("decoder-step", {{"components", "5"}, {"hidden", "7"}, {"rate", "0.5"}}, kImages),
      *along_axes(0.0, 0));
  EXPECT_EQ(map->steps()->first_round(), 1u);
  EXPECT_EQ(along_axes(0.0)->steps()->first_round(), 2u) << "the moments are released before";
}

TEST(DecoderStepMap, RedrawsByTheCodesWayBackAndWhatWasLearned) {
  const Records records(3, kImages.dims(), 1);
  std::vector<float> out(kImages.dims());
  for (const auto& map :
       {wandered(*begun(), 0.0), wandered(*begun(), 0.1), along_axes(0.0), along_axes(0.1)}) {
    const Decoder decoder = as_decoder(*map).decoder();
    decoder.redraw(records.row(1), out.data());
    long double squares = 0;
    for (std::size_t i = 0; i < out.size(); ++i)
      squares += std::pow(static_cast<long double>(out[i]) - static_cast<long double>(records.row(1)[i]), 2);
    EXPECT_NEAR(static_cast<double>(squares / 2),
                static_cast<double>(loss(decoder, records.row(1), decoder.weights.size(), 0)), 1e-5);
  }
}

TEST(DecoderStepMap, NeedsCodesThatLeaveSomethingOutAndARoundBeforeTheLast) {
  test::expect_error(ExitCode::kConfig, {"nothing to be learned"},
                     [] { test::make_map("decoder-step", {}, test::schema_of({4})); });
  test::expect_error(ExitCode::kConfig, {"nothing to be learned"}, [] { begun({{"coefficients", "8"}}); });
  EXPECT_THROW(begun({{"rounds", "1"}}), std::exception);
  EXPECT_THROW(begun({{"rounds", "101"}}), std::exception);
  const auto with = [](const test::MapKeys& keys) { (void)test::make_map("decoder-step", keys, kImages); };
  test::expect_error(ExitCode::kConfig, {"not 2 to 99"},  // a release has 100, and moments come before
                     [&] {
                       with({{"components", "5"}, {"rounds", "100"}});
                     });
  test::expect_error(ExitCode::kConfig, {"nothing to be learned", "fewer components"}, [&] {
    with({{"components", "64"}});
  });
  test::expect_error(ExitCode::kConfig, {"leave out lift"}, [&] {
    with({{"components", "5"}, {"lift", "image"}});
  });
  test::expect_error(ExitCode::kConfig, {"fewer hidden units"}, [] {
    test::make_map("decoder-step", {{"hidden", "4096"}}, test::schema_of({3, 64, 64}));
  });
}

}  // namespace
}  // namespace muffle::features
