#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "muffle/features/feature_map.hpp"

namespace muffle::features {

/// The capability of a map that is released in rounds by a rule of its own: FeatureMap::steps(). Each round
/// sums a map of the same bound, which follows from the numbers of the rounds before it and from nothing else
/// of the records. Of all classes together. After resolve().
class SteppedFeatures {
 public:
  static constexpr const char* kState = "state";

  virtual std::size_t rounds() const = 0;
  /// The map of the round after these; of none, that of the first. The same bits on every build.
  /// @param means  round by round the noisy sums of features() numbers, divided by the number of records
  virtual std::shared_ptr<const FeatureMap> after(const std::vector<std::vector<double>>& means) const = 0;

  /// What the rounds before have made of it, as bytes, by which parties that hear of it sum records. Public.
  /// to_json() has their SHA-256, in hex, as kState. @throws InvariantError  it was read from there, and they
  /// are not known.
  virtual std::string state() const = 0;
  /// @throws ConfigError  their SHA-256 is another.
  virtual std::shared_ptr<const FeatureMap> with_state(const std::string& bytes) const = 0;

 protected:
  ~SteppedFeatures() = default;
};

}  // namespace muffle::features
