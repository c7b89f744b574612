#pragma once

#include <cstddef>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "muffle/core/json_fields.hpp"
#include "muffle/core/settings.hpp"
#include "muffle/schema/schema.hpp"

namespace muffle::features {

/// An affine lift u = W (T x - T m0), T with orthonormal rows: T = C x R along an image's width and height,
/// channel by channel, or the identity. Rounded to float32: maths libraries differ in the last digit.
struct AffineLift {
  std::vector<double> origin;   ///< m0: d numbers
  std::vector<double> weights;  ///< W: n numbers, above 0; channel by channel, row frequency by row frequency
  std::vector<double> pitch;    ///< n: 1 + |frequency|; of the identity, 1
  /// k x height, k x width, row-major, rows orthonormal; empty: the identity
  std::vector<double> rows, columns;
  std::size_t channels = 1, height = 1, width = 0, side = 0;  ///< d = channels height width; side: k

  /// What is guessed of any records: T (x - m0) has mean squares that fall as pitch^-kExponent, those of all
  /// d coefficients adding up to kMeanSquare d (docs/explanation/moments.md, "What was chosen by looking").
  static constexpr double kExponent = 2.5, kMeanSquare = 64.0 / 784;
  /// The mean squares of u, by that guess, added up. After Lift::build().
  double energy() const;
  /// x = m0 + T^t W^-1 u, not clipped. @param u  n numbers  @param x  d numbers
  void back(const double* u, double* x) const;
};

/// From a record to the vector u whose second moments are summed (docs/explanation/moments.md). A kind
/// has a file of its own and a line in lift_kinds.inc. Public; after build() immutable and thread-safe.
class Lift {
 public:
  virtual ~Lift() = default;
  virtual std::string_view kind() const = 0;
  virtual std::unique_ptr<Lift> clone() const = 0;

  /// The kind's own keys, beside those of second moments.
  virtual void declare(settings::Keys& keys) = 0;
  /// Are records of this schema lifted by `lift = "auto"`, which takes the first kind of the table that can?
  virtual bool is_natural_for(const schema::Schema&) const { return false; }
  /// As FeatureMap::choose_sizes(). @param offset  c0; 0: left open  @return  c0, still 0 where it stays open
  virtual double choose_sizes(const schema::Schema&, double /*noise*/, double offset) { return offset; }
  virtual std::string outlook(double /*noise*/, double /*offset*/) const { return {}; }  ///< FeatureMap's
  /// As FeatureMap::resolve(): cheap, whatever a hostile description says. @throws ConfigError.
  virtual void resolve(const schema::Schema& schema) = 0;
  /// After resolve(): makes what forward(), affine() and numbers() need.
  virtual void build() {}
  virtual nlohmann::json to_json() const = 0;
  virtual void read_json(const JsonFields& fields) = 0;

  /// d: numbers per record.
  virtual std::size_t dims() const = 0;
  /// n: numbers of u.
  virtual std::size_t coefficients() const = 0;
  /// n again, from the resolved settings, by code of its own (FeatureMap::plain_facts()).
  virtual long double plain_coefficients() const = 0;
  /// c0, the constant beside u, where the settings leave it open.
  virtual double default_offset() const { return 1.0; }
  /// u of one record. For one record always the same bits, whatever is computed beside it.
  /// @param x  d numbers in [0, 1]  @param u  n numbers
  virtual void forward(const float* x, double* u) const = 0;
  /// forward() of several records, the same bits: a lift that gains by taking them together overrides it.
  /// @param u  a row of `stride` >= n numbers for each
  virtual void forward_all(std::span<const float* const> records, double* u, std::size_t stride) const {
    for (std::size_t i = 0; i < records.size(); ++i) forward(records[i], u + i * stride);
  }
  /// Null: not affine, so that there is no way back from u to a record. Known before resolve() too.
  virtual const AffineLift* affine() const { return nullptr; }
  /// Are coefficients sums over many numbers of a record, and so nearly normal?
  virtual bool is_nearly_normal() const { return false; }
  virtual double flops_per_record() const { return 0.0; }
  /// FeatureMap::numbers_in_map(). The default: those of x, of u and c0.
  virtual double numbers_in_map() const { return static_cast<double>(dims() + 1 + coefficients()); }
  /// The numbers that the lift is made of, for FeatureMap::hash().
  virtual std::vector<double> numbers() const = 0;
};

/// One line of the table of lifts.
struct LiftKind {
  std::string_view name;
  std::string_view summary;
  std::unique_ptr<Lift> (*make)();
};

/// The table of all kinds (src/features/lift_kinds.inc).
std::span<const LiftKind> lift_kinds();
/// @throws ConfigError  an unknown name: lists those that there are.
std::unique_ptr<Lift> make_lift(std::string_view kind);
/// The affine ones' names, for messages.
std::string affine_lifts();

/// Second moments z z^T of z = [c0; u] / ||[c0; u]||, u the lifted record: what a map that sums them is made
/// of (docs/explanation/moments.md). Public, resolved.
///
/// phi(x) holds the entries on the diagonal first, then the strict upper triangle row by row: D = q (q + 1) /
/// 2 numbers. Entries beside the diagonal stand for two, so they carry weight sqrt(2) in the norm: ||phi||^2
/// = ||z||^4 <= 1 and <phi, phi'> = (z . z')^2 >= 0, a square of integers, so that the replace-one
/// sensitivity sqrt(2) is a theorem about what is summed, rounding and all.
struct SecondMoments {
  std::shared_ptr<const Lift> lift;  ///< resolved
  double offset = 0.0;               ///< c0 > 0
  int bits = 16;  ///< 8 .. 20: z is held as integers of norm at most 2^bits, its products as 2^(2 bits)

  /// q = 1 + n: numbers of z.
  std::size_t order() const { return 1 + lift->coefficients(); }
  /// What z is multiplied by before it is rounded to the nearest integers: 2^bits - sqrt(q) / 2 - 1, as
  /// rounding moves z by at most sqrt(q) / 2: never beyond 2^bits. Released sums are divided by its square.
  double scale() const { return scale(order(), bits); }
  static double scale(std::size_t order, int bits);

  /// Where z_i z_j lies in one class's D numbers.
  static std::size_t index(std::size_t order, std::size_t i, std::size_t j) {
    if (i == j) return i;
    const std::size_t a = i < j ? i : j, b = i < j ? j : i;
    return order + a * (2 * order - a - 1) / 2 + (b - a - 1);
  }
};

/// The capability of a map that sums second moments: FeatureMap::second_moments().
class SecondMomentFeatures {
 public:
  /// After resolve(): whose lift is built, which can take long, the first time.
  virtual const SecondMoments& moments() const = 0;

 protected:
  ~SecondMomentFeatures() = default;
};

/// Whether z, integers, is finite and has a norm of at most 2^bits, in integers: what is asked of each
/// record, and what the bound rests on. @param bits  at most 20
bool within_norm(std::span<const double> z, int bits);

}  // namespace muffle::features
