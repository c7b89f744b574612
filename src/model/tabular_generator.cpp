// A network that makes rows of a table (docs/reference/generators.md).
#include "muffle/features/mixed.hpp"
#include "muffle/model/generator_kind.hpp"
#include "muffle/model/network.hpp"

namespace muffle::model {
namespace {

class TabularSettings : public NetworkSettings {
 public:
  std::string_view kind() const override { return "tabular"; }
  std::unique_ptr<GeneratorSettings> clone() const override {
    return std::make_unique<TabularSettings>(*this);
  }
  bool makes_relaxed() const override { return true; }
  void own_problems(const schema::Schema* schema, settings::Problems& p) const override {
    p.unless(!residual,
             "model.generator = \"tabular\" has no closed form that it could start from: train it with "
             "train.init = \"random\"");
    p.unless(
        schema == nullptr || schema->table,
        "model.generator = \"tabular\" makes rows of a table, and the records are none: set data.schema, "
        "or use \"fully-connected\"");
  }
  void read_json(const JsonFields& fields) override {
    fields.only({"kind", "code", "hidden", "residual", "plain_share"});
    NetworkSettings::read_json(fields);
  }

 protected:
  void add_last(const schema::Schema& schema, Count& count) const override {
    count.parameters += (count.width + 1) * width(schema);
  }
  double last_numbers_at_once(const schema::Schema& schema) const override { return 4 * width(schema); }

 private:
  static double width(const schema::Schema& schema) {
    return static_cast<double>(features::MixedLayout(*schema.table).width());
  }
};

}  // namespace

GeneratorKind tabular_generator() {
  return {"tabular", "a network of linear layers that ends in numbers and categories, for tables",
          make_default<TabularSettings>};
}

}  // namespace muffle::model
