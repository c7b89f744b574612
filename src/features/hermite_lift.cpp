// u = psi_a(g (x_j - 1/2)) / sqrt(d), j = 1 .. d (slowest), a = 0 .. coefficients - 1: Hermite functions of
// each number, with g such that the kernel's length is length_scale; norm at most 1.
#include <nlohmann/json.hpp>

#include "lift_settings.hpp"
#include "muffle/features/hermite_sum.hpp"

namespace muffle::features {
namespace {

class HermiteLift final : public Lift {
 public:
  std::string_view kind() const override { return "hermite"; }
  std::unique_ptr<Lift> clone() const override { return std::make_unique<HermiteLift>(*this); }

  void declare(settings::Keys& keys) override {
    keys.count("coefficients", count_, 0, kMaxOrder, "Hermite functions per number of the record; 0: 20");
    keys.number("length_scale", length_scale_, {1e-6, 1e6},
                "l, public, in units of records scaled to [0, 1]");
  }

  void resolve(const schema::Schema& schema) override {
    LiftProblems problems;
    dims_ = problems.dims_of(schema);
    problems.done();
    if (count_ == 0) count_ = 20;
    problems.within("the length-scale", length_scale_, 1e-6, 1e6);
    problems.coefficients(coefficients());
    problems.done();
  }

  nlohmann::json to_json() const override {
    return {{"coefficients", count_}, {"length_scale", length_scale_}};
  }
  void read_json(const JsonFields& f) override {
    f.only({"coefficients", "length_scale"});
    count_ = f.integer("coefficients", 1, kMaxOrder);
    length_scale_ = f.number("length_scale");
  }

  std::size_t dims() const override { return dims_; }
  std::size_t coefficients() const override { return dims_ * count_; }
  long double plain_coefficients() const override {
    return static_cast<long double>(dims_) * static_cast<long double>(count_);
  }

  void forward(const float* x, double* u) const override {
    const double rho = std::exp(-4.0 / static_cast<double>(count_)),
                 length = std::sqrt((1 - rho * rho) / (2 * rho)),
                 height = 1.0 / std::sqrt(static_cast<double>(dims_)) *
                          std::sqrt(std::sqrt((1 - rho) * (1 + rho)));
    const HermiteRecursion terms(rho, count_);
    for (std::size_t j = 0; j < dims_; ++j) {
      const double t = (static_cast<double>(x[j]) - 0.5) * length / length_scale_;
      double* const psi = u + j * count_;
      psi[0] = height * std::exp(-rho * t * t / (1 + rho));
      for (std::size_t k = 1; k < count_; ++k)
        psi[k] = terms.up[k] * t * psi[k - 1] - (k > 1 ? terms.back[k] * psi[k - 2] : 0.0);
    }
  }
  std::vector<double> numbers() const override { return {static_cast<double>(count_), length_scale_}; }

 private:
  std::size_t count_ = 0;  ///< per number of the record; 0: left open
  double length_scale_ = 0.1;
  std::size_t dims_ = 0;
};

}  // namespace

LiftKind hermite_lift() {
  return {"hermite", "Hermite functions of each number, for records of a few numbers",
          [] { return std::unique_ptr<Lift>(std::make_unique<HermiteLift>()); }};
}

}  // namespace muffle::features
