#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "header_fields.hpp"
#include "muffle/model/model_file.hpp"
#include "muffle/model/moments_model.hpp"
#include "muffle/release/plan.hpp"

namespace muffle::model {
namespace {

class MomentsSettings : public ClosedFormSettings {
 public:
  double plain_share = 0.5;

  std::string_view kind() const override { return "moments"; }
  std::unique_ptr<GeneratorSettings> clone() const override {
    return std::make_unique<MomentsSettings>(*this);
  }
  void declare(settings::Keys& keys) override {
    keys.number("plain_share", plain_share, {0, 1}, kPlainShareHelp);
  }
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
  void release_problems(const schema::Schema& schema, const std::vector<features::NamedMap>& maps,
                        settings::Problems& p) const override {
    const features::SecondMoments* const moments = moments_of(maps);
    p.unless(moments != nullptr,
             "model.generator = \"moments\" is made of second moments: add a map with kind = \"moments\"");
    if (moments == nullptr) return;
    if (moments->lift->affine() != nullptr) return check_model_size(*moments, schema.classes, p);
    p.unless(
        schema.dims() <= kMaxGridDims,
        fmt::format(
            "model.generator = \"moments\" draws from a grid where the lift is \"{}\": records can have at "
            "most {} numbers; use \"vector\" or \"image\"",
            moments->lift->kind(), kMaxGridDims));
  }
  std::uint64_t fit_bytes(const release::ReleasePlan& plan) const override {
    const features::SecondMoments* const moments = moments_of(plan.maps);
    if (moments == nullptr) return 0;
    const std::uint64_t q = moments->order(), all = plan.classes() * q * q;
    // To the end: the release's bytes and numbers, the moments. Writing takes more than fitting (the classes'
    // moments, covariances and factors): factors, the file's payload and its bytes, and, since what is
    // written is read first, the payload and the factors once more.
    if (moments->lift->affine() != nullptr) return 16 * plan.size() + 8 * all + 5 * 8 * all;
    // A density on a grid instead: each cell's z, the cells' kernel in double and in float, the moments.
    const std::size_t dims = moments->lift->dims();
    std::uint64_t cells = 1;
    for (std::size_t j = 0; j < dims; ++j) cells *= grid_side(dims);
    return 16 * plan.size() + 3 * 8 * all + cells * (8 * q + 12 * cells);
  }
};

}  // namespace

std::shared_ptr<const GeneratorSettings> settings_of(const MomentsModel& model) {
  auto settings = std::make_shared<MomentsSettings>();
  settings->plain_share = model.plain_share;
  return settings;
}

GeneratorKind moments_generator() {
  return {"moments", "closed form of second moments, not trained", make_default<MomentsSettings>};
}

}  // namespace muffle::model
