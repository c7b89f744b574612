#include <fmt/format.h>

#include <Eigen/Core>
#include <cmath>

#include "muffle/core/error.hpp"
#include "muffle/moments/moments_model.hpp"

namespace muffle::moments {
namespace {

using Eigen::MatrixXf;
using Rows = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

constexpr double kMostCells = 2048;
/// A public constant, whatever the release.
constexpr int kSteps = 200;
/// A trace that is not this many standard deviations of its noise above 0 is hidden by it.
constexpr double kLeastSignal = 4.0;

/// cells x q: z in the middle of each cell.
Rows lifted_cells(const features::SecondMoments& moments, std::size_t side) {
  const std::size_t dims = moments.lift->dims(), q = moments.order();
  const auto cells =
      static_cast<std::size_t>(std::pow(static_cast<double>(side), static_cast<double>(dims)) + 0.5);
  Rows z(static_cast<Eigen::Index>(cells), static_cast<Eigen::Index>(q));
  std::vector<float> x(dims);
  for (std::size_t g = 0; g < cells; ++g) {
    std::size_t rest = g;
    for (std::size_t j = dims; j-- > 0; rest /= side)
      x[j] = (static_cast<float>(rest % side) + 0.5f) / static_cast<float>(side);
    double* const row = z.data() + g * q;
    row[0] = moments.offset;
    moments.lift->forward(x.data(), row + 1);
  }
  z.rowwise().normalize();
  return z;
}

/// Sums of the classes, each divided by its number of records. A hidden class has those of all, and should
/// noise hide all of them, those of records that lie anywhere. @param z  lifted_cells()
std::vector<Rows> class_moments(const release::NoisyMoments& moments, const Rows& z) {
  const auto q = static_cast<Eigen::Index>(moments.order);
  const double noise = kLeastSignal * moments.noise_diagonal * std::sqrt(static_cast<double>(q));
  Rows all = Rows::Zero(q, q);
  std::vector<Rows> out;
  for (std::size_t c = 0; c < moments.classes; ++c) {
    out.emplace_back(Eigen::Map<const Rows>(moments.of_class(c).data(), q, q));
    all += out.back();
  }
  if (!(all.trace() > noise * std::sqrt(static_cast<double>(moments.classes)))) all = z.transpose() * z;
  for (Rows& own : out) {
    if (!(own.trace() > noise)) own = all;
    own /= own.trace();
  }
  return out;
}

float largest_eigenvalue(const MatrixXf& kernel) {
  Eigen::VectorXf v = Eigen::VectorXf::Ones(kernel.rows()).normalized();
  float value = 1;
  for (int i = 0; i < 20; ++i) {
    v = kernel * v;
    value = v.norm();
    v /= value;
  }
  return 1.01f * value;
}

/// p >= 0 that minimises p^T kernel p - 2 p^T target, column by column (Beck and Teboulle's FISTA).
MatrixXf nonnegative_fit(const MatrixXf& kernel, const MatrixXf& target, const Heartbeat& heartbeat) {
  const float step = 1.0f / largest_eigenvalue(kernel);
  MatrixXf p = MatrixXf::Constant(target.rows(), target.cols(), 1.0f / static_cast<float>(target.rows()));
  MatrixXf ahead = p;
  float momentum = 1;
  for (int i = 0; i < kSteps; ++i) {
    beat(heartbeat);
    const MatrixXf next = (ahead - step * (kernel * ahead - target)).cwiseMax(0.0f);
    const float grown = (1 + std::sqrt(1 + 4 * momentum * momentum)) / 2;
    ahead = next + (momentum - 1) / grown * (next - p);
    p = next;
    momentum = grown;
  }
  return p;
}

}  // namespace

std::size_t grid_side(std::size_t dims) {
  if (dims == 0 || dims > kMaxGridDims) {
    throw ConfigError(
        fmt::format("a density on a grid can be had of records of 1 to {} numbers, not of {}: release the "
                    "moments of another lift ({}), whose records are drawn without a grid",
                    kMaxGridDims, dims, features::affine_lifts()));
  }
  return static_cast<std::size_t>(std::floor(std::pow(kMostCells, 1.0 / static_cast<double>(dims)) + 1e-9));
}

GridDensity fit_grid_density(const release::NoisyMoments& moments, const Heartbeat& heartbeat) {
  GridDensity out;
  out.dims = moments.moments.lift->dims();
  out.side = grid_side(out.dims);
  const Rows z = lifted_cells(moments.moments, out.side);
  const MatrixXf kernel = (z * z.transpose()).array().square().matrix().cast<float>();
  MatrixXf target(z.rows(), static_cast<Eigen::Index>(moments.classes));
  const std::vector<Rows> own = class_moments(moments, z);
  for (std::size_t c = 0; c < moments.classes; ++c)
    target.col(static_cast<Eigen::Index>(c)) = (z * own[c]).cwiseProduct(z).rowwise().sum().cast<float>();
  const MatrixXf p = nonnegative_fit(kernel, target, heartbeat);
  for (Eigen::Index c = 0; c < p.cols(); ++c) {
    const Eigen::VectorXd column = p.col(c).cast<double>();
    const double sum = column.sum();
    std::vector<double>& mass =
        out.mass.emplace_back(column.size(), 1.0 / static_cast<double>(column.size()));
    for (Eigen::Index g = 0; sum > 0 && g < column.size(); ++g)
      mass[static_cast<std::size_t>(g)] = column(g) / sum;
  }
  return out;
}

}  // namespace muffle::moments
