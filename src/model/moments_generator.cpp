#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "muffle/core/error.hpp"
#include "muffle/core/hash.hpp"
#include "muffle/features/lift.hpp"
#include "muffle/model/closed_forms.hpp"
#include "muffle/model/model_file.hpp"
#include "muffle/release/plan.hpp"

namespace muffle::model {
namespace {

static_assert(std::endian::native == std::endian::little,
              "model payloads are little-endian and copied as they lie");

using nlohmann::json;

/// Over all that the lift is made of: readers check that they build the same.
std::string hash_of(const features::SecondMoments& moments) {
  std::vector<double> all = moments.lift->numbers();
  all.push_back(static_cast<double>(moments.lift->coefficients()));
  all.push_back(moments.offset);
  return to_hex(sha256(PublicBytes(std::as_bytes(std::span(all)))));
}

/// Not built yet.
std::unique_ptr<features::Lift> read_lift(const JsonFields& fields, const schema::Schema& schema) {
  fields.only({"kind", "settings", "offset", "bits", "hash"});
  try {
    std::unique_ptr<features::Lift> lift = features::make_lift(fields.text("kind", 64));
    lift->read_json(fields.object("settings"));
    lift->resolve(schema);
    return lift;
  } catch (const ConfigError& e) {
    fields.fail("kind", fmt::format("cannot be built ({})", e.what()));
  }
}

void append(std::vector<std::byte>& payload, const double* numbers, std::size_t count) {
  const auto* bytes = reinterpret_cast<const std::byte*>(numbers);
  payload.insert(payload.end(), bytes, bytes + count * sizeof(double));
}

std::vector<NamedArray> arrays_of(const MomentsModel& model) {
  std::vector<NamedArray> out;
  const std::size_t classes = model.grid ? model.grid->mass.size() : model.mean.size();
  const auto all = [&](const char* name, std::vector<std::size_t> shape, const auto& of_class) {
    std::vector<double> numbers;
    for (std::size_t c = 0; c < classes; ++c) {
      const std::span<const double> own = of_class(c);
      numbers.insert(numbers.end(), own.begin(), own.end());
    }
    shape.insert(shape.begin(), classes);
    out.emplace_back(name, shape, std::span<const double>(numbers));
  };
  if (model.grid) {
    all("mass", std::vector(model.grid->dims, model.grid->side),
        [&](std::size_t c) { return std::span<const double>(model.grid->mass[c]); });
    return out;
  }
  const features::AffineLift& lift = *model.moments.lift->affine();
  const std::size_t n = model.moments.lift->coefficients(), d = model.moments.lift->dims();
  std::vector<Eigen::MatrixXd> rowwise;  // Eigen's lie column by column
  std::vector<moments::PixelLaw> laws;
  for (std::size_t c = 0; c < classes; ++c) {
    rowwise.push_back(model.factor[c].transpose());
    laws.push_back(moments::make_pixel_law(lift, model.mean[c], model.factor[c]));
  }
  all("mean", {n}, [&](std::size_t c) { return std::span<const double>(model.mean[c].data(), n); });
  all("factor", {n, n}, [&](std::size_t c) { return std::span<const double>(rowwise[c].data(), n * n); });
  all("centre", {d}, [&](std::size_t c) { return std::span<const double>(laws[c].centre); });
  all("location", {d}, [&](std::size_t c) { return std::span<const double>(laws[c].location); });
  all("stretch", {d}, [&](std::size_t c) { return std::span<const double>(laws[c].stretch); });
  out.emplace_back("weights", std::vector{n}, std::span<const double>(lift.weights));
  if (lift.rows.empty()) return out;
  out.emplace_back("rows", std::vector{lift.side, lift.height}, std::span<const double>(lift.rows));
  out.emplace_back("columns", std::vector{lift.side, lift.width}, std::span<const double>(lift.columns));
  return out;
}

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
  std::vector<NamedArray> arrays(const ModelInfo& info, const JsonFields& description,
                                 std::span<const std::byte> payload) const override {
    return arrays_of(read_moments(info.schema, plain_share, description, payload));
  }
  ModelContent fit(const release::Artifact& release, const Heartbeat& heartbeat) const override {
    return content_of(
        moments::fit_moments_model(release::make_noisy_moments(release), plain_share, heartbeat));
  }
  void release_problems(const schema::Schema& schema, const std::vector<features::NamedMap>& maps,
                        settings::Problems& p) const override {
    const features::SecondMoments* const moments = moments::moments_of(maps);
    p.unless(moments != nullptr,
             fmt::format("model.generator = \"moments\" is made of second moments: add a map with kind = {}",
                         features::second_moments_maps()));
    if (moments == nullptr) return;
    if (moments->lift->affine() != nullptr) return moments::check_model_size(*moments, schema.classes, p);
    p.unless(
        schema.dims() <= moments::kMaxGridDims,
        fmt::format(
            "model.generator = \"moments\" draws from a grid where the lift is \"{}\": records can have at "
            "most {} numbers; use {}",
            moments->lift->kind(), moments::kMaxGridDims, features::affine_lifts()));
  }
  std::uint64_t fit_bytes(const release::ReleasePlan& plan) const override {
    const features::SecondMoments* const moments = moments::moments_of(plan.maps);
    if (moments == nullptr) return 0;
    const std::uint64_t q = moments->order(), all = plan.classes() * q * q;
    // To the end: the release's bytes and numbers, the moments. Fitting: the classes' moments and what is not
    // known of their means, and seven half matrices a class to see which classes are alike. Writing takes
    // five: factors, the file's payload and its bytes, and, since what is written is read first, the payload
    // and the factors once more.
    if (moments->lift->affine() != nullptr) return 16 * plan.size() + 8 * all + 6 * 8 * all;
    // A density on a grid instead: each cell's z, the cells' kernel in double and in float, the moments.
    const std::size_t dims = moments->lift->dims();
    std::uint64_t cells = 1;
    for (std::size_t j = 0; j < dims; ++j) cells *= moments::grid_side(dims);
    return 16 * plan.size() + 3 * 8 * all + cells * (8 * q + 12 * cells);
  }
};

}  // namespace

