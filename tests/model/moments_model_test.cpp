#include "muffle/model/moments_model.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "model/planted_moments.hpp"
#include "muffle/core/container.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/model/clipped_normal.hpp"
#include "muffle/model/moments_generator.hpp"
#include "support/temporary_folder.hpp"

namespace muffle::model {
namespace {

ModelInfo info_for(std::vector<std::size_t> shape, std::size_t classes) {
  ModelInfo info;
  info.spec.schema.shape = std::move(shape);
  info.spec.schema.classes = classes;
  info.class_share.assign(classes, 1.0 / static_cast<double>(classes));
  info.release_hash = "r";
  info.train_hash = "t";
  return info;
}

/// Exact second moments of `records` (n x d, in [0, 1]), class after class, and noise.
release::NoisyMoments moments_of(const features::MomentsSpec& spec,
                               const std::vector<std::vector<float>>& classes, double noise) {
  const features::MomentLift lift(spec);
  release::NoisyMoments m;
  m.classes = classes.size();
  m.order = lift.order();
  m.spec = lift.spec();
  m.noise_off_diagonal = noise / std::sqrt(2.0);
  m.noise_diagonal = noise;
  const auto q = static_cast<Eigen::Index>(m.order);
  for (std::size_t c = 0; c < classes.size(); ++c) {
    Eigen::MatrixXd sum = planted_noise(q, m.noise_off_diagonal, 77 + c);
    Eigen::VectorXd z(q);
    for (std::size_t i = 0; i < classes[c].size(); i += lift.dims()) {
      z(0) = lift.spec().offset;
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

std::vector<float> draw(const MomentsModel& model, std::size_t count, std::int64_t label,
                        std::uint64_t first = 0) {
  const std::vector<std::int64_t> labels(count, label);
  std::vector<float> out(count * features::MomentLift(model.lift).dims());
  make_moments_generator(model)->draw(5, first, labels, out);
  return out;
}

MeanVariance of_number(const std::vector<float>& records, std::size_t dims, std::size_t i) {
  double first = 0, second = 0;
  const auto n = static_cast<double>(records.size() / dims);
  for (std::size_t r = i; r < records.size(); r += dims) {
    first += static_cast<double>(records[r]) / n;
    second += static_cast<double>(records[r]) * static_cast<double>(records[r]) / n;
  }
  return {first, second - first * first};
}

TEST(MomentsModel, DrawsColourImagesWithTheirMoments) {
  features::MomentsSpec spec;
  spec.kind = features::MomentLiftKind::kImage;
  spec.shape = {3, 8, 8};
  spec.coefficients = 8;  // all of them: nothing is lost but by the Gaussian form
  const std::vector<std::vector<float>> real{bars(3, 4000, true, 1), bars(3, 4000, false, 2)};
  ModelInfo info = info_for({3, 8, 8}, 2);
  info.spec.plain_share = 0;
  const MomentsModel model = fit_moments_model(moments_of(spec, real, 0.5), info);
  for (std::size_t c = 0; c < 2; ++c) {
    const std::vector<float> drawn = draw(model, 4000, static_cast<std::int64_t>(c));
    double mean_off = 0, variance_off = 0, variance = 0;
    for (std::size_t i = 0; i < 192; ++i) {
      const MeanVariance a = of_number(real[c], 192, i), b = of_number(drawn, 192, i);
      mean_off += std::fabs(a.mean - b.mean) / 192;
      variance_off += std::fabs(a.variance - b.variance);
      variance += a.variance;
    }
    EXPECT_LT(mean_off, 0.02);
    EXPECT_LT(variance_off, 0.3 * variance);
    for (const float v : drawn) ASSERT_TRUE(v >= 0 && v <= 1);
  }
}

TEST(MomentsModel, PlainShareChoosesTheLaw) {
  features::MomentsSpec spec;
  spec.kind = features::MomentLiftKind::kVector;
  spec.shape = {2};
  std::vector<float> skewed;
  const CounterStream random(3, Stream::kTest);
  for (std::uint64_t i = 0; i < 8000; ++i) skewed.push_back(random.uniform(i) < 0.1 ? 0.9f : 0.02f);
  const auto moments = moments_of(spec, {skewed}, 0.0);
  std::vector<double> off;
  for (const double share : {0.0, 0.5, 1.0}) {
    ModelInfo info = info_for({2}, 1);
    info.spec.plain_share = share;
    const auto drawn = draw(fit_moments_model(moments, info), 20000, 0);
    off.push_back(of_number(drawn, 2, 0).mean - of_number(skewed, 2, 0).mean);
  }
  EXPECT_NEAR(off[0], 0.0, 0.02) << "the law that keeps the moments";
  EXPECT_GT(off[2], 0.03) << "clipping lifts the mean of a number near 0";
  EXPECT_NEAR(off[1], 0.5 * (off[0] + off[2]), 0.01);
}

TEST(MomentsModel, ARecordDependsOnItsNumberAlone) {
  features::MomentsSpec spec;
  spec.shape = {4};
  const PlantedMoments planted = plant(3, 4, 1000, 1.0, 1);
  ModelInfo info = info_for({4}, 3);
  const MomentsModel model = fit_moments_model(planted.moments, info);
  const auto all = draw(model, 100, 1), part = draw(model, 40, 1, 30);
  for (std::size_t i = 0; i < part.size(); ++i) EXPECT_NEAR(part[i], all[30 * 4 + i], 1e-5);
  EXPECT_FALSE(std::equal(all.begin(), all.end() - 4, all.begin() + 4));
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
  for (const auto kind : {features::MomentLiftKind::kFourier, features::MomentLiftKind::kHermite}) {
    features::MomentsSpec spec;
    spec.kind = kind;
    spec.shape = {2};
    const auto real = blobs();
    const MomentsModel model = fit_moments_model(moments_of(spec, real, 4.0), info_for({2}, 2));
    ASSERT_TRUE(model.grid);
    for (std::size_t c = 0; c < 2; ++c) {
      const auto drawn = draw(model, 2000, static_cast<std::int64_t>(c));
      int near = 0;
      for (std::size_t i = 0; i < drawn.size(); i += 2) {
        const double x = drawn[i] - 0.5, y = drawn[i + 1] - 0.5;
        near += std::hypot(std::fabs(x) - 0.25, std::fabs(y) - 0.25) < 0.15 && (x * y > 0) == (c == 0);
      }
      EXPECT_GT(near, kind == features::MomentLiftKind::kFourier ? 1850 : 1000) << static_cast<int>(kind);
    }
  }
}

TEST(MomentsModel, AGridOverManyNumbersIsRefused) {
  features::MomentsSpec spec;
  spec.kind = features::MomentLiftKind::kFourier;
  spec.shape = {4};
  spec.coefficients = 8;
  const auto moments = moments_of(spec, {std::vector<float>(400, 0.5f)}, 0.0);
  EXPECT_THROW(fit_moments_model(moments, info_for({4}, 1)), ConfigError);
}

TEST(MomentsModel, ALongFitShowsLifeBetweenItsSteps) {
  int calls = 0;
  const auto count = [&] { ++calls; };
  fit_moments_model(plant(3, 4, 1000, 1.0, 1).moments, info_for({4}, 3), count);
  EXPECT_GE(calls, 6) << "twice a class";
  calls = 0;
  features::MomentsSpec spec;
  spec.kind = features::MomentLiftKind::kFourier;
  spec.shape = {2};
  spec.coefficients = 16;
  fit_moments_model(moments_of(spec, blobs(), 1.0), info_for({2}, 2), count);
  EXPECT_GE(calls, 100);
}

TEST(MomentsModel, FilesComeBackAsTheyWere) {
  const test::TemporaryFolder folder;
  const auto file = folder.path() / "model.mfl";
  const PlantedMoments planted = plant(3, 6, 1000, 1.0, 2);
  ModelInfo info = info_for({6}, 3);
  info.spec.plain_share = 0.25;
  info.is_private = false;
  const MomentsModel model = fit_moments_model(planted.moments, info);
  save_moments_model(file, model);
  const std::string bytes = read_file(file);
  EXPECT_TRUE(holds_moments_model(bytes));
  const MomentsModel again = parse_moments_model(bytes, "model");
  EXPECT_EQ(again.info.spec.plain_share, 0.25);
  EXPECT_EQ(again.info.train_hash, "t");
  EXPECT_FALSE(again.info.is_private);
  EXPECT_EQ(again.lift, model.lift);
  EXPECT_EQ(draw(again, 50, 2), draw(model, 50, 2));
  EXPECT_EQ(load_model_info(file).spec.kind, GeneratorKind::kMoments);

  features::MomentsSpec spec;
  spec.kind = features::MomentLiftKind::kFourier;
  spec.shape = {2};
  spec.coefficients = 32;
  const MomentsModel grid = fit_moments_model(moments_of(spec, blobs(), 1.0), info_for({2}, 2));
  save_moments_model(file, grid);
  EXPECT_EQ(draw(parse_moments_model(read_file(file), "model"), 50, 1), draw(grid, 50, 1));
}

TEST(MomentsModel, FilesThatContradictThemselvesAreRefused) {
  const test::TemporaryFolder folder;
  const auto file = folder.path() / "model.mfl";
  save_moments_model(file, fit_moments_model(plant(2, 5, 1000, 1.0, 2).moments, info_for({5}, 2)));
  const Container good = read_container(file, "muffle-moments-model", kMomentsModelVersion);
  const auto refused = [&](auto change) {
    Container bad = good;
    change(bad);
    try {
      parse_moments_model(serialize(bad), "model");
    } catch (const ProtocolError&) {
      return true;
    }
    return false;
  };
  EXPECT_FALSE(refused([](Container&) {}));
  EXPECT_TRUE(refused([](Container& c) { c.header["schema"]["shape"] = {6}; }));
  EXPECT_TRUE(refused([](Container& c) { c.header["schema"]["shape"] = {1 << 20, 1 << 20}; }));
  EXPECT_TRUE(refused([](Container& c) { c.header["schema"]["classes"] = 3; }));
  EXPECT_TRUE(refused([](Container& c) { c.header["law"] = "grid"; }));
  EXPECT_TRUE(refused([](Container& c) { c.header["plain_share"] = 1.5; }));
  EXPECT_TRUE(refused([](Container& c) { c.header["lift"]["offset"] = 7.5; }));
  EXPECT_TRUE(refused([](Container& c) { c.header["lift"]["kind"] = "fourier"; }));
  EXPECT_TRUE(refused([](Container& c) { c.header["lift"].erase("seed"); }));
  EXPECT_TRUE(refused([](Container& c) { c.header["extra"] = 1; }));
  EXPECT_TRUE(refused([](Container& c) { c.payload.pop_back(); }));
  EXPECT_TRUE(refused([](Container& c) { c.payload.resize(c.payload.size() - 240); }));
  EXPECT_TRUE(refused([](Container& c) { std::fill_n(c.payload.begin(), 8, std::byte{0xFF}); }));
}

}  // namespace
}  // namespace muffle::model
