#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "muffle/features/feature_map.hpp"

namespace muffle::features {

/// The Hermite functions of the Gaussian kernel of length-scale l (docs/math.md, "feature maps"), by their
/// recursion: psi_0(t) = height exp(-fall t^2),  psi_k(t) = up_k t psi_{k-1}(t) - back_k psi_{k-2}(t). Stable
/// for |t| <= 1/2 and k <= 200: every function stays below 1, and errors grow no faster than the functions
/// turn.
struct HermiteRecursion {
  double height = 1.0, fall = 0.0;
  std::vector<double> up, back;  ///< by order; those of order 0 are not used

  std::size_t count() const { return up.size(); }
  double first(double t) const { return height * std::exp(-fall * t * t); }
};

/// The kind "hermite-sum" of feature maps; its twin for training asks it for the recursion. Features order by
/// order: psi_k of all d numbers, then psi_{k+1} of them.
class HermiteSumMap final : public FeatureMap {
 public:
  HermiteRecursion recursion() const;

  std::string_view kind() const override { return "hermite-sum"; }
  std::unique_ptr<FeatureMap> clone() const override;
  void declare(settings::Keys& keys) override;
  void resolve(const schema::Schema& schema) override;
  nlohmann::json to_json() const override;
  void read_json(const JsonFields& fields) override;
  std::size_t dims() const override { return dims_; }
  std::size_t features() const override { return dims_ * static_cast<std::size_t>(order_ + 1); }
  BlockBound bound() const override;
  std::vector<CoordinateRun> coordinates(const Lattice& lattice) const override;
  PlainFacts plain_facts(const Lattice& lattice) const override;
  double scale(const Lattice& lattice) const override;
  MapCost cost() const override;
  double numbers_in_map() const override;
  std::string hash() const override;
  std::unique_ptr<Block> make_block(const Lattice& lattice) const override;

 private:
  std::uint64_t order_ = 20;   ///< C
  double length_scale_ = 0.1;  ///< l
  std::size_t dims_ = 0;
};

}  // namespace muffle::features