ModelContent content_of(const MomentsModel& model) {
  const features::SecondMoments& moments = model.moments;
  ModelContent content;
  content.description = {{"lift",
                          {{"kind", moments.lift->kind()},
                           {"settings", moments.lift->to_json()},
                           {"offset", moments.offset},
                           {"bits", moments.bits},
                           {"hash", hash_of(moments)}}},
                         {"law", model.grid ? "grid" : "gaussian"},
                         {"grid_side", model.grid ? model.grid->side : 0}};
  for (std::size_t c = 0; c < model.mean.size(); ++c) {
    append(content.payload, model.mean[c].data(), static_cast<std::size_t>(model.mean[c].size()));
    append(content.payload, model.factor[c].data(), static_cast<std::size_t>(model.factor[c].size()));
  }
  for (std::size_t c = 0; model.grid && c < model.grid->mass.size(); ++c)
    append(content.payload, model.grid->mass[c].data(), model.grid->mass[c].size());
  return content;
}

MomentsModel read_moments(const schema::Schema& schema, double plain_share, const JsonFields& fields,
                          std::span<const std::byte> payload) {
  fields.only({"lift", "law", "grid_side"});
  MomentsModel model;
  model.plain_share = plain_share;
  const JsonFields stated = fields.object("lift");
  std::unique_ptr<features::Lift> lift = read_lift(stated, schema);
  const bool affine = lift->affine() != nullptr;
  const std::size_t side = fields.integer("grid_side", 0, kMaxSize), dims = schema.dims(),
                    classes = schema.classes;
  if ((fields.choice("law", {"gaussian", "grid"}) == 0) != affine)
    fields.fail("law", "does not fit its lift");
  const std::size_t n = lift->coefficients();
  std::size_t each = n + n * n;
  if (!affine) {
    if (dims > moments::kMaxGridDims || side != moments::grid_side(dims))
      fields.fail("grid_side", "is another than this muffle's");
    each = 1;
    for (std::size_t j = 0; j < dims; ++j) each *= side;
    model.grid = moments::GridDensity{dims, side, {}};
  }
  if (payload.size() % (each * sizeof(double)) != 0 || payload.size() / (each * sizeof(double)) != classes)
    fields.fail("law", "comes with another number of numbers than it needs");
  // Once the payload's size is known to fit: a header alone must not make anybody build a large lift.
  lift->build();
  model.moments = {std::move(lift), stated.number("offset"), static_cast<int>(stated.integer("bits", 1, 64))};
  if (!(model.moments.offset > 0)) stated.fail("offset", "is not above 0");
  if (hash_of(model.moments) != stated.text("hash", 64))
    stated.fail("hash", "is of a lift that this muffle builds otherwise: use the muffle that made it");
  const auto take = [&](double* out, std::size_t count) {
    if (count > 0) std::memcpy(out, payload.data(), count * sizeof(double));
    payload = payload.subspan(count * sizeof(double));
    if (!std::all_of(out, out + count, [](double v) { return std::isfinite(v); }))
      fields.fail("law", "has numbers that are not finite");
  };
  for (std::size_t c = 0; c < classes; ++c) {
    if (model.grid) {
      std::vector<double>& mass = model.grid->mass.emplace_back(each);
      take(mass.data(), each);
      double sum = 0;
      for (const double m : mass) sum += m >= 0 ? m : NAN;
      if (!(std::fabs(sum - 1) < 1e-6))
        fields.fail("law", "has a density whose masses are not shares of one");
      continue;
    }
    const auto size = static_cast<Eigen::Index>(n);
    take(model.mean.emplace_back(size).data(), n);
    take(model.factor.emplace_back(size, size).data(), n * n);
  }
  return model;
}

std::shared_ptr<const GeneratorSettings> settings_of(const MomentsModel& model) {
  auto settings = std::make_shared<MomentsSettings>();
  settings->plain_share = model.plain_share;
  return settings;
}

GeneratorKind moments_generator() {
  return {"moments", "closed form of second moments, not trained", make_default<MomentsSettings>};
}

}  // namespace muffle::model
