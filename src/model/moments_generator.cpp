#include <nlohmann/json.hpp>

#include "header_fields.hpp"
#include "moments_file.hpp"
#include "muffle/model/model_file.hpp"
#include "muffle/model/moments_model.hpp"

namespace muffle::model {
namespace {

class MomentsSettings : public ClosedFormSettings {
 public:
  double plain_share = 0.5;

  std::string_view kind() const override { return "moments"; }
  std::unique_ptr<GeneratorSettings> clone() const override { return std::make_unique<MomentsSettings>(*this); }
  void declare(settings::Keys& keys) override { keys.number("plain_share", plain_share, {0, 1}, kPlainShareHelp); }
  void problems(const schema::Schema*, settings::Problems&) const override {}
  nlohmann::json to_json() const override { return {{"plain_share", plain_share}}; }
  void read_json(const JsonFields& fields) override {
    fields.only({"kind", "plain_share"});
    plain_share = share(fields, "plain_share");
  }
  /// A record, its normal numbers and what the factor makes of them, both at most d.
  double numbers_at_once(const schema::Schema& schema) const override {
    return 3 * static_cast<double>(schema.dims());
  }
  std::unique_ptr<Sampler> open(const ModelInfo& info, const JsonFields& description,
                                std::span<const std::byte> payload) const override {
    return make_sampler(read_moments(info.schema, plain_share, description, payload));
  }
  ModelContent fit(const release::Artifact& release, const Heartbeat& heartbeat) const override {
    return content_of(fit_moments_model(release::make_noisy_moments(release), plain_share, heartbeat));
  }
};

}  // namespace

std::shared_ptr<const GeneratorSettings> settings_of(const MomentsModel& model) {
  auto settings = std::make_shared<MomentsSettings>();
  settings->plain_share = model.plain_share;
  return settings;
}

const GeneratorKind& moments_generator() {
  static const GeneratorKind kind{"moments", "closed form of second moments, not trained",
                                  []() -> std::unique_ptr<GeneratorSettings> {
                                    return std::make_unique<MomentsSettings>();
                                  }};
  return kind;
}

}  // namespace muffle::model
