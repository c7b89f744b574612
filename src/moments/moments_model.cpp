#include "muffle/moments/moments_model.hpp"

#include <fmt/format.h>

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <limits>

#include "muffle/core/error.hpp"
#include "muffle/core/philox.hpp"
#include "muffle/moments/class_gaussians.hpp"
#include "muffle/moments/clipped_normal.hpp"

namespace muffle::moments {
namespace {

/// F with F F^T = covariance, which may be singular.
Eigen::MatrixXd root(const Eigen::MatrixXd& covariance) {
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(covariance);
  return solver.eigenvectors() * solver.eigenvalues().cwiseMax(0.0).cwiseSqrt().asDiagonal();
}

// Substreams of Stream::kSampleLatent beside kCoinSubstream.
constexpr std::uint32_t kNormals = 0, kPlaces = 2;

void check_labels(std::span<const std::int64_t> labels, std::size_t classes, std::span<float> out,
                  std::size_t dims) {
  require(out.size() == labels.size() * dims,
          "records do not fit the place for them: this is a bug in muffle.");
  for (const std::int64_t label : labels)
    require(label >= 0 && static_cast<std::size_t>(label) < classes,
            "a label is outside the model's classes");
}

class GaussianSampler : public sampling::Sampler {
 public:
  explicit GaussianSampler(const MomentsModel& model)
      : lift_(model.moments.lift), plain_share_(model.plain_share) {
    for (std::size_t c = 0; c < model.mean.size(); ++c) {
      const Eigen::VectorXd& mean = model.mean[c];
      const Eigen::MatrixXd& factor = model.factor[c];
      laws_.push_back({mean, factor.cast<float>(), make_pixel_law(*lift_->affine(), mean, factor)});
    }
  }

  /// Pixels a frequency that is kept, less one.
  double blur() const override {
    const features::AffineLift& lift = *lift_->affine();
    if (lift.rows.empty()) return sampling::Sampler::blur();
    const auto pixels = static_cast<double>(std::max(lift.height, lift.width));
    return std::clamp(pixels / static_cast<double>(lift.side) - 1.0, 0.0, 1.0);
  }

 private:
  void draw_records(std::uint64_t seed, std::uint64_t first, std::span<const std::int64_t> labels,
                    std::span<float> out, std::span<const sampling::Departure> departures) const override {
    check_labels(labels, laws_.size(), out, lift_->dims());
    for (const sampling::Departure& departure : departures) {
      require(departure.other >= 0 && static_cast<std::size_t>(departure.other) < laws_.size(),
              "a record departs to a class that the model does not have");
    }
    for (std::size_t c = 0; c < laws_.size(); ++c) {
      std::vector<std::size_t> rows;
      for (std::size_t i = 0; i < labels.size(); ++i) {
        if (labels[i] == static_cast<std::int64_t>(c)) rows.push_back(i);
      }
      if (!rows.empty()) draw_class(laws_[c], seed, first, rows, out, departures);
    }
  }

  /// What a class's records are made of.
  struct Law {
    Eigen::VectorXd mean;    ///< n
    Eigen::MatrixXf factor;  ///< n x n
    PixelLaw pixels;
  };

  void draw_class(const Law& law, std::uint64_t seed, std::uint64_t first,
                  const std::vector<std::size_t>& rows, std::span<float> out,
                  std::span<const sampling::Departure> departures) const {
    const Eigen::Index n = law.mean.size();
    const std::size_t d = lift_->dims();
    const CounterStream normals(seed, Stream::kSampleLatent, kNormals),
        coins(seed, Stream::kSampleLatent, kCoinSubstream);
    Eigen::MatrixXf e(n, static_cast<Eigen::Index>(rows.size()));
    for (std::size_t r = 0; r < rows.size(); ++r) {
      const std::uint64_t from = (first + rows[r]) * static_cast<std::uint64_t>(n);
      const double factor = departures.empty() ? 1.0 : static_cast<double>(departures[rows[r]].spread);
      for (Eigen::Index j = 0; j < n; ++j)
        e(j, static_cast<Eigen::Index>(r)) =
            static_cast<float>(factor * normals.normal(from + static_cast<std::uint64_t>(j)));
    }
    const Eigen::MatrixXf around = law.factor * e;
    std::vector<double> x(d);
    for (std::size_t r = 0; r < rows.size(); ++r) {
      Eigen::VectorXd u = law.mean + around.col(static_cast<Eigen::Index>(r)).cast<double>();
      const sampling::Departure departure = departures.empty() ? sampling::Departure{} : departures[rows[r]];
      if (departure.toward > 0) {
        const Law& other = laws_[static_cast<std::size_t>(departure.other)];
        u += static_cast<double>(departure.toward) * (other.mean - law.mean);
      }
      lift_->affine()->back(u.data(), x.data());
      float* const record = out.data() + rows[r] * d;
      const bool plain = coins.uniform(first + rows[r]) < plain_share_;
      for (std::size_t i = 0; i < d; ++i) {
        const double value =
            plain ? x[i] : law.pixels.location[i] + law.pixels.stretch[i] * (x[i] - law.pixels.centre[i]);
        record[i] = static_cast<float>(std::clamp(value, 0.0, 1.0));
      }
    }
  }

