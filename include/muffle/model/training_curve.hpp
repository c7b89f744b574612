#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <vector>

#include "muffle/core/json_fields.hpp"

namespace muffle::model {

/// How a training went, in some two hundred points of each. Public: post-processing of the release.
struct TrainingCurve {
  struct Point {
    std::uint64_t step = 0;  ///< steps done
    double value = 0;

    bool operator==(const Point&) const = default;
  };
  std::vector<Point> loss;      ///< of a step's own batch
  std::vector<Point> to_proxy;  ///< squared distance of the state to the proxy, or what was held out
                                ///< (TrainSpec::choose_every)

  bool operator==(const TrainingCurve&) const = default;
};

/// {"loss": {"steps": [...], "values": [...]}, "to_proxy": likewise}.
nlohmann::json to_json(const TrainingCurve& curve);
/// @throws ProtocolError  it is none, or its steps do not ascend.
TrainingCurve read_training_curve(const JsonFields& fields);

}  // namespace muffle::model
