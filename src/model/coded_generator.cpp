// DP-MERF's autoencoder, its guarantee mended: codes follow the closed form of second moments, and a decoder
// that was learned in rounds makes records of them (docs/reference/generators.md).
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "muffle/core/error.hpp"
#include "muffle/features/decoder_step.hpp"
#include "muffle/model/model_file.hpp"
#include "muffle/pair_graph/rounds.hpp"
#include "muffle/release/artifact.hpp"

namespace muffle::model {
namespace {

static_assert(std::endian::native == std::endian::little,
              "model payloads are little-endian and copied as they lie");

using features::Decoder;
using nlohmann::json;

constexpr const char* kCodes = "moments";
constexpr std::uint64_t kMostWeights = std::uint64_t{1} << 26;

/// Records that a closed form draws, encoded and decoded.
class CodedSampler : public Sampler {
 public:
  CodedSampler(std::unique_ptr<Sampler> codes, Decoder decoder)
      : codes_(std::move(codes)), decoder_(std::move(decoder)) {}
  double blur() const override { return codes_->blur(); }

 private:
  void draw_records(std::uint64_t seed, std::uint64_t first, std::span<const std::int64_t> labels,
                    std::span<float> out, std::span<const sampling::Departure> departures) const override {
    codes_->draw(seed, first, labels, out, departures);
    const std::size_t d = decoder_.outputs();
    for (std::size_t i = 0; i < labels.size(); ++i) {
      float* const record = out.data() + i * d;
      decoder_.redraw(record, record);
      for (std::size_t j = 0; j < d; ++j) record[j] = std::clamp(record[j], 0.0F, 1.0F);
    }
  }

  std::unique_ptr<Sampler> codes_;
  Decoder decoder_;
};

const features::DecoderStepMap* decoder_of(const std::vector<features::NamedMap>& maps) {
  for (const features::NamedMap& map : maps) {
    if (const auto* const step = dynamic_cast<const features::DecoderStepMap*>(map.map.get())) return step;
  }
  return nullptr;
}

/// The payload: the axes' numbers, if there are any, the decoder's weights, then what the closed form has.
struct Parts {
  Decoder decoder;
  std::span<const std::byte> codes;
};
Parts parts_of(const schema::Schema& schema, const JsonFields& description,
               std::span<const std::byte> payload) {
  description.only({"codes", "decoder"});
  const JsonFields stated = description.object("decoder");
  Parts out;
  std::unique_ptr<features::Lift> lift;
  std::uint64_t of_axes = 0, codes = 0, dims = schema.dims();
  if (stated.has("components")) {
    stated.only({"components", "hidden"});
    codes = stated.integer("components", 1, kMaxSize);
    of_axes = (codes + 1) * dims;
  } else {
    stated.only({"lift", "lift_settings", "hidden"});
    try {
      lift = features::make_lift(stated.text("lift", 64));
      lift->read_json(stated.object("lift_settings"));
      lift->resolve(schema);
    } catch (const ConfigError& e) {
      stated.fail("lift", fmt::format("cannot be built ({})", e.what()));
    }
    if (lift->affine() == nullptr) stated.fail("lift", "has no way back");
    codes = lift->coefficients();
    dims = lift->dims();
  }
  out.decoder.hidden = stated.integer("hidden", 1, kMaxSize);
  const std::uint64_t numbers = out.decoder.hidden * (codes + 1 + dims);
  if (numbers > kMostWeights || of_axes > kMostWeights ||
      payload.size() < (of_axes + numbers) * sizeof(float))
    stated.fail("hidden", "comes with another number of numbers than it needs");
  const auto floats = [&](std::uint64_t first, std::uint64_t count) {
    std::vector<float> values(count);
    std::memcpy(values.data(), payload.data() + first * sizeof(float), count * sizeof(float));
    if (!std::ranges::all_of(values, [](float v) { return std::isfinite(v); }))
      stated.fail("hidden", "has weights that are not finite");
    return values;
  };
  // Once the payload's size is known to fit: a header alone must not make anybody build a large lift.
  if (lift) {
    lift->build();
    out.decoder.lift = std::move(lift);
  } else {
    out.decoder.axes = std::make_shared<const features::PrincipalAxes>(dims, floats(0, of_axes));
  }
  out.decoder.weights = floats(of_axes, numbers);
  out.codes = payload.subspan((of_axes + numbers) * sizeof(float));
  return out;
}

class CodedSettings : public ClosedFormSettings {
 public:
  CodedSettings() = default;
  CodedSettings(const CodedSettings& other) : ClosedFormSettings(other), codes_(other.codes_->clone()) {}

