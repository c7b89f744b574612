#include "muffle/model/training_curve.hpp"

namespace muffle::model {
namespace {

using Points = std::vector<TrainingCurve::Point>;

constexpr std::size_t kMostPoints = std::size_t{1} << 20;

nlohmann::json points_json(const Points& points) {
  nlohmann::json steps = nlohmann::json::array(), values = nlohmann::json::array();
  for (const TrainingCurve::Point& point : points) {
    steps.push_back(point.step);
    values.push_back(point.value);
  }
  return {{"steps", std::move(steps)}, {"values", std::move(values)}};
}

Points read_points(const JsonFields& fields) {
  fields.only({"steps", "values"});
  const std::vector<std::size_t> steps = fields.sizes("steps", kMostPoints, 0, UINT32_MAX, true);
  const std::vector<double> values = fields.numbers("values", steps.size());
  Points out;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (i > 0 && steps[i] <= steps[i - 1]) fields.fail("steps", "does not ascend");
    out.push_back({steps[i], values[i]});
  }
  return out;
}

}  // namespace

nlohmann::json to_json(const TrainingCurve& curve) {
  return {{"loss", points_json(curve.loss)}, {"to_proxy", points_json(curve.to_proxy)}};
}

TrainingCurve read_training_curve(const JsonFields& fields) {
  fields.only({"loss", "to_proxy"});
  return {read_points(fields.object("loss")), read_points(fields.object("to_proxy"))};
}

}  // namespace muffle::model
