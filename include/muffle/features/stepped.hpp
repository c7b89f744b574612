#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "muffle/features/feature_map.hpp"
#include "muffle/features/principal_axes.hpp"

namespace muffle::features {

/// The capability of a map that is released in rounds by a rule of its own: FeatureMap::steps(). Each round
/// sums a map of the same bound, which follows from the numbers of the rounds before it and from nothing else
/// of the records. Of all classes together. After resolve().
class SteppedFeatures {
 public:
  static constexpr const char* kState = "state";

  virtual std::size_t rounds() const = 0;
  /// Principal axes of the release's noisy second moments that all its rounds go by; 0: they need none.
  virtual std::size_t axes() const { return 0; }
  /// The release's round that is its first: the second, where it needs what the first releases.
  std::size_t first_round() const { return axes() == 0 ? 1 : 2; }

  /// What is known before one of its rounds: noisy, all of it.
  struct Before {
    std::shared_ptr<const PrincipalAxes> axes;  ///< axes() of them; null: it needs none
    /// Of each of its rounds before, the noisy sums of features() numbers, divided by the number of records.
    std::vector<std::vector<double>> means;
  };
  /// The axes that this map goes by, where it knows them: worked out once, they are those of all its rounds.
  virtual std::shared_ptr<const PrincipalAxes> known_axes() const { return nullptr; }
  /// The map of the next round. The same bits on every build.
  virtual std::shared_ptr<const FeatureMap> after(const Before& before) const = 0;

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
