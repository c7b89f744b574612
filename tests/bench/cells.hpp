#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "muffle/core/philox.hpp"
#include "muffle/data/source.hpp"
#include "muffle/model/class_gaussians.hpp"
#include "muffle/release/noisy_moments.hpp"
#include "support/maps.hpp"

// Classes as mixtures over cells that no record has a say in, for measurements (docs/explanation/moments.md).
namespace muffle::bench {

/// The images with (class, cell) for a label, class * cells + cell. An image's cell is the direction, of so
/// many random ones, that its lift u = W (T x - T m0) goes along most: public, a function of this image
/// alone, so that the sensitivity stays what it was.
inline data::Batch in_cells(data::Batch images, const schema::Schema& schema, std::size_t cells,
                            std::size_t side) {
  const auto made = test::make_lift("image", {{"coefficients", std::to_string(side)}}, schema);
  const features::Lift& lift = *made;
  const auto n = static_cast<Eigen::Index>(lift.coefficients());
  Eigen::MatrixXd directions(static_cast<Eigen::Index>(cells), n);
  const CounterStream random(1, Stream::kTest, 2000);
  for (Eigen::Index i = 0; i < directions.size(); ++i)
    directions.data()[i] = random.normal(static_cast<std::uint64_t>(i));
  Eigen::VectorXd u(n);
  for (std::size_t i = 0; i < images.n; ++i) {
    lift.forward(images.x.data() + i * lift.dims(), u.data());
    Eigen::Index cell = 0;
    (directions * u).maxCoeff(&cell);
    images.y[i] = images.y[i] * static_cast<std::int32_t>(cells) + static_cast<std::int32_t>(cell);
  }
  return images;
}

/// Shares of (class, cell): the classes alike, a class's cells by their noisy counts, which are the traces. A
/// cell that the noise hides has none, since it has no law of its own either.
inline std::vector<double> cell_shares(const release::NoisyMoments& moments, std::size_t cells) {
  const std::vector<double> weight = model::conditional_moments(moments).weight;
  const double class_share = static_cast<double>(cells) / static_cast<double>(moments.classes);
  std::vector<double> shares;
  for (std::size_t c = 0; c < moments.classes; ++c) {
    double trace = 0;
    for (std::size_t i = 0; i < moments.order; ++i) trace += moments.of_class(c)[i * (moments.order + 1)];
    shares.push_back(weight[c] > 0 ? std::max(0.0, trace) : 0.0);
  }
  for (auto first = shares.begin(); first != shares.end(); first += static_cast<std::ptrdiff_t>(cells)) {
    const auto end = first + static_cast<std::ptrdiff_t>(cells);
    double all = 0;
    for (auto s = first; s != end; ++s) all += *s;
    for (auto s = first; s != end; ++s)
      *s = class_share * (all > 0 ? *s / all : 1 / static_cast<double>(cells));
  }
  return shares;
}

/// The least and the largest share, over the classes, of a class's records that its largest cell has.
inline std::pair<double, double> largest_cells(const data::Batch& labelled, std::size_t classes,
                                               std::size_t cells) {
  std::vector<double> count(classes * cells);
  for (std::size_t i = 0; i < labelled.n; ++i) ++count[static_cast<std::size_t>(labelled.y[i])];
  double least = 1, most = 0;
  for (std::size_t c = 0; c < classes; ++c) {
    double largest = 0, all = 0;
    for (std::size_t k = 0; k < cells; ++k) {
      largest = std::max(largest, count[c * cells + k]);
      all += count[c * cells + k];
    }
    least = std::min(least, largest / all);
    most = std::max(most, largest / all);
  }
  return {least, most};
}

}  // namespace muffle::bench
