// u = sqrt(2/n) [cos(omega_j . x); sin(omega_j . x)], j = 1 .. n/2, random frequencies: norm 1.
#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>

#include "lift_settings.hpp"
#include "muffle/features/rff.hpp"

namespace muffle::features {
namespace {

class FourierLift final : public Lift {
 public:
  std::string_view kind() const override { return "fourier"; }
  std::unique_ptr<Lift> clone() const override { return std::make_unique<FourierLift>(*this); }

  void declare(settings::Keys& keys) override {
    keys.count("coefficients", n_, 0, kMaxOrder, "n, how many random features, even; 0: 128");
    keys.number("length_scale", length_scale_, {1e-6, 1e6},
                "l, public, in units of records scaled to [0, 1]");
    keys.count("seed", seed_, 0, INT64_MAX, "public seed of the frequencies");
  }

  void resolve(const schema::Schema& schema) override {
    LiftProblems problems;
    dims_ = problems.dims_of(schema);
    problems.done();
    if (n_ == 0) n_ = 128;
    problems.unless(
        n_ % 2 == 0 && n_ <= kMaxOrder && n_ * dims_ <= kMaxLiftFrequencies,
        fmt::format("{} random features of {} numbers: an even number, and at most {} frequencies", n_, dims_,
                    kMaxLiftFrequencies));
    problems.within("the length-scale", length_scale_, 1e-6, 1e6);
    problems.coefficients(n_);
    problems.done();
  }
  void build() override {
    frequencies_ =
        rff_frequencies({.dims = dims_, .features = n_, .length_scale = length_scale_, .seed = seed_});
  }

  nlohmann::json to_json() const override {
    return {{"coefficients", n_}, {"length_scale", length_scale_}, {"seed", seed_}};
  }
  void read_json(const JsonFields& f) override {
    f.only({"coefficients", "length_scale", "seed"});
    n_ = f.integer("coefficients", 2, kMaxOrder);
    length_scale_ = f.number("length_scale");
    seed_ = f.integer("seed", 0, UINT64_MAX);
  }

  std::size_t dims() const override { return dims_; }
  std::size_t coefficients() const override { return n_; }
  long double plain_coefficients() const override { return static_cast<long double>(n_); }

  void forward(const float* x, double* u) const override {
    const std::size_t half = n_ / 2;
    const double scale = std::sqrt(1.0 / static_cast<double>(half));
    for (std::size_t j = 0; j < half; ++j) {
      double turns = 0;
      for (std::size_t c = 0; c < dims_; ++c)
        turns += static_cast<double>(frequencies_[j * dims_ + c]) * static_cast<double>(x[c]);
      const double angle = 2 * std::numbers::pi * (turns - std::floor(turns));
      u[j] = scale * std::cos(angle);
      u[half + j] = scale * std::sin(angle);
    }
  }
  double flops_per_record() const override { return static_cast<double>(n_) * static_cast<double>(dims_); }
  double numbers_in_map() const override {
    return 0.5 * (1.0 + static_cast<double>(n_)) * static_cast<double>(dims_);
  }
  std::vector<double> numbers() const override { return {frequencies_.begin(), frequencies_.end()}; }

 private:
  std::size_t n_ = 0;          ///< even; 0: left open
  double length_scale_ = 0.1;  ///< of the kernel, in units of records scaled to [0, 1]
  std::uint64_t seed_ = 1;
  std::size_t dims_ = 0;
  std::vector<float> frequencies_;  ///< (n/2) x d row-major, in turns (omega / (2 pi))
};

}  // namespace

LiftKind fourier_lift() {
  return {"fourier", "random Fourier features, for records of a few numbers",
          [] { return std::unique_ptr<Lift>(std::make_unique<FourierLift>()); }};
}

}  // namespace muffle::features
