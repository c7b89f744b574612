#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "muffle/core/error.hpp"

namespace muffle::model {
class Generator;
}  // namespace muffle::model

namespace muffle::sampling {

/// Longest payload of model.mfl that its readers accept, less a megabyte for the header.
inline constexpr std::uint64_t kMostModelBytes = (std::uint64_t{1} << 32) - (std::uint64_t{1} << 20);

/// Labels for samples first..first+n-1 out of `total`. Stratified: class shares are met as closely as
/// whole numbers allow, over the `total` samples; otherwise drawn independently.
std::vector<std::int64_t> draw_labels(std::uint64_t seed, bool training, std::uint32_t substream,
                                      std::uint64_t first, std::size_t n, std::uint64_t total,
                                      const std::vector<double>& class_share, bool stratified);

/// How a record differs from what its class's law makes of its normal numbers; as it is here: not at all.
/// Laws that are made of no normal numbers take no notice.
struct Departure {
  float spread = 1.0F;     ///< what the normal numbers are multiplied by
  float toward = 0.0F;     ///< the share of the way, below 1, to the other class
  std::int64_t other = 0;  ///< a class, 0 .. C-1; of no effect where toward is 0
};

/// Draws records from a trained network or a closed form. Immutable and thread-safe.
class Sampler {
 public:
  virtual ~Sampler() = default;
  /// Records first .. first + labels.size() - 1 of the stream `seed`, with these labels (0 .. C-1): a pure
  /// function of the model, the seed and the records that are drawn in one call (products run over a call's
  /// records together).
  /// @param out  labels.size() x d row-major, in [0, 1] up to rounding
  /// @param departures  of each record; empty: none
  void draw(std::uint64_t seed, std::uint64_t first, std::span<const std::int64_t> labels,
            std::span<float> out, std::span<const Departure> departures = {}) const {
    require(departures.empty() || departures.size() == labels.size(), "records do not fit their departures");
    draw_records(seed, first, labels, out, departures);
  }
  /// Of images: how blurred what it draws is, from 0 (all of the pixels' frequencies are in it) to 1 (at most
  /// half of them along an axis, or it does not know). Finishing sharpens in proportion.
  virtual double blur() const { return 1.0; }
  /// Of a table whose schema has rows of a person counted: shares of the people who have 1, 2, .. rows.
  /// Empty: it does not know.
  virtual std::vector<double> people_by_rows() const { return {}; }
  /// The network that it draws from; null: a closed form.
  virtual const model::Generator* generator() const { return nullptr; }

 private:
  virtual void draw_records(std::uint64_t seed, std::uint64_t first, std::span<const std::int64_t> labels,
                            std::span<float> out, std::span<const Departure> departures) const = 0;
};

}  // namespace muffle::sampling
