#include "header_fields.hpp"

namespace muffle::model {

using nlohmann::json;

json schema_header(const schema::Schema& schema) {
  return {{"shape", schema.shape},
          {"classes", schema.classes},
          {"lo", schema.lo},
          {"hi", schema.hi},
          {"on_error", schema.on_error == schema::OnError::kClamp ? "clamp" : "reject-file"}};
}

schema::Schema parse_schema(const json& header, const std::string& name) {
  schema::Schema schema;
  const Fields fields(header.at("schema"), fmt::format("{}: the schema", name),
                      {"shape", "classes", "lo", "hi", "on_error"});
  schema.shape = fields.sizes("shape", 3);
  schema.classes = fields.size("classes", 1);
  schema.lo = fields.number("lo");
  schema.hi = fields.number("hi");
  if (!(schema.lo < schema.hi)) fields.fail("has lo >= hi");
  const std::string on_error = fields.text("on_error");
  if (on_error != "clamp" && on_error != "reject-file")
    fields.fail(fmt::format("has on_error '{}'", on_error));
  schema.on_error = on_error == "clamp" ? schema::OnError::kClamp : schema::OnError::kRejectFile;
  return schema;
}

void parse_provenance(const Fields& fields, ModelInfo& info) {
  info.release_hash = fields.text("release_hash");
  info.train_hash = fields.text("train_hash");
  info.is_private = fields.boolean("is_private");
  // Files of earlier builds do not say it.
  info.counts_released = fields.has("counts_released") && fields.boolean("counts_released");
  if (const json& choice = fields.at("choice"); !choice.is_null()) {
    const Fields made(choice, "the model's choice", {"trained", "closed_form", "after_training", "deviation"},
                      {"closed_form_deviation"});
    info.choice = ProxyChoice{made.boolean("trained"), made.number("closed_form"),
                              made.number("after_training"), made.number("deviation")};
    if (made.has("closed_form_deviation"))
      info.choice->closed_form_deviation = made.number("closed_form_deviation");
  }
  const json& share = fields.at("class_share");
  if (!share.is_array() || share.size() != info.spec.schema.classes)
    fields.fail("has not one class share a class");
  double sum = 0.0;
  for (const auto& p : share) {
    if (!p.is_number() || !(p.get<double>() >= 0.0)) fields.fail("has a class share that is no number >= 0");
    sum += info.class_share.emplace_back(p.get<double>());
  }
  if (!(std::fabs(sum - 1.0) < 1e-6)) fields.fail(fmt::format("has class shares that sum to {}", sum));
}

void add_provenance(json& header, const ModelInfo& info) {
  header["class_share"] = info.class_share;
  header["release_hash"] = info.release_hash;
  header["train_hash"] = info.train_hash;
  header["is_private"] = info.is_private;
  header["counts_released"] = info.counts_released;
  header["choice"] = nullptr;
  if (const auto& c = info.choice) {
    header["choice"] = {{"trained", c->trained},
                        {"closed_form", c->closed_form},
                        {"after_training", c->after_training},
                        {"deviation", c->deviation},
                        {"closed_form_deviation", c->closed_form_deviation}};
  }
}

}  // namespace muffle::model
