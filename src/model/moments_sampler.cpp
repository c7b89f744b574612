
#include <algorithm>
#include <cmath>
#include <vector>

#include "muffle/core/error.hpp"
#include "muffle/core/philox.hpp"
#include "muffle/model/moments_model.hpp"
#include "pixel_law.hpp"

namespace muffle::model {
namespace {

// Substreams of Stream::kSampleLatent.
constexpr std::uint32_t kNormals = 0, kCoins = kCoinSubstream, kPlaces = 2;

void check_labels(std::span<const std::int64_t> labels, std::size_t classes, std::span<float> out,
                  std::size_t dims) {
  require(out.size() == labels.size() * dims,
          "records do not fit the place for them: this is a bug in muffle.");
  for (const std::int64_t label : labels)
    require(label >= 0 && static_cast<std::size_t>(label) < classes,
            "a label is outside the model's classes");
}

class GaussianSampler : public Sampler {
 public:
  explicit GaussianSampler(const MomentsModel& model)
      : lift_(model.moments.lift), plain_share_(model.plain_share) {
    for (std::size_t c = 0; c < model.mean.size(); ++c) add_class(model.mean[c], model.factor[c]);
  }

  void draw(std::uint64_t seed, std::uint64_t first, std::span<const std::int64_t> labels,
            std::span<float> out) const override {
    check_labels(labels, laws_.size(), out, lift_->dims());
    for (std::size_t c = 0; c < laws_.size(); ++c) {
      std::vector<std::size_t> rows;
      for (std::size_t i = 0; i < labels.size(); ++i) {
        if (labels[i] == static_cast<std::int64_t>(c)) rows.push_back(i);
      }
      if (!rows.empty()) draw_class(laws_[c], seed, first, rows, out);
    }
  }

 private:
  /// What a class's records are made of.
  struct Law {
    Eigen::VectorXd mean;    ///< n
    Eigen::MatrixXf factor;  ///< n x n
    PixelLaw pixels;
  };

  void add_class(const Eigen::VectorXd& mean, const Eigen::MatrixXd& factor) {
    laws_.push_back({mean, factor.cast<float>(), make_pixel_law(*lift_->affine(), mean, factor)});
  }

  void draw_class(const Law& law, std::uint64_t seed, std::uint64_t first,
                  const std::vector<std::size_t>& rows, std::span<float> out) const {
    const Eigen::Index n = law.mean.size();
    const std::size_t d = lift_->dims();
    const CounterStream normals(seed, Stream::kSampleLatent, kNormals),
        coins(seed, Stream::kSampleLatent, kCoins);
    Eigen::MatrixXf e(n, static_cast<Eigen::Index>(rows.size()));
    for (std::size_t r = 0; r < rows.size(); ++r) {
      const std::uint64_t from = (first + rows[r]) * static_cast<std::uint64_t>(n);
      for (Eigen::Index j = 0; j < n; ++j)
        e(j, static_cast<Eigen::Index>(r)) =
            static_cast<float>(normals.normal(from + static_cast<std::uint64_t>(j)));
    }
    const Eigen::MatrixXf around = law.factor * e;
    std::vector<double> x(d);
    for (std::size_t r = 0; r < rows.size(); ++r) {
      const Eigen::VectorXd u = law.mean + around.col(static_cast<Eigen::Index>(r)).cast<double>();
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

class GridSampler : public Sampler {
 public:
  explicit GridSampler(const GridDensity& grid) : dims_(grid.dims), side_(grid.side) {
    for (const std::vector<double>& mass : grid.mass) {
      std::vector<double>& bounds = bounds_.emplace_back(mass.size());
      double sum = 0;
      for (std::size_t g = 0; g < mass.size(); ++g) bounds[g] = sum += mass[g];
      for (double& bound : bounds) bound /= sum;
    }
  }

  void draw(std::uint64_t seed, std::uint64_t first, std::span<const std::int64_t> labels,
            std::span<float> out) const override {
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

std::unique_ptr<Sampler> make_sampler(const MomentsModel& model) {
  if (model.grid) return std::make_unique<GridSampler>(*model.grid);
  return std::make_unique<GaussianSampler>(model);
}

}  // namespace muffle::model
