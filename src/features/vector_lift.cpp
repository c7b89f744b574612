// u = x - m0, m0 = (1/2, ..., 1/2): plain records as they are.
#include <nlohmann/json.hpp>

#include "lift_settings.hpp"

namespace muffle::features {
namespace {

class VectorLift final : public Lift {
 public:
  std::string_view kind() const override { return "vector"; }
  std::unique_ptr<Lift> clone() const override { return std::make_unique<VectorLift>(*this); }
  void declare(settings::Keys&) override {}
  bool is_natural_for(const schema::Schema& schema) const override { return !schema.is_image(); }

  void resolve(const schema::Schema& schema) override {
    LiftProblems problems;
    problems.unless(schema.shape.size() == 1, "the records' shape is not [columns]");
    const std::size_t dims = problems.dims_of(schema);
    problems.coefficients(dims);
    problems.done();
    affine_.width = dims;
  }
  void build() override {
    affine_.origin.assign(affine_.width, 0.5);
    affine_.weights.assign(affine_.width, 1.0);
    affine_.pitch.assign(affine_.width, 1.0);
  }

  nlohmann::json to_json() const override { return nlohmann::json::object(); }
  void read_json(const JsonFields& f) override { f.only({}); }

  std::size_t dims() const override { return affine_.width; }
  std::size_t coefficients() const override { return dims(); }
  long double plain_coefficients() const override { return static_cast<long double>(affine_.width); }
  double default_offset() const override { return default_offset_of(dims()); }
  void forward(const float* x, double* u) const override {
    for (std::size_t i = 0; i < dims(); ++i) u[i] = static_cast<double>(x[i]) - affine_.origin[i];
  }
  const AffineLift* affine() const override { return &affine_; }
  std::vector<double> numbers() const override { return joined({affine_.origin, affine_.weights}); }

 private:
  AffineLift affine_;
};

}  // namespace

LiftKind vector_lift() {
  return {"vector", "plain records, as they are",
          [] { return std::unique_ptr<Lift>(std::make_unique<VectorLift>()); }};
}

}  // namespace muffle::features