  std::shared_ptr<const features::Lift> lift_;
  double plain_share_;
  std::vector<Law> laws_;
};

class GridSampler : public sampling::Sampler {
 public:
  explicit GridSampler(const GridDensity& grid) : dims_(grid.dims), side_(grid.side) {
    for (const std::vector<double>& mass : grid.mass) {
      std::vector<double>& bounds = bounds_.emplace_back(mass.size());
      double sum = 0;
      for (std::size_t g = 0; g < mass.size(); ++g) bounds[g] = sum += mass[g];
      for (double& bound : bounds) bound /= sum;
    }
  }

  void draw_records(std::uint64_t seed, std::uint64_t first, std::span<const std::int64_t> labels,
                    std::span<float> out, std::span<const sampling::Departure>) const override {
    check_labels(labels, bounds_.size(), out, dims_);
    const CounterStream places(seed, Stream::kSampleLatent, kPlaces);
    for (std::size_t i = 0; i < labels.size(); ++i) {
      const std::vector<double>& bounds = bounds_[static_cast<std::size_t>(labels[i])];
      const std::uint64_t from = (first + i) * (dims_ + 1);
      const auto at = std::upper_bound(bounds.begin(), bounds.end() - 1, places.uniform(from));
      auto cell = static_cast<std::size_t>(at - bounds.begin());
      for (std::size_t j = dims_; j-- > 0; cell /= side_) {
        const double inside = places.uniform(from + 1 + j);
        out[i * dims_ + j] =
            static_cast<float>((static_cast<double>(cell % side_) + inside) / static_cast<double>(side_));
      }
    }
  }

 private:
  std::size_t dims_, side_;
  std::vector<std::vector<double>> bounds_;  ///< C of side^d: cumulative masses, the last 1
};

}  // namespace

const features::SecondMoments* moments_of(const std::vector<features::NamedMap>& maps) {
  for (const features::NamedMap& map : maps) {
    if (map.role == features::MapRole::kMatch && map.map->second_moments())
      return &map.map->second_moments()->moments();
  }
  return nullptr;
}

void check_model_size(const features::SecondMoments& moments, std::size_t classes,
                      settings::Problems& problems) {
  const auto n = static_cast<double>(moments.order() - 1);
  problems.unless(
      static_cast<double>(classes) * (n + n * n) * sizeof(double) <=
          static_cast<double>(sampling::kMostModelBytes),
      fmt::format("the coefficients of the second moments and data.classes make a closed form that is larger "
                  "than a model file, {} MB: use fewer coefficients",
                  sampling::kMostModelBytes / 1'000'000));
}

MomentsModel fit_moments_model(const release::NoisyMoments& moments, double plain_share,
                               const Heartbeat& heartbeat) {
  MomentsModel model;
  model.plain_share = plain_share;
  model.moments = moments.moments;
  if (moments.moments.lift->affine() == nullptr) {
    model.grid = fit_grid_density(moments, heartbeat);
    return model;
  }
  settings::Problems problems;
  check_model_size(moments.moments, moments.classes, problems);
  if (!problems.empty()) throw ConfigError(problems.take().front() + ".");
  ClassGaussians laws = fit_class_gaussians(moments, heartbeat);
  model.mean = std::move(laws.mean);
  for (const Eigen::MatrixXd& covariance : laws.covariance) {
    beat(heartbeat);
    model.factor.push_back(root(covariance));
  }
  return model;
}

PixelLaw make_pixel_law(const features::AffineLift& lift, const Eigen::VectorXd& mean,
                        const Eigen::MatrixXd& factor) {
  const std::size_t d = lift.origin.size();
  PixelLaw law{std::vector<double>(d), std::vector<double>(d), std::vector<double>(d)};
  lift.back(mean.data(), law.centre.data());
  const bool image = !lift.rows.empty();
  std::vector<double> variance(d), x(d);
  for (Eigen::Index j = 0; j < factor.cols(); ++j) {
    const Eigen::VectorXd u = mean + factor.col(j);
    lift.back(u.data(), x.data());
    for (std::size_t i = 0; i < d; ++i) variance[i] += (x[i] - law.centre[i]) * (x[i] - law.centre[i]);
  }
  for (std::size_t i = 0; i < d; ++i) {
    const double most_scale =
        image ? kMostStretch * std::sqrt(variance[i]) : std::numeric_limits<double>::infinity();
    const ClippedNormal fitted = fit_clipped_normal({law.centre[i], variance[i]}, most_scale);
    law.location[i] = fitted.location;
    // A number that never varies has no g to stretch.
    law.stretch[i] = variance[i] > 0 ? fitted.scale / std::sqrt(variance[i]) : 0.0;
  }
  return law;
}

std::unique_ptr<sampling::Sampler> make_sampler(const MomentsModel& model) {
  if (model.grid) return std::make_unique<GridSampler>(*model.grid);
  return std::make_unique<GaussianSampler>(model);
}

}  // namespace muffle::moments
