#include "sharpen.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace muffle::synth {
namespace {

/// How far the square around a pixel reaches, as a share of the image's shorter side.
constexpr double kReach = 1.0 / 28.0;

/// Sums, least and greatest numbers of runs of 2 reach + 1.
struct Runs {
  std::vector<float> sum, least, greatest;

  explicit Runs(std::size_t n) : sum(n), least(n), greatest(n) {}

  /// Number i of n is that of numbers i, i + step, ..., i + 2 reach step.
  void take(const Runs& from, std::size_t first, std::size_t to, std::size_t n, std::size_t reach,
            std::size_t step) {
    const auto copy = [&](const std::vector<float>& source, std::vector<float>& target) {
      std::copy_n(source.begin() + static_cast<std::ptrdiff_t>(first), n,
                  target.begin() + static_cast<std::ptrdiff_t>(to));
    };
    copy(from.sum, sum);
    copy(from.least, least);
    copy(from.greatest, greatest);
    for (std::size_t k = 1; k <= 2 * reach; ++k) {
      const std::size_t at = first + k * step;
      for (std::size_t i = 0; i < n; ++i) {
        sum[to + i] += from.sum[at + i];
        least[to + i] = std::min(least[to + i], from.least[at + i]);
        greatest[to + i] = std::max(greatest[to + i], from.greatest[at + i]);
      }
    }
  }
};

}  // namespace

void sharpen(std::span<float> x, const schema::Schema& schema, double amount) {
  const std::size_t height = schema.shape[1], width = schema.shape[2];
  const auto side = static_cast<double>(std::min(height, width));
  const auto reach = static_cast<std::size_t>(std::max(1.0, std::round(kReach * side)));
  const std::size_t across = width + 2 * reach, square = (2 * reach + 1) * (2 * reach + 1);
  const float one = 1.0F / static_cast<float>(square), by = static_cast<float>(amount);
  Runs padded((height + 2 * reach) * across), down(height * across), around(height * width);
  for (; !x.empty(); x = x.subspan(height * width)) {
    // Number `at` of a padded row or column of `n` is the image's own, or its nearest one.
    const auto inside = [&](std::size_t at, std::size_t n) {
      return std::min(std::max(at, reach) - reach, n - 1);
    };
    for (std::size_t i = 0; i < height + 2 * reach; ++i) {
      for (std::size_t j = 0; j < across; ++j)
        padded.sum[i * across + j] = x[inside(i, height) * width + inside(j, width)];
    }
    padded.least = padded.greatest = padded.sum;
    down.take(padded, 0, 0, height * across, reach, across);
    for (std::size_t i = 0; i < height; ++i) around.take(down, i * across, i * width, width, reach, 1);
    for (std::size_t p = 0; p < height * width; ++p) {
      const float away = x[p] - one * around.sum[p];
      x[p] = std::clamp(x[p] + by * away, around.least[p], around.greatest[p]);
    }
  }
}

}  // namespace muffle::synth
