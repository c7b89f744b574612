#include "muffle/model/generator_kind.hpp"
#include "muffle/model/network.hpp"

namespace muffle::model {
namespace {

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
};

}  // namespace

GeneratorKind fully_connected_generator() {
  return {"fully-connected", "a network of linear layers", make_default<FullyConnectedSettings>};
}

}  // namespace muffle::model
