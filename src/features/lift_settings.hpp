#pragma once

#include <fmt/format.h>

#include <cmath>
#include <functional>
#include <initializer_list>
#include <memory>
#include <string>
#include <vector>

#include "muffle/features/lift.hpp"

// What the kinds of lifts share when they check their settings, and maps that are made of one.
namespace muffle::features {

/// Bounds on what a release may hold, far beyond what noise leaves readable: D stays below 2^25 a class.
inline constexpr std::size_t kMaxOrder = std::size_t{1} << 13;
inline constexpr std::size_t kMaxLiftDims = std::size_t{1} << 24;
inline constexpr std::size_t kMaxLiftFrequencies = std::size_t{1} << 28;

/// Collects what is wrong with second moments; done() throws it.
class LiftProblems : public settings::Problems {
 public:
  void within(const char* what, double v, double low, double high) { unless_in({low, high}, what, v); }
  void coefficients(std::size_t n) {
    unless(n < kMaxOrder,
           fmt::format("more than {} numbers would be squared: use fewer coefficients", kMaxOrder - 1));
  }
  /// Numbers of a record.
  std::size_t dims_of(const schema::Schema& schema) {
    std::size_t dims = 1;
    for (const std::size_t n : schema.shape)
      dims = n == 0 || n > kMaxLiftDims / dims ? kMaxLiftDims + 1 : dims * n;
    unless(dims <= kMaxLiftDims, fmt::format("a record must have 1 to {} numbers", kMaxLiftDims));
    return dims;
  }
  void done() { throw_if_any("second moments cannot be made"); }
};

/// c0 of lifts whose u is as long as a record: 8 at 28 x 28. Its square is what AffineLift::kMeanSquare
/// guesses of x - m0.
inline double default_offset_of(std::size_t dims) {
  return 8.0 * std::sqrt(static_cast<double>(dims) / 784.0);
}

/// The sum of (1 + |frequency|)^-exponent over an image's frequencies; those beyond 256 add little.
double law_over_frequencies(std::size_t height, std::size_t width, double exponent);

/// What the settings of a map say of its lift, until the records' schema decides.
inline constexpr const char* kLiftLeftOpen = "auto";
/// Which lifts a map can be made of.
enum class LiftsOf { kAll, kAffine };
/// The key `lift`, which sets `name` and `lift` (null: left open). Both outlive `keys`.
void declare_lift(settings::Keys& keys, LiftsOf which, std::string help, std::string& name,
                  std::unique_ptr<Lift>& lift);
/// The keys of each of them: FeatureMap::tell_further_keys().
void tell_lift_keys(LiftsOf which,
                    const std::function<void(const std::string&, const std::vector<settings::Key>&)>& tell);
/// What a release says of its lift, by the fields `lift` and `lift_settings`. @throws ProtocolError  no such
/// lift
std::unique_ptr<Lift> read_lift(const JsonFields& fields);
/// The first one that is natural for such records; null: none is.
std::unique_ptr<Lift> natural_lift(LiftsOf which, const schema::Schema& schema);

inline std::vector<double> joined(std::initializer_list<std::vector<double>> parts) {
  std::vector<double> all;
  for (const auto& part : parts) all.insert(all.end(), part.begin(), part.end());
  return all;
}

}  // namespace muffle::features
