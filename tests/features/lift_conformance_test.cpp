// What every lift of second moments must do, whatever its kind: run over the table.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "features/features_fixture.hpp"
#include "features/lies.hpp"
#include "support/maps.hpp"

namespace muffle::features {
namespace {

struct LiftCase {
  std::string name, kind;
  test::MapKeys settings;
  std::vector<std::size_t> shape;
};
void PrintTo(const LiftCase& c, std::ostream* out) { *out << c.name; }

std::vector<LiftCase> cases() {
  std::vector<LiftCase> all{
      {"image", "image", {{"coefficients", "4"}}, {3, 8, 6}},
      {"image_whole", "image", {{"coefficients", "6"}, {"blob_radius", "2.5"}}, {1, 6, 6}},
      {"image_of_one_pixel", "image", {}, {1, 1, 1}},
      {"vector", "vector", {}, {5}},
      {"fourier", "fourier", {{"coefficients", "32"}, {"length_scale", "0.2"}}, {2}},
      {"hermite", "hermite", {{"coefficients", "6"}, {"length_scale", "0.25"}}, {3}},
  };
  for (const LiftKind& kind : lift_kinds()) {
    const std::string name(kind.name);
    const auto make = [&](const schema::Schema& schema) { test::make_lift(name, {}, schema); };
    if (std::none_of(all.begin(), all.end(), [&](const LiftCase& c) { return c.kind == name; }))
      all.push_back({test::test_name(name) + "_by_default", name, {}, test::shape_for(make)});
  }
  return all;
}

class LiftConformance : public ::testing::TestWithParam<LiftCase> {
 protected:
  std::unique_ptr<Lift> make(const test::MapKeys& settings) const {
    return test::make_lift(GetParam().kind, settings, schema_);
  }
  std::vector<double> u_of(const float* x) const {
    std::vector<double> u(lift_->coefficients(), std::nan(""));
    lift_->forward(x, u.data());
    return u;
  }

  const schema::Schema schema_ = test::schema_of(GetParam().shape);
  const std::unique_ptr<const Lift> lift_ = make(GetParam().settings);
};

TEST_P(LiftConformance, SaysHowMuchItIs) {
  EXPECT_EQ(lift_->kind(), GetParam().kind);
  EXPECT_EQ(lift_->dims(), schema_.dims());
  EXPECT_GT(lift_->coefficients(), 0u);
  EXPECT_EQ(static_cast<long double>(lift_->coefficients()), lift_->plain_coefficients());
  EXPECT_GT(lift_->default_offset(), 0.0);
  EXPECT_GE(lift_->flops_per_record(), 0.0);
  EXPECT_GT(lift_->numbers_in_map(), 0.0);
  EXPECT_FALSE(lift_->numbers().empty());
  for (const double number : lift_->numbers()) EXPECT_TRUE(std::isfinite(number));
}

TEST_P(LiftConformance, IsFiniteAndTheSameForTheSameRecord) {
  const Records records(8, lift_->dims(), 1);
  for (std::size_t i = 0; i < records.n; ++i) {
    std::vector<float> x = records.record(i);
    if (i % 2 == 0) std::transform(x.begin(), x.end(), x.begin(), roundf);
    const std::vector<double> u = u_of(x.data());
    for (const double v : u) EXPECT_TRUE(std::isfinite(v));
    EXPECT_EQ(u_of(x.data()), u);
    const std::unique_ptr<Lift> clone = lift_->clone();
    clone->build();
    std::vector<double> cloned(u.size());
    clone->forward(x.data(), cloned.data());
    EXPECT_EQ(cloned, u);
  }
}

TEST_P(LiftConformance, SeveralRecordsAreLiftedAsOneIs) {
  constexpr std::size_t kRecords = 7, kBetween = 3;
  const Records records(kRecords, lift_->dims(), 1);
  const std::size_t n = lift_->coefficients(), stride = n + kBetween;
  std::vector<const float*> pointers;
  for (std::size_t i = 0; i < kRecords; ++i) pointers.push_back(records.row(i));
  std::vector<double> u(kRecords * stride, -7.0), expected = u;
  for (std::size_t i = 0; i < kRecords; ++i) lift_->forward(records.row(i), expected.data() + i * stride);
  lift_->forward_all(pointers, u.data(), stride);
  EXPECT_EQ(u, expected) << "to the last bit, and nothing between the rows";
}

TEST_P(LiftConformance, AffineLiftsComeBack) {
  const AffineLift* const affine = lift_->affine();
  if (affine == nullptr) return;
  const CounterStream stream(4, Stream::kTest);
  std::vector<double> u(lift_->coefficients()), x(lift_->dims());
  for (std::size_t i = 0; i < u.size(); ++i) u[i] = stream.normal(i);
  affine->back(u.data(), x.data());
  const std::vector<float> record(x.begin(), x.end());
  const std::vector<double> again = u_of(record.data());
  for (std::size_t i = 0; i < u.size(); ++i) EXPECT_NEAR(again[i], u[i], 1e-5) << i;
  // Nothing of u: the origin. All coefficients: every record comes back.
  std::fill(u.begin(), u.end(), 0.0);
  affine->back(u.data(), x.data());
  EXPECT_EQ(x, affine->origin);
  if (u.size() < x.size()) return;
  const Records any(1, lift_->dims(), 1);
  affine->back(u_of(any.x.data()).data(), x.data());
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(x[i], any.x[i], 1e-6) << i;
}

TEST_P(LiftConformance, GoesThroughAHeaderAndBackAndRefusesLies) {
  const JsonDocument document{"x.mfl", "a release", ""};
  const auto read = [&](const nlohmann::json& json) {
    std::unique_ptr<Lift> lift = make_lift(GetParam().kind);
    lift->read_json(JsonFields(json, document));
    lift->resolve(schema_);
    return lift;
  };
  const std::unique_ptr<Lift> back = read(nlohmann::json::parse(lift_->to_json().dump()));
  back->build();
  EXPECT_EQ(back->to_json(), lift_->to_json());
  EXPECT_EQ(back->numbers(), lift_->numbers());
  test::refuses_lies(lift_->to_json(), read);
}

TEST_P(LiftConformance, EveryKeyRefusesNonsenseAndChangesTheMapsHash) {
  const std::unique_ptr<Lift> lift = make(GetParam().settings);
  test::refuses_nonsense(*lift);
  const auto hash_with = [&](const std::string& key, const std::string& value) {
    test::MapKeys settings{{"lift", GetParam().kind}};
    settings.insert(settings.end(), GetParam().settings.begin(), GetParam().settings.end());
    if (!key.empty()) settings.emplace_back(key, value);
    return test::make_moments(settings, schema_)->hash();
  };
  const std::string mine = hash_with("", "");
  EXPECT_NE(hash_with("offset", "3.25"), mine);
  for (const settings::Key& key : test::keys_of(*lift)) {
    const std::string leaf = key.name.substr(key.name.rfind('.') + 1);
    int changed = 0;
    for (const char* value : {"2", "8", "0.25", "0.75"}) {
      try {
        changed += hash_with(leaf, value) != mine;
      } catch (const std::exception&) {  // the key refuses the value, or the records do
      }
    }
    if (leaf == "fewest_coefficients") {
      EXPECT_EQ(changed, 0) << "for the choice of the others alone";
    } else if (lift_->dims() > 1) {
      EXPECT_GT(changed, 0) << key.name;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Table, LiftConformance, ::testing::ValuesIn(cases()),
                         [](const auto& c) { return c.param.name; });

}  // namespace
}  // namespace muffle::features