  std::string_view kind() const override { return "coded"; }
  std::unique_ptr<GeneratorSettings> clone() const override { return std::make_unique<CodedSettings>(*this); }
  void declare(settings::Keys& keys) override { codes_->declare(keys); }
  void problems(const schema::Schema* schema, settings::Problems& problems) const override {
    codes_->problems(schema, problems);
    problems.unless(schema == nullptr || schema->is_image(),
                    "model.generator = \"coded\" decodes images: data.shape = [channels, height, width]");
  }
  json to_json() const override { return codes_->to_json(); }
  void read_json(const JsonFields& fields) override { codes_->read_json(fields); }
  /// Beside the closed form's: a record in double, its code and the hidden units.
  double numbers_at_once(const schema::Schema& schema) const override {
    return codes_->numbers_at_once(schema) + 8 * static_cast<double>(schema.dims());
  }

  std::unique_ptr<Sampler> open(const ModelInfo& info, const JsonFields& description,
                                std::span<const std::byte> payload) const override {
    Parts parts = parts_of(info.schema, description, payload);
    return std::make_unique<CodedSampler>(codes_->open(info, description.object("codes"), parts.codes),
                                          std::move(parts.decoder));
  }
  std::vector<NamedArray> arrays(const ModelInfo& info, const JsonFields& description,
                                 std::span<const std::byte> payload) const override {
    const Parts parts = parts_of(info.schema, description, payload);
    std::vector<NamedArray> out = codes_->arrays(info, description.object("codes"), parts.codes);
    const Decoder& decoder = parts.decoder;
    const std::span<const float> all(decoder.weights);
    const std::size_t first = decoder.hidden * decoder.inputs();
    if (decoder.axes) {
      const std::span<const float> numbers = decoder.axes->numbers();
      out.emplace_back("decoder_origin", std::vector{decoder.outputs()}, numbers.first(decoder.outputs()));
      out.emplace_back("decoder_axes", std::vector{decoder.axes->count(), decoder.outputs()},
                       numbers.subspan(decoder.outputs()));
    }
    out.emplace_back("decoder_first", std::vector{decoder.hidden, decoder.inputs()}, all.first(first));
    out.emplace_back("decoder_second", std::vector{decoder.outputs(), decoder.hidden}, all.subspan(first));
    return out;
  }

  ModelContent fit(const release::Artifact& release, const Heartbeat& heartbeat) const override {
    const auto last = pair_graph::last_step(release);
    const auto* const step = dynamic_cast<const features::DecoderStepMap*>(last.get());
    if (step == nullptr) throw ConfigError(kNoDecoder);
    const ModelContent codes = codes_->closed_form()->fit(release, heartbeat);
    const Decoder decoder = step->decoder();
    ModelContent out;
    json stated{{"hidden", decoder.hidden}};
    const auto append = [&](std::span<const float> numbers) {
      const auto bytes = std::as_bytes(numbers);
      out.payload.insert(out.payload.end(), bytes.begin(), bytes.end());
    };
    if (decoder.axes) {
      stated["components"] = decoder.axes->count();
      append(decoder.axes->numbers());
    } else {
      stated["lift"] = decoder.lift->kind();
      stated["lift_settings"] = decoder.lift->to_json();
    }
    out.description = {{"codes", codes.description}, {"decoder", std::move(stated)}};
    append(decoder.weights);
    out.payload.insert(out.payload.end(), codes.payload.begin(), codes.payload.end());
    return out;
  }
  void release_problems(const schema::Schema& schema, const std::vector<features::NamedMap>& maps,
                        settings::Problems& p) const override {
    codes_->closed_form()->release_problems(schema, maps, p);
    if (decoder_of(maps) == nullptr) p.add(kNoDecoder);
  }
  std::uint64_t fit_bytes(const release::ReleasePlan& plan) const override {
    const std::uint64_t codes = codes_->closed_form()->fit_bytes(plan);
    const features::DecoderStepMap* const step = decoder_of(plan.maps);
    if (codes == 0 || step == nullptr) return 0;
    // Each round's mean, and the weights on their way.
    return codes + 8 * step->features() * (step->rounds() + 4);
  }

 private:
  static constexpr const char* kNoDecoder =
      "model.generator = \"coded\" decodes by what rounds have learned: add a map with kind = "
      "\"decoder-step\"";

  std::unique_ptr<GeneratorSettings> codes_ = make_generator_settings(kCodes);
};

}  // namespace

GeneratorKind coded_generator() {
  return {"coded", "codes by the closed form of second moments, records by a decoder learned in rounds",
          make_default<CodedSettings>};
}

}  // namespace muffle::model
