#include "muffle/moments/moments_model.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "moments/planted_moments.hpp"
#include "muffle/core/error.hpp"
#include "muffle/model/closed_forms.hpp"
#include "muffle/model/model_file.hpp"
#include "muffle/moments/clipped_normal.hpp"
#include "support/generators.hpp"

namespace muffle::model {
namespace {

/// Exact second moments of `records` (n x d, in [0, 1]), class after class, and noise.
release::NoisyMoments moments_of(const test::MapKeys& keys, const std::vector<std::size_t>& shape,
                                 const std::vector<std::vector<float>>& classes, double noise) {
  release::NoisyMoments m;
  m.moments = test::make_moments(keys, test::schema_of(shape))->second_moments()->moments();
  const features::Lift& lift = *m.moments.lift;
  m.classes = classes.size();
  m.order = m.moments.order();
  m.noise_off_diagonal = noise / std::sqrt(2.0);
  m.noise_diagonal = noise;
  const auto q = static_cast<Eigen::Index>(m.order);
  for (std::size_t c = 0; c < classes.size(); ++c) {
    Eigen::MatrixXd sum = moments::planted_noise(q, m.noise_off_diagonal, 77 + c);
    Eigen::VectorXd z(q);
    for (std::size_t i = 0; i < classes[c].size(); i += lift.dims()) {
      z(0) = m.moments.offset;
      lift.forward(classes[c].data() + i, z.data() + 1);
      sum += z * z.transpose() / z.squaredNorm();
      m.records += 1;
    }
    m.second.insert(m.second.end(), sum.data(), sum.data() + sum.size());
  }
  return m;
}

/// Images with a coloured bar, its place and brightness random: channels x 8 x 8.
std::vector<float> bars(std::size_t channels, std::size_t count, bool upright, std::uint64_t seed) {
  const CounterStream random(seed, Stream::kTest);
  std::vector<float> out;
  for (std::uint64_t i = 0; i < count; ++i) {
    const double place = 2 + 4 * random.uniform(3 * i), brightness = 0.4 + 0.5 * random.uniform(3 * i + 1);
    for (std::size_t ch = 0; ch < channels; ++ch) {
      for (int r = 0; r < 8; ++r) {
        for (int s = 0; s < 8; ++s) {
          const double at = (upright ? s : r) - place;
          out.push_back(static_cast<float>(brightness * std::exp(-at * at / 2) * (ch == 1 ? 0.5 : 1.0)));
        }
      }
    }
  }
  return out;
}

std::vector<float> draw(const MomentsModel& model, std::size_t count, std::int64_t label) {
  const std::vector<std::int64_t> labels(count, label);
  std::vector<float> out(count * model.moments.lift->dims());
  make_sampler(model)->draw(5, 0, labels, out);
  return out;
}

moments::MeanVariance of_number(const std::vector<float>& records, std::size_t dims, std::size_t i) {
  double first = 0, second = 0;
  const auto n = static_cast<double>(records.size() / dims);
  for (std::size_t r = i; r < records.size(); r += dims) {
    first += static_cast<double>(records[r]) / n;
    second += static_cast<double>(records[r]) * static_cast<double>(records[r]) / n;
  }
  return {first, second - first * first};
}

TEST(MomentsModel, DrawsColourImagesWithTheirMoments) {
  const std::vector<std::vector<float>> real{bars(3, 4000, true, 1), bars(3, 4000, false, 2)};
  // All coefficients: nothing is lost but by the Gaussian form.
  const MomentsModel model = moments::fit_moments_model(
      moments_of({{"lift", "image"}, {"coefficients", "8"}}, {3, 8, 8}, real, 0.5), /*plain_share=*/0);
  for (std::size_t c = 0; c < 2; ++c) {
    const std::vector<float> drawn = draw(model, 4000, static_cast<std::int64_t>(c));
    double mean_off = 0, variance_off = 0, variance = 0;
    for (std::size_t i = 0; i < 192; ++i) {
      const moments::MeanVariance a = of_number(real[c], 192, i), b = of_number(drawn, 192, i);
      mean_off += std::fabs(a.mean - b.mean) / 192;
      variance_off += std::fabs(a.variance - b.variance);
      variance += a.variance;
    }
    EXPECT_LT(mean_off, 0.02);
    EXPECT_LT(variance_off, 0.3 * variance);
    for (const float v : drawn) ASSERT_TRUE(v >= 0 && v <= 1);
  }
}

TEST(MomentsModel, ImagesAreBlurredByWhatFrequenciesTheyLack) {
  const std::vector<std::vector<float>> real{bars(2, 100, true, 1)};
  const auto blur = [&](const char* k, const std::vector<std::size_t>& shape = {2, 8, 8}) {
    return make_sampler(moments::fit_moments_model(
                            moments_of({{"lift", "image"}, {"coefficients", k}}, shape, real, 0.1), 0))
        ->blur();
  };
  EXPECT_EQ(blur("8"), 0.0);
  EXPECT_DOUBLE_EQ(blur("5"), 0.6);
  EXPECT_EQ(blur("4"), 1.0);
  EXPECT_EQ(blur("2"), 1.0);
  EXPECT_EQ(blur("8", {1, 8, 16}), 1.0) << "half of the frequencies along its rows are lacking";
}

TEST(MomentsModel, SpreadMultipliesDeviationsFromTheMean) {
  const CounterStream random(9, Stream::kTest);
  std::vector<float> narrow;
  for (std::uint64_t i = 0; i < 8000; ++i)
    narrow.push_back(static_cast<float>(0.5 + 0.02 * random.normal(i)));  // never clipped
  const MomentsModel model =
      moments::fit_moments_model(moments_of({{"lift", "vector"}}, {2}, {narrow}, 0.0), /*plain_share=*/1);
  const std::vector<std::int64_t> labels(4, 0);
  const std::vector<float> spread{1, 3, 0, 1};
  std::vector<sampling::Departure> departures(4);
  std::vector<float> out(8), ones(8), wide(8);
  const auto sampler = make_sampler(model);
  sampler->draw(5, 7, labels, out);
  sampler->draw(5, 7, labels, ones, departures);
  for (std::size_t r = 0; r < 4; ++r) departures[r].spread = spread[r];
  sampler->draw(5, 7, labels, wide, departures);
  EXPECT_EQ(ones, out);
  for (std::size_t i = 0; i < 8; ++i)  // record 2 is the mean itself
    EXPECT_NEAR(wide[i] - wide[4 + i % 2], spread[i / 2] * (out[i] - wide[4 + i % 2]), 1e-6F) << i;
  EXPECT_NE(wide[2], out[2]);
  EXPECT_THROW(sampler->draw(5, 7, labels, out, std::vector<sampling::Departure>(3)), InvariantError);
}

TEST(MomentsModel, MixedRecordsLieBetweenTheMeansOfTwoClasses) {
  const CounterStream random(9, Stream::kTest);
  std::vector<std::vector<float>> classes(2);
  for (std::uint64_t i = 0; i < 16000; ++i)
    classes[i % 2].push_back(static_cast<float>(0.3 + 0.3 * (i % 2) + 0.02 * random.normal(i)));  // unclipped
  const MomentsModel model =
      moments::fit_moments_model(moments_of({{"lift", "vector"}}, {2}, classes, 0.0), /*plain_share=*/1);
  const std::vector<std::int64_t> labels{0, 0, 1, 1};
  std::vector<float> out(8), mixed(8);
  const auto sampler = make_sampler(model);
  sampler->draw(5, 7, labels, out);
  std::vector<sampling::Departure> departures{
      {.other = 0}, {.toward = 0.25F, .other = 1}, {.toward = 0.25F, .other = 0}, {.other = 1}};
  sampler->draw(5, 7, labels, mixed, departures);
  const std::vector<float> moved{0.0F, 0.075F, -0.075F, 0.0F};  // a quarter of the way
  for (std::size_t i = 0; i < 8; ++i) EXPECT_NEAR(mixed[i] - out[i], moved[i / 2], 2e-3F) << i;
  departures[3].other = 2;
  EXPECT_THROW(sampler->draw(5, 7, labels, out, departures), InvariantError);
}

TEST(MomentsModel, PlainShareChoosesTheLaw) {
  std::vector<float> skewed;
  const CounterStream random(3, Stream::kTest);
  for (std::uint64_t i = 0; i < 8000; ++i) skewed.push_back(random.uniform(i) < 0.1 ? 0.9f : 0.02f);
  const auto moments = moments_of({{"lift", "vector"}}, {2}, {skewed}, 0.0);
  std::vector<double> off;
  for (const double share : {0.0, 0.5, 1.0}) {
    const auto drawn = draw(moments::fit_moments_model(moments, share), 20000, 0);
    off.push_back(of_number(drawn, 2, 0).mean - of_number(skewed, 2, 0).mean);
  }
  EXPECT_NEAR(off[0], 0.0, 0.02) << "the law that keeps the moments";
  EXPECT_GT(off[2], 0.03) << "clipping lifts the mean of a number near 0";
  EXPECT_NEAR(off[1], 0.5 * (off[0] + off[2]), 0.01);
}

/// Blobs at two corners for class 0, at the other two for class 1.
std::vector<std::vector<float>> blobs() {
  std::vector<std::vector<float>> out(2);
  const CounterStream random(4, Stream::kTest);
  for (std::uint64_t i = 0; i < 6000; ++i) {
    const std::size_t c = i % 2;
    const bool far = random.uniform(4 * i) < 0.5;
    const double x = far ? 0.75 : 0.25, y = (far == (c == 0)) ? 0.75 : 0.25;
    out[c].push_back(static_cast<float>(x + 0.04 * random.normal(4 * i + 1)));
    out[c].push_back(static_cast<float>(y + 0.04 * random.normal(4 * i + 2)));
  }
  return out;
}

TEST(MomentsModel, AGridDensityFindsTheBlobs) {
  for (const auto& [lift, least] : {std::pair{"fourier", 1850}, {"hermite", 1000}}) {
    const MomentsModel model =
        moments::fit_moments_model(moments_of({{"lift", lift}}, {2}, blobs(), 4.0), 0.5);
    ASSERT_TRUE(model.grid);
    for (std::size_t c = 0; c < 2; ++c) {
      const auto drawn = draw(model, 2000, static_cast<std::int64_t>(c));
      int near = 0;
      for (std::size_t i = 0; i < drawn.size(); i += 2) {
        const double x = drawn[i] - 0.5, y = drawn[i + 1] - 0.5;
        near += std::hypot(std::fabs(x) - 0.25, std::fabs(y) - 0.25) < 0.15 && (x * y > 0) == (c == 0);
      }
      EXPECT_GT(near, least) << lift;
    }
  }
}

TEST(MomentsModel, AGridDensityThatNoiseHidesIsUniform) {
  for (const char* lift : {"fourier", "hermite"}) {
    const MomentsModel model =
        moments::fit_moments_model(moments_of({{"lift", lift}}, {2}, blobs(), 1e6), 0.5);
    for (std::size_t c = 0; c < 2; ++c) {
      const moments::MeanVariance x = of_number(draw(model, 4000, static_cast<std::int64_t>(c)), 2, 0);
      EXPECT_NEAR(x.mean, 0.5, 0.03) << lift;
      EXPECT_NEAR(x.variance, 1.0 / 12, 0.02) << lift;
    }
  }
}

TEST(MomentsModel, AGridOverManyNumbersIsRefused) {
  const auto moments =
      moments_of({{"lift", "fourier"}, {"coefficients", "8"}}, {4}, {std::vector<float>(400, 0.5f)}, 0.0);
  EXPECT_THROW(moments::fit_moments_model(moments, 0.5), ConfigError);
}

TEST(MomentsModel, ALongFitShowsLifeBetweenItsSteps) {
  int calls = 0;
  const auto count = [&] { ++calls; };
  moments::fit_moments_model(moments::plant(3, 4, 1000, 1.0, 1).moments, 0.5, count);
  EXPECT_GE(calls, 6) << "twice a class";
  calls = 0;
  moments::fit_moments_model(moments_of({{"lift", "fourier"}, {"coefficients", "16"}}, {2}, blobs(), 1.0),
                             0.5, count);
  EXPECT_GE(calls, 100);
}

/// Of both laws. (generator_conformance_test.cpp holds whole files to what all kinds promise.)
TEST(MomentsModel, ContentComesBackAsItWasAndLiesAreRefused) {
  const auto check = [](const MomentsModel& model, const schema::Schema& schema,
                        const std::vector<nlohmann::json>& lies) {
    const ModelContent good = content_of(model);
    const auto read = [&](const nlohmann::json& description, std::span<const std::byte> payload) {
      const nlohmann::json parsed = nlohmann::json::parse(description.dump());
      return read_moments(schema, model.plain_share, JsonFields(parsed, test::kTestDocument), payload);
    };
    EXPECT_EQ(draw(read(good.description, good.payload), 50, 1), draw(model, 50, 1));
    for (const nlohmann::json& lie : lies) {
      nlohmann::json bad = good.description;
      bad.merge_patch(lie);
      EXPECT_THROW(read(bad, good.payload), ProtocolError) << lie;
    }
    const std::span payload(good.payload);
    EXPECT_THROW(read(good.description, payload.first(payload.size() - 1)), ProtocolError);
    EXPECT_THROW(read(good.description, payload.first(payload.size() - 8)), ProtocolError);
    schema::Schema other = schema;
    other.shape = {std::size_t{1} << 20, std::size_t{1} << 20};
    EXPECT_THROW(read_moments(other, 0.5, JsonFields(good.description, test::kTestDocument), payload),
                 ProtocolError);
  };
  check(moments::fit_moments_model(moments::plant(2, 5, 1000, 1.0, 2).moments, 0.25), test::schema_of({5}, 2),
        {{{"law", "grid"}},
         {{"lift", {{"offset", 7.5}}}},
         {{"lift", {{"kind", "fourier"}}}},
         {{"extra", 1}},
         {{"lift", {{"bits", nullptr}}}}});
  check(moments::fit_moments_model(
            moments_of({{"lift", "fourier"}, {"coefficients", "32"}}, {2}, blobs(), 1.0), 0.5),
        test::schema_of({2}, 2),
        {{{"law", "gaussian"}}, {{"grid_side", 3}}, {{"lift", {{"settings", {{"seed", 9}}}}}}});
}

}  // namespace
}  // namespace muffle::model
