#include "muffle/model/generator_kind.hpp"
#include "network.hpp"

namespace muffle::model {
namespace {

using torch::Tensor;

class FullyConnected : public BaseGenerator {
 public:
  FullyConnected(const NetworkSettings& settings, const schema::Schema& schema, std::uint64_t seed,
                 std::shared_ptr<TensorCollective> collective)
      : BaseGenerator(settings, schema, seed, std::move(collective)),
        out_(add_linear("out", width_, as_int(schema.dims()))) {
    start_at_zero(out_->weight, out_->bias);
  }

  Tensor forward(const Tensor& code, const Tensor& labels) override {
    return records(out_->forward(hidden(code, labels)), code, labels);
  }

 private:
  torch::nn::Linear out_;
};

class FullyConnectedSettings : public NetworkSettings {
 public:
  std::string_view kind() const override { return "fully-connected"; }
  std::unique_ptr<GeneratorSettings> clone() const override {
    return std::make_unique<FullyConnectedSettings>(*this);
  }
  void read_json(const JsonFields& fields) override {
    fields.only({"kind", "code", "hidden", "residual", "plain_share"});
    NetworkSettings::read_json(fields);
  }

 protected:
  void add_last(const schema::Schema& schema, Count& count) const override {
    count.parameters += (count.width + 1) * static_cast<double>(schema.dims());
  }
  std::shared_ptr<Generator> build_checked(const schema::Schema& schema, std::uint64_t seed,
                                           std::shared_ptr<TensorCollective> collective) const override {
    const torch::NoGradGuard no_grad;
    return std::make_shared<FullyConnected>(*this, schema, seed, std::move(collective));
  }
};

}  // namespace

GeneratorKind fully_connected_generator() {
  return {"fully-connected", "a network of linear layers", make_default<FullyConnectedSettings>};
}

}  // namespace muffle::model
