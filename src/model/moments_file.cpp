#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <string_view>

#include "header_fields.hpp"
#include "muffle/core/container.hpp"
#include "muffle/core/error.hpp"
#include "muffle/model/moments_model.hpp"

namespace muffle::model {
namespace {

static_assert(std::endian::native == std::endian::little,
              "model payloads are little-endian and copied as they lie");

using features::MomentLiftKind;
using nlohmann::json;

constexpr std::string_view kFormat = "muffle-moments-model";
constexpr std::array<const char*, 4> kLiftNames{"image", "vector", "fourier", "hermite"};

json lift_header(const features::MomentsSpec& lift) {
  return {{"kind", kLiftNames[static_cast<std::size_t>(lift.kind)]},
          {"coefficients", lift.coefficients},
          {"weight_exponent", lift.weight_exponent},
          {"blob_height", lift.blob_height},
          {"blob_radius", lift.blob_radius},
          {"length_scale", lift.length_scale},
          {"seed", lift.seed},
          {"offset", lift.offset},
          {"bits", lift.bits},
          {"hash", features::MomentLift(lift).hash()}};
}

features::MomentsSpec parse_lift(const json& header, const schema::Schema& schema, const std::string& name) {
  const Fields fields(header.at("lift"), name + ": the lift",
                      {"kind", "coefficients", "weight_exponent", "blob_height", "blob_radius",
                       "length_scale", "seed", "offset", "bits", "hash"});
  features::MomentsSpec lift;
  const std::string kind = fields.text("kind");
  const auto at = std::find(kLiftNames.begin(), kLiftNames.end(), kind);
  if (at == kLiftNames.end()) fields.fail("has a kind that this muffle does not know");
  lift.kind = static_cast<MomentLiftKind>(at - kLiftNames.begin());
  lift.shape = schema.shape;
  lift.coefficients = fields.size("coefficients", 0);
  lift.weight_exponent = fields.number("weight_exponent");
  lift.blob_height = fields.number("blob_height");
  lift.blob_radius = fields.number("blob_radius");
  lift.length_scale = fields.number("length_scale");
  const json& seed = fields.at("seed");
  if (!seed.is_number_unsigned()) fields.fail("has a seed that is no whole number");
  lift.seed = seed.get<std::uint64_t>();
  lift.offset = fields.number("offset");
  lift.bits = static_cast<int>(fields.size("bits", 1));
  try {
    if (features::resolved(lift) != lift) fields.fail("leaves something open");
  } catch (const ConfigError& e) {
    fields.fail(fmt::format("cannot be built ({})", e.what()));
  }
  return lift;
}

/// Once the payload's size is known to fit: a header alone must not make anybody build a large lift.
void check_lift(const json& header, const features::MomentsSpec& lift, const std::string& name) {
  const json& stated = header.at("lift").at("hash");
  if (!stated.is_string() || features::MomentLift(lift).hash() != stated.get<std::string>()) {
    throw ProtocolError(fmt::format(
        "{}: the lift is one that this muffle builds otherwise: use the muffle that made it, or train "
        "again",
        name));
  }
}

/// Takes numbers off the payload, whose length was checked.
class Numbers {
 public:
  Numbers(const std::vector<std::byte>& payload, const Fields& fields) : payload_(payload), fields_(fields) {}

  void take(double* out, std::size_t count) {
    if (count > 0) std::memcpy(out, payload_.data() + at_, count * sizeof(double));
    at_ += count * sizeof(double);
    if (!std::all_of(out, out + count, [](double v) { return std::isfinite(v); }))
      fields_.fail("has numbers that are not finite");
  }

