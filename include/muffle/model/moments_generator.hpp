#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "muffle/model/moments_model.hpp"

namespace muffle::model {

/// Draws records from a closed-form model. Immutable and thread-safe.
class MomentsGenerator {
 public:
  virtual ~MomentsGenerator() = default;
  /// Records first .. first + labels.size() - 1 of the stream `seed`, with these labels (0 .. C-1).
  /// @param out  labels.size() x d row-major, in [0, 1]: a pure function of the model, the seed and the
  /// records that are drawn in one call (sums over a call's records of one class are formed together).
  virtual void draw(std::uint64_t seed, std::uint64_t first, std::span<const std::int64_t> labels,
                    std::span<float> out) const = 0;
};

/// Affine lifts: u = mean + factor e, x = back(u) = mean record + g, and then each number of the record
/// follows one of two laws, by a coin of the record's own: clip(mean + g, 0, 1) with probability plain_share,
/// and clip(location + scale g / deviation, 0, 1) otherwise, whose mean and variance are those of the
/// Gaussian (model/clipped_normal.hpp). Others: a cell of the grid by its mass, and a uniform place in it.
std::unique_ptr<MomentsGenerator> make_moments_generator(const MomentsModel& model);

}  // namespace muffle::model
