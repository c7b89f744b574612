// Held-out records, read out of a release by its classes' noisy means.
#include <gtest/gtest.h>

#include "muffle/core/files.hpp"
#include "muffle/core/hash.hpp"
#include "muffle/core/kinds.hpp"
#include "muffle/evaluate/metric.hpp"
#include "muffle/schema/scaling.hpp"
#include "support/expect_error.hpp"
#include "support/planned_release.hpp"
#include "support/records.hpp"
#include "support/temporary_folder.hpp"

namespace muffle::evaluate {
namespace {

constexpr std::size_t kClasses = 3;

/// Images of a level by their class, with much in common.
struct Images {
  Images(std::size_t n, std::uint64_t seed) {
    const CounterStream random(seed, Stream::kTest);
    records.shape = {1, 4, 4};
    for (std::size_t i = 0; i < n; ++i) {
      y.push_back(static_cast<std::int32_t>(i % kClasses));
      records.labels.push_back(static_cast<std::uint8_t>(i % kClasses));
      for (std::size_t j = 0; j < 16; ++j) {
        const std::uint64_t value = 12 * (i % kClasses) + random.below(i * 16 + j, 220);
        records.bytes.push_back(static_cast<std::uint8_t>(value));
        x.push_back(schema::SampleScaling::from_byte(records.bytes.back()));
      }
    }
  }
  schema::Records records;
  std::vector<float> x;
  std::vector<std::int32_t> y;
};

class NearestMean : public ::testing::Test {
 protected:
  NearestMean() {
    schema_ = test::schema_of({1, 4, 4}, kClasses);
    schema_.hi = 255.0;
    test::write_records(folder_ / "test-images.idx", held_out_.records);
    data_.dir = folder_.path().string();
    data_.test_features = "test-images.idx", data_.test_labels = "test-labels.idx";
    data_.schema = schema_;
    subject_.test = data_.test();
    subject_.release = folder_ / "release.mfl";
  }
  features::NamedMap map(const std::string& name, const std::string& count) const {
    return test::named(name, test::make_map("rff", {{"count", count}}, schema_));
  }
  release::Artifact released(std::vector<features::NamedMap> maps, double epsilon, std::uint32_t draw) {
    release::Artifact a = test::planned_release(schema_, std::move(maps), own_.x, own_.y, epsilon, draw);
    write_file_atomically(subject_.release, release::artifact_bytes(a));
    return a;
  }
  Findings score() const {
    return find_kind(metric_kinds(), "nearest-mean", "metric").make()->score(subject_);
  }