 private:
  const std::vector<std::byte>& payload_;
  const Fields& fields_;
  std::size_t at_ = 0;
};

void take_grid(Numbers& numbers, MomentsModel& model, std::size_t cells, const Fields& fields) {
  for (std::size_t c = 0; c < model.info.spec.schema.classes; ++c) {
    std::vector<double>& mass = model.grid->mass.emplace_back(cells);
    numbers.take(mass.data(), cells);
    double sum = 0;
    for (const double m : mass) sum += m >= 0 ? m : NAN;
    if (!(std::fabs(sum - 1) < 1e-6)) fields.fail("has a density whose masses are not shares of one");
  }
}

void append(std::vector<std::byte>& payload, const double* numbers, std::size_t count) {
  const auto* bytes = reinterpret_cast<const std::byte*>(numbers);
  payload.insert(payload.end(), bytes, bytes + count * sizeof(double));
}

}  // namespace

double moments_model_bytes(const features::MomentsSpec& spec, std::size_t classes) {
  const auto n = static_cast<double>(features::moments_order(spec) - 1);
  return static_cast<double>(classes) * (n + n * n) * sizeof(double);
}

std::string save_moments_model(const std::filesystem::path& path, const MomentsModel& model) {
  Container file;
  file.header = {{"format", kFormat},
                 {"version", kMomentsModelVersion},
                 {"schema", schema_header(model.info.spec.schema)},
                 {"lift", lift_header(model.lift)},
                 {"law", model.grid ? "grid" : "gaussian"},
                 {"grid_side", model.grid ? model.grid->side : 0},
                 {"plain_share", model.info.spec.plain_share}};
  add_provenance(file.header, model.info);
  for (std::size_t c = 0; c < model.mean.size(); ++c) {
    append(file.payload, model.mean[c].data(), static_cast<std::size_t>(model.mean[c].size()));
    append(file.payload, model.factor[c].data(), static_cast<std::size_t>(model.factor[c].size()));
  }
  for (std::size_t c = 0; model.grid && c < model.grid->mass.size(); ++c)
    append(file.payload, model.grid->mass[c].data(), model.grid->mass[c].size());
  parse_moments_model(serialize(file), path.string());  // what we write, we can read
  return write_container(path, file);
}

bool holds_moments_model(std::string_view bytes) { return container_format(bytes) == kFormat; }

MomentsModel parse_moments_model(std::string_view bytes, const std::string& name) {
  const Container file = parse_container(bytes, kFormat, kMomentsModelVersion, name);
  const Fields fields(file.header, name + ": the model's header",
                      {"format", "version", "schema", "lift", "law", "grid_side", "plain_share",
                       "class_share", "release_hash", "train_hash", "is_private", "choice"},
                      {"counts_released"});
  MomentsModel model;
  model.info.spec.kind = GeneratorKind::kMoments;
  model.info.spec.schema = parse_schema(file.header, name);
  parse_provenance(fields, model.info);
  model.info.spec.plain_share = fields.number("plain_share");
  if (!(model.info.spec.plain_share >= 0 && model.info.spec.plain_share <= 1))
    fields.fail("has a plain_share that is no share");
  model.lift = parse_lift(file.header, model.info.spec.schema, name);

  const bool affine = model.lift.kind == MomentLiftKind::kImage || model.lift.kind == MomentLiftKind::kVector;
  const std::string law = fields.text("law");
  const std::size_t side = fields.size("grid_side", 0), dims = model.info.spec.schema.dims();
  if (law != (affine ? "gaussian" : "grid")) fields.fail("has a law that does not fit its lift");
  const std::size_t classes = model.info.spec.schema.classes, n = features::moments_order(model.lift) - 1;
  std::size_t each = n + n * n;
  if (!affine) {
    if (dims > kMaxGridDims || side != grid_side(dims)) fields.fail("has a grid of another size");
    each = 1;
    for (std::size_t j = 0; j < dims; ++j) each *= side;
    model.grid = GridDensity{dims, side, {}};
  }
  if (file.payload.size() % (each * sizeof(double)) != 0 ||
      file.payload.size() / (each * sizeof(double)) != classes)
    fields.fail("has another number of numbers than its laws need");
  check_lift(file.header, model.lift, name);
  Numbers numbers(file.payload, fields);
  if (model.grid) {
    take_grid(numbers, model, each, fields);
    return model;
  }
  for (std::size_t c = 0; c < classes; ++c) {
    const auto size = static_cast<Eigen::Index>(n);
    numbers.take(model.mean.emplace_back(size).data(), n);
    numbers.take(model.factor.emplace_back(size, size).data(), n * n);
  }
  return model;
}

}  // namespace muffle::model
