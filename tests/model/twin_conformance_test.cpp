// What every twin of a feature map promises, over the table: a new one is tested by being in it.
#include <gtest/gtest.h>
#include <torch/torch.h>

#include <cmath>

#include "muffle/core/error.hpp"
#include "muffle/core/philox.hpp"
#include "muffle/features/mixed.hpp"
#include "muffle/model/map_twin.hpp"
#include "muffle/networks/network_block.hpp"
#include "support/maps.hpp"
#include "support/networks.hpp"

namespace muffle::model {
namespace {

using torch::Tensor;

constexpr std::int64_t kGenerated = 40, kLabels = 3;

Tensor uniform(std::vector<std::int64_t> shape, std::uint32_t substream) {
  const CounterStream random(4, Stream::kTest, substream);
  Tensor t = torch::empty(shape, torch::kFloat64);
  for (std::int64_t i = 0; i < t.numel(); ++i)
    t.data_ptr<double>()[i] = static_cast<float>(random.uniform(static_cast<std::uint64_t>(i)));
  return t;
}

/// Numbers, one of them with missing values, and categories.
schema::Schema mixed_table() { return test::table_schema({4, 5, 3, 2}, kLabels, 2); }

/// n of positions as relaxed records.
Tensor relaxed(const Tensor& positions) {
  const features::MixedLayout layout(*mixed_table().table);
  const Tensor x = positions.to(torch::kFloat32);
  Tensor out = torch::zeros({x.size(0), static_cast<std::int64_t>(layout.width())}, torch::kFloat64);
  for (std::int64_t i = 0; i < x.size(0); ++i) {
    const float* const record = x.data_ptr<float>() + i * x.size(1);
    double* const row = out.data_ptr<double>() + i * out.size(1);
    for (std::size_t j = 0; j < layout.numbers.size(); ++j)
      row[j] = layout.numbers[j].number(record[layout.numbers[j].column]);
    for (const features::MixedLayout::Category& c : layout.categories)
      row[layout.numbers.size() + c.first + c.entry(record[c.column])] = 1.0;
  }
  return out;
}

/// Small maps of the kind, of records that it takes and that have a twin.
std::vector<std::shared_ptr<const features::FeatureMap>> examples(const TwinKind& kind) {
  std::vector<std::shared_ptr<const features::FeatureMap>> out;
  const test::MapKeys network{{"network", test::small_network()}, {"moments", "2"}};
  for (const auto& shape : {std::vector<std::size_t>{2}, {5}, {2, 8, 12}, {3, 8, 8}}) {
    auto map = test::small_map(kind.name, test::schema_of(shape, kLabels), network);
    if (map && twin_columns(*map) > 0) out.push_back(std::move(map));
  }
  if (features::make_map(kind.name)->mixed()) out.push_back(test::small_map(kind.name, mixed_table()));
  return out;
}

class EveryTwin : public ::testing::TestWithParam<TwinKind> {
 protected:
  static std::unique_ptr<MapTwin> twin_of(const features::FeatureMap& map,
                                          torch::ScalarType type = torch::kFloat64) {
    return make_twin(map, {kLabels, torch::TensorOptions(type)});
  }
  /// What the twin takes for records of these numbers.
  static Tensor taken(const Tensor& x) {
    return features::make_map(GetParam().name)->mixed() ? relaxed(x) : x;
  }
  const std::vector<std::shared_ptr<const features::FeatureMap>> maps_ = examples(GetParam());
  const features::Lattice lattice_;
};

/// Within the rounding to the lattice, in a float32 and a double twin.
TEST_P(EveryTwin, SumsAreTheReleasedMaps) {
  ASSERT_FALSE(maps_.empty());
  for (const auto& map : maps_) {
    const Tensor x = uniform({kGenerated, static_cast<std::int64_t>(map->dims())}, 1),
                 labels = torch::arange(kGenerated) % 3;
    auto block = networks::make_network_block(*map, lattice_);
    if (!block) block = map->make_block(lattice_);
    const auto workspace = block->make_workspace();
    const Tensor records = x.to(torch::kFloat32);
    std::vector<std::uint64_t> sums(kLabels * block->features());
    for (std::size_t i = 0; i < kGenerated; ++i) {
      const auto label = static_cast<std::int32_t>(i % 3);
      block->accumulate(records.data_ptr<float>() + i * map->dims(), &label, 1, *workspace, sums);
    }
    const std::vector<std::int64_t> released(sums.begin(), sums.end());
    for (const auto type : {torch::kFloat32, torch::kFloat64}) {
      const auto twin = twin_of(*map, type);
      const Tensor ours = twin->class_sums(taken(x).to(type), labels) / static_cast<double>(kGenerated);
      ASSERT_EQ(ours.size(1), static_cast<std::int64_t>(twin_columns(*map)));
      const Tensor target = twin->target(released, map->scale(lattice_), kGenerated);
      EXPECT_EQ(target.scalar_type(), type);
      EXPECT_LT((ours - target).abs().max().item<double>(), 2e-5) << map->dims();
      EXPECT_GT(target.abs().max().item<double>(), 1e-3);
    }
  }
}

TEST_P(EveryTwin, GradientIsTheFiniteDifference) {
  for (const auto& map : maps_) {
    const auto twin = twin_of(*map);
    EXPECT_EQ(takes_relaxed(*map), map->mixed() != nullptr);
    const auto d = static_cast<std::int64_t>(map->dims()),
               columns = static_cast<std::int64_t>(twin_columns(*map));
    const Tensor labels = torch::arange(5) % 3, weights = uniform({kLabels, columns}, 2) - 0.5;
    const Tensor x = taken(uniform({5, d}, 1)).requires_grad_();
    (twin->class_sums(x, labels) * weights).sum().backward();
    EXPECT_GT(x.grad().abs().max().item<double>(), 1e-6);
    const Tensor narrow = x.detach().to(torch::kFloat32).requires_grad_();
    const auto narrow_twin = twin_of(*map, torch::kFloat32);
    (narrow_twin->class_sums(narrow, labels) * weights.to(torch::kFloat32)).sum().backward();
    EXPECT_LT((narrow.grad() - x.grad()).abs().max().item<double>(),
              2e-5 * x.grad().abs().max().item<double>());
    for (std::int64_t i = 0; i < x.numel(); i += 1 + x.numel() / 23) {
      constexpr double kStep = 1e-5;
      const auto shifted = [&](double by) {
        Tensor moved = x.detach().clone();
        moved.view(-1)[i] += by;
        return (twin->class_sums(moved, labels) * weights).sum().item<double>();
      };
      EXPECT_NEAR(x.grad().view(-1)[i].item<double>(), (shifted(kStep) - shifted(-kStep)) / (2 * kStep), 1e-7)
          << i;
    }
  }
}

/// A squared distance of the twin's sums is that of the map's features: of what one record has, the bound at
/// most.
TEST_P(EveryTwin, DistancesAreTheFeatures) {
  for (const auto& map : maps_) {
    const auto twin = twin_of(*map);
    const Tensor x = uniform({1, static_cast<std::int64_t>(map->dims())}, 3);
    const double norm = twin->class_sums(taken(x), torch::zeros({1}, torch::kInt64)).norm().item<double>();
    EXPECT_LE(norm, map->bound().norm + 1e-9);
    EXPECT_GT(norm, 0.01 * map->bound().norm);
  }
}

TEST_P(EveryTwin, NoiseIsWhatItMakesOfTheTarget) {
  for (const auto& map : maps_) {
    const auto twin = twin_of(*map);
    const double scale = map->scale(lattice_), records = 300;
    std::vector<double> sigmas;
    double expected = 0;
    std::size_t number = 0;
    std::vector<std::int64_t> unit(kLabels * map->features());
    for (const features::CoordinateRun& run : map->coordinates(lattice_)) {
      sigmas.push_back(0.3 * run.unit);
      for (std::uint64_t i = 0; i < run.count; ++i, ++number) {
        unit[number] = std::int64_t{1} << 30;
        expected += twin->target(unit, scale, records)[0].square().sum().item<double>() *
                    std::pow(sigmas.back() / 0x1p30, 2);
        unit[number] = 0;
        if (number > 1000) break;  // the others of this run are alike
      }
      if (number > 1000) return;
    }
    EXPECT_NEAR(twin->noise_square(sigmas, scale, records), expected, 1e-6 * expected);
  }
}

TEST_P(EveryTwin, NoRecordsMakeZeroSums) {
  for (const auto& map : maps_) {
    const auto twin = twin_of(*map, torch::kFloat32);
    const Tensor x =
        taken(torch::zeros({0, static_cast<std::int64_t>(map->dims())})).to(torch::kFloat32).requires_grad_();
    const Tensor sums = twin->class_sums(x, torch::zeros({0}, torch::kInt64));
    EXPECT_EQ(sums.sizes(),
              (std::vector<std::int64_t>{kLabels, static_cast<std::int64_t>(twin_columns(*map))}));
    EXPECT_EQ(sums.abs().max().item<double>(), 0.0);
    sums.sum().backward();
  }
}

INSTANTIATE_TEST_SUITE_P(Table, EveryTwin, ::testing::ValuesIn(twin_kinds().begin(), twin_kinds().end()),
                         [](const auto& line) { return test::test_name(std::string(line.param.name)); });

// At the stretch that many orders have, the first function of a number near 0 or 1 is down to 1e-35: still
// one in single precision, from which the others grow, and back to which their gradients do.
TEST(HermiteTwin, SinglePrecisionHoldsToOrder200AtTheEdges) {
  const Tensor weights = uniform({kLabels, 201}, 5) - 0.5;
  for (const char* const length_scale : {"0.02", "0.01", "0.001"}) {
    const auto map = test::make_map("hermite-sum", {{"order", "200"}, {"length_scale", length_scale}},
                                    test::schema_of({1}, kLabels));
    for (std::int64_t i = 0; i <= 16; ++i) {
      const auto sums_and_slope = [&](torch::ScalarType type) {
        const Tensor x = torch::full({1, 1}, static_cast<float>(i) / 16.0f, type).requires_grad_();
        const Tensor sums = make_twin(*map, {kLabels, torch::TensorOptions(type)})
                                ->class_sums(x, torch::zeros({1}, torch::kInt64));
        (sums * weights.to(type)).sum().backward();
        return std::pair{sums.detach().to(torch::kFloat64), x.grad().item<double>()};
      };
      const auto narrow = sums_and_slope(torch::kFloat32), wide = sums_and_slope(torch::kFloat64);
      EXPECT_LT((narrow.first - wide.first).abs().max().item<double>(), 1e-4) << length_scale << " " << i;
      EXPECT_NEAR(narrow.second, wide.second, 1e-2) << length_scale << " " << i;
      if (map->to_json().at("length_scale") != 0.001) {
        EXPECT_NEAR(wide.first.square().sum().item<double>(), 1, 1e-2) << length_scale << " " << i;
      }
    }
  }
}

TEST(TwinTable, AMapWithoutATwinIsNoneToTrainOn) {
  const auto grid = test::make_moments({{"lift", "fourier"}, {"coefficients", "8"}}, test::schema_of({2}));
  EXPECT_EQ(twin_columns(*grid), 0u);
  EXPECT_THROW(make_twin(*grid, {}), InvariantError);
}

}  // namespace
}  // namespace muffle::model