  const test::TemporaryFolder folder_;
  Images own_{300, 1};
  const Images held_out_{90, 2};
  schema::Schema schema_;
  data::Settings data_;
  Subject subject_;
};

/// By which the means are drawn toward their middle; they are of one stretch, and all numbers of one noise.
double drawn_by(const release::Artifact& a, std::size_t b, std::size_t features, double unit) {
  const double count = static_cast<double>(a.records) / kClasses;
  const auto mean = [&](std::size_t c, std::size_t j) {
    return static_cast<double>(a.values[a.offset(b) + c * features + j]) / count / unit;
  };
  const double sigma = release::carried_sigma(a, a.aggregation, b, 0) / count / unit;
  double apart = 0;
  for (std::size_t j = 0; j < features; ++j) {
    for (std::size_t c = 0; c < kClasses; ++c)
      apart += std::pow(mean(c, j) - (mean(0, j) + mean(1, j) + mean(2, j)) / 3, 2);
  }
  const double noise = static_cast<double>(kClasses - 1) * static_cast<double>(features) * sigma * sigma;
  return std::pow(std::max(1e-4, 1 - noise / apart), 0.25);
}

/// Record by record in double; the classes are as large as one another, so that what noise adds is, too.
double read_out(const release::Artifact& a, std::size_t b, const Images& images) {
  const auto block = a.maps[b].map->make_block(a.lattice);
  const auto workspace = block->make_workspace();
  const std::size_t features = block->features();
  const double unit = a.maps[b].map->coordinates(a.lattice).front().unit;
  const double count = static_cast<double>(a.records) / kClasses;
  const double factor = drawn_by(a, b, features, unit);
  std::size_t found = 0;
  for (std::size_t i = 0; i < images.y.size(); ++i) {
    std::vector<std::uint64_t> phi(features);
    const std::int32_t row = 0;
    block->accumulate(images.x.data() + 16 * i, &row, 1, *workspace, phi);
    std::size_t nearest = 0;
    double least = 1e300;
    for (std::size_t c = 0; c < kClasses; ++c) {
      double square = 0;
      for (std::size_t j = 0; j < features; ++j) {
        double middle = 0;
        for (std::size_t k = 0; k < kClasses; ++k)
          middle += static_cast<double>(a.values[a.offset(b) + k * features + j]) / count / kClasses;
        const double own = static_cast<double>(a.values[a.offset(b) + c * features + j]) / count;
        const double mean = middle + factor * (own - middle);
        const double off = (static_cast<double>(static_cast<std::int64_t>(phi[j])) - mean) / unit;
        square += off * off;
      }
      if (square < least) least = square, nearest = c;
    }
    found += nearest == static_cast<std::size_t>(images.y[i]) ? 1 : 0;
  }
  return static_cast<double>(found) / static_cast<double>(images.y.size());
}

TEST_F(NearestMean, IsThatOfPlainLoopsWithNoiseAndWithout) {
  for (const std::uint32_t draw : {0u, 1u}) {
    const release::Artifact a =
        released({map("coarse", "20"), map("fine", "300")}, draw > 0 ? 2.0 : 100.0, draw);
    const Findings outcome = score();
    for (std::size_t b = 0; b < 2; ++b) {
      const nlohmann::json said = json_of(outcome, "nearest-mean").at("nearest_mean").at(a.maps[b].name);
      const double expected = read_out(a, b, held_out_);
      // One record may be as far from two means, but for rounding.
      EXPECT_NEAR(said.at("accuracy").get<double>(), expected, 1.01 / 90) << a.maps[b].name;
      EXPECT_GT(expected, 0.34);
      EXPECT_LT(expected, 1.0);
      EXPECT_GT(said.at("macro_f1").get<double>(), 0.2);
      EXPECT_NE(text_of(outcome).find(a.maps[b].name), std::string::npos);
    }
  }
}

TEST_F(NearestMean, AClassThatTheNoiseEmptiedIsGivenToNobody) {
  // Class 2 has few records, and its noisy count says that it has none, or less than one.
  for (std::size_t i = 0; i < own_.y.size(); ++i) {
    if (own_.y[i] == 2 && i > 20) own_.y[i] = 1;
  }
  for (std::uint32_t draw = 1; draw <= 5; ++draw) {
    release::Artifact a = test::planned_release(schema_, {map("fine", "300")}, own_.x, own_.y, 20.0, draw,
                                                /*block_of=*/nullptr, /*counts=*/true);
    const auto accuracy_of = [&](std::optional<double> records) {
      if (records) a.values.back() = std::llround(*records * static_cast<double>(a.counts_units()));
      write_file_atomically(subject_.release, release::artifact_bytes(a));
      return json_of(score(), "nearest-mean").at("nearest_mean").at("fine").at("accuracy").get<double>();
    };
    // The others are told apart as before.
    EXPECT_GT(accuracy_of(-3.0), 0.4);
    EXPECT_LE(accuracy_of(-3.0), 2.0 / 3 + 1e-4) << "no record of class 2 is found";
    // Should all be empty, all that is known is the number of classes.
    for (std::size_t c = 1; c <= kClasses; ++c) a.values[a.values.size() - c] = -1;
    EXPECT_GT(accuracy_of({}), 0.3);
  }
}

TEST_F(NearestMean, SaysWhetherTheReleaseIsPrivate) {
  release::Artifact a = released({map("coarse", "20")}, 100.0, 0);
  EXPECT_EQ(json_of(score(), "nearest-mean").at("is_private"), false);
  EXPECT_EQ(json_of(score(), "nearest-mean").at("release_hash"),
            sha256_file_hex(PublicFile(subject_.release)));
  a.is_private = true;
  write_file_atomically(subject_.release, release::artifact_bytes(a));
  EXPECT_FALSE(json_of(score(), "nearest-mean").contains("is_private"));
}

TEST_F(NearestMean, MapsWithoutLabelsHaveNoMeansOfClasses) {
  std::vector<features::NamedMap> maps{map("all", "20"), map("by-class", "20")};
  maps[0].labelled = false;
  released(maps, 100.0, 0);
  EXPECT_EQ(json_of(score(), "nearest-mean").at("nearest_mean").size(), 1u);
  EXPECT_TRUE(json_of(score(), "nearest-mean").at("nearest_mean").contains("by-class"));
  released({maps[0]}, 100.0, 0);
  test::expect_error(ExitCode::kConfig, {"mean of each class"}, [&] { score(); });
}

TEST_F(NearestMean, AReleaseThatIsNotThereOrOfOtherRecordsIsAnError) {
  test::expect_error(ExitCode::kConfig, {"nearest-mean", "release.mfl", "--release"}, [&] { score(); });
  released({map("coarse", "20")}, 100.0, 0);
  subject_.test.schema.classes = 4;
  test::expect_error(ExitCode::kConfig, {"other classes"}, [&] { score(); });
  subject_.test.schema.classes = kClasses;
  subject_.test.schema.hi = 200.0;
  test::expect_error(ExitCode::kConfig, {"other bounds"}, [&] { score(); });
}

}  // namespace
}  // namespace muffle::evaluate
