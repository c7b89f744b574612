#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "muffle/features/feature_map.hpp"

namespace muffle::features {

enum class FrequencyKind {
  kDense,       ///< omega_j ~ N(0, I / l^2), independent
  kOrthogonal,  ///< blocks of orthogonal rows with chi-distributed norms (Yu et al., NeurIPS 2016)
};

/// Random Fourier features (Rahimi & Recht 2007), as in DP-MERF:
/// phi(x) = sqrt(2/D) [cos(omega_1 . x) ... cos(omega_{D/2} . x); sin(omega_1 . x) ... ], norm exactly 1.
struct RffSpec {
  std::size_t dims = 0;       ///< d: numbers per record
  std::size_t features = 0;   ///< D, even
  double length_scale = 1.0;  ///< l > 0, in units of the scaled record ([0,1] per column)
  FrequencyKind kind = FrequencyKind::kDense;
  std::uint64_t seed = 1;  ///< public
};

/// The frequencies in turns: omega_j / (2 pi), (D/2) x d, row-major float32. A pure function of the spec
/// (Philox and IEEE basic operations only): the same bits on every rank, machine, compiler and library
/// version.
/// @throws ConfigError  D odd or 0, d 0, length-scale not a positive number.
std::vector<float> rff_frequencies(const RffSpec& spec);

/// The kind "rff" of feature maps; its twin for training and its GPU block ask it for the spec.
class RffMap final : public FeatureMap {
 public:
  RffMap() = default;
  explicit RffMap(const RffSpec& spec) : spec_(spec) {}
  const RffSpec& spec() const { return spec_; }

  std::string_view kind() const override { return "rff"; }
  std::unique_ptr<FeatureMap> clone() const override;
  void declare(settings::Keys& keys) override;
  void resolve(const schema::Schema& schema) override;
  nlohmann::json to_json() const override;
  void read_json(const JsonFields& fields) override;
  std::size_t dims() const override { return spec_.dims; }
  std::size_t features() const override { return spec_.features; }
  BlockBound bound() const override;
  std::vector<CoordinateRun> coordinates(const Lattice& lattice) const override;
  PlainFacts plain_facts(const Lattice& lattice) const override;
  double scale(const Lattice& lattice) const override;
  MapCost cost() const override;
  double numbers_in_map() const override;
  std::string hash() const override;
  std::unique_ptr<FeatureMap> shrunk(std::size_t features) const override;
  std::unique_ptr<Block> make_block(const Lattice& lattice) const override;

 private:
  RffSpec spec_;
};

/// The block that sums random Fourier features. Its kernel (matrix product and sine/cosine) is a fixed chain
/// of fused multiply-adds per value, so the lattice sums are bit-identical on every x86-64 machine with FMA,
/// whatever its vector width.
std::unique_ptr<Block> make_rff_block(const RffSpec& spec, const Lattice& lattice);

}  // namespace muffle::features
