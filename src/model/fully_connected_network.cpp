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
  std::string draw_script() const override {
    return R"(
def draw(self, code: Tensor, labels: Tensor) -> Tensor:
    return self.records(torch.linear(self.hidden(code, labels), self.out.weight, self.out.bias), code, labels)
)";
  }

  torch::nn::Linear out_;
};

}  // namespace

NetworkKind fully_connected_network() {
  return {"fully-connected", build_as<NetworkSettings, FullyConnected>};
}

}  // namespace muffle::model
