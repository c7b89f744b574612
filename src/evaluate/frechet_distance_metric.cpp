#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>

#include "muffle/core/error.hpp"
#include "muffle/data/format.hpp"
#include "muffle/evaluate/evaluate.hpp"
#include "rounded.hpp"

namespace muffle::evaluate {
namespace {

/// Beyond, their covariances would take gigabytes and their roots an hour.
constexpr std::size_t kMostNumbers = 4096;

/// Keys of maps of kind "perceptual" that are this metric's, too, as evaluate.frechet_NAME.
struct Borrowed {
  const char *key, *help;
};
constexpr std::array<Borrowed, 4> kKeys{
    {{"network",
      "of \"frechet-distance\": a TorchScript file (*.pt) with a manifest, the public network that looks at "
      "the images"},
     {"layers",
      "of \"frechet-distance\": by which of its outputs images are compared, by their names; [] means all"},
     {"resize",
      "of \"frechet-distance\": how images become those of the network's size (none, bilinear or bicubic)"},
     {"pool",
      "of \"frechet-distance\": channel: by means over places, a number a channel; none: by all numbers"}}};

settings::Value text_value(const char* text) { return {.text = text, .shown = text}; }

/// Frechet's distance between images in the outputs of a public network that the user names: which network,
/// how it was asked and what was averaged stand beside the number.
class FrechetDistanceMetric final : public Metric {
 public:
  FrechetDistanceMetric() : map_(features::make_map("perceptual")) {
    settings::Keys keys("evaluate");
    map_->declare(keys);
    for (const settings::Key& key : keys.take()) {
      if (key.name == "evaluate.resize") key.set(text_value("bilinear"));
      if (key.name == "evaluate.pool") key.set(text_value("channel"));
    }
  }

  std::string_view kind() const override { return "frechet-distance"; }
  std::unique_ptr<Metric> clone() const override { return std::make_unique<FrechetDistanceMetric>(*this); }

  void declare(settings::Keys& keys) override {
    settings::Keys own("evaluate", settings::Stage::kEvaluate);
    map_->declare(own);
    for (settings::Key& key : own.take()) {
      for (const Borrowed& mine : kKeys) {
        if (key.name != fmt::format("evaluate.{}", mine.key)) continue;
        key.name = fmt::format("frechet_{}", mine.key);
        key.help = mine.help;
        key.stage = settings::Stage::kEvaluate;
        keys.add(std::move(key));
        break;
      }
    }
  }

  std::vector<data::DataSpec> real_records(const data::DataSpec& test,
                                           const data::DataSpec& train) const override {
    return own_ ? std::vector{test, train} : std::vector{test};
  }
  bool reads_own_records() const override { return own_; }
  void leave_out_own() override { own_ = false; }

  void problems(const data::Settings& data, settings::Problems& p) const override {
    needs(!data.test_features.empty() && data::find_format(data.format).labels_problem(data.test()).empty(),
          "needs data.test_features and data.test_labels", p);
    needs(!own_ || !data.features.empty(), "compares real training images, but data.features names no file",
          p);
    needs(!own_ || data.shards != data::ShardRule::kPerRank,
          "compares all real training images in one process, and with one file a rank (data.shards = "
          "\"per-rank\") no process may read them all: leave it out",
          p);
    p.check("evaluate.metrics has \"frechet-distance\", and of its keys evaluate.frechet_...: ",
            [&] { resolved(data.schema); });
  }

  void sample_problems(const schema::Schema&, std::uint64_t count, settings::Problems& p) const override {
    needs(count >= 2, "compares two samples or more, but sample.count is below 2", p);
  }

  Findings score(const Subject& subject) const override {
    const auto map = resolved(subject.test.schema);
    const features::PerceptualSpec& spec = spec_of(*map);
    const NetworkDistances found = network_distances(subject, spec, own_);
    const Fineness fine, coarse = fineness_of_own(subject);
    Findings out;
    FoundTable& table = out.tables.emplace_back();
    table.title = "Frechet distance in a public network's outputs";
    table.columns = {"to real test images"};
    FoundTable::Row synthetic{"synthetic images",
                              {fine.number_cell(found.synthetic, {"frechet_distance", "synthetic"})}};
    if (own_) {
      table.columns.emplace_back("to real training images");
      synthetic.cells.push_back(
          coarse.number_cell(*found.training, {"frechet_distance_to_training", "synthetic"}));
    }
    table.rows.push_back(std::move(synthetic));
    if (own_)
      table.rows.push_back(
          {"real test images",
           {Cell{}, coarse.number_cell(*found.floor, {"frechet_distance_to_training", "test"})}});
    nlohmann::json said = map->to_json();
    for (const char* of_releases : {"weights", "moments", "norm"}) said.erase(of_releases);
    said["network"].erase("flops");
    said["samples"] = found.samples;
    out.facts["frechet_distance"]["by"] = std::move(said);
    out.sentences.push_back(convention(spec, found.samples));
    return out;
  }

 private:
  static void needs(bool met, std::string_view what, settings::Problems& p) {
    p.unless(met, fmt::format("evaluate.metrics has \"frechet-distance\", which {}", what));
  }
  static const features::PerceptualSpec& spec_of(const features::FeatureMap& map) {
    return dynamic_cast<const features::PerceptualMap&>(map).spec();
  }

  /// @throws ConfigError  no network, or none for such images.
  std::unique_ptr<features::FeatureMap> resolved(const schema::Schema& schema) const {
    auto map = map_->clone();
    map->resolve(schema);
    if (const std::size_t numbers = spec_of(*map).numbers(); numbers > kMostNumbers)
      throw ConfigError(
          fmt::format("it would compare {} numbers an image, above {}: choose fewer outputs "
                      "(evaluate.frechet_layers), or "
                      "evaluate.frechet_pool = \"channel\".",
                      numbers, kMostNumbers));
    return map;
  }

  /// What anybody needs to make the same number with another program.
  static std::string convention(const features::PerceptualSpec& spec, std::uint64_t samples) {
    std::vector<std::string> layers;
    for (const features::NetworkLayer& layer : spec.layers) layers.push_back(layer.name);
    const features::NetworkInput& in = spec.input;
    const bool same = spec.image[1] == in.height && spec.image[2] == in.width;
    const std::string size =
        same ? fmt::format("{} x {} pixels, as they are", in.height, in.width)
             : fmt::format("{} x {} pixels, from {} x {} ({}, no antialiasing, corners not aligned)",
                           in.height, in.width, spec.image[1], spec.image[2],
                           spec.resize == features::Resize::kBilinear ? "bilinear" : "bicubic, clipped");
    return fmt::format(
        "Squared Frechet distance of two normal laws, covariances by n - 1, of {} numbers an image ({}) in "
        "{} of the network with SHA-256 {}, licence {}; {} synthetic images; it takes {}, {} channels in {} "
        "order, ({:g} x - [{:g}]) / [{:g}] of x in [0, 1]. Distances by other networks, outputs, sizes or "
        "numbers of images cannot be compared with it.",
        spec.numbers(), spec.pooled ? "means over places" : "all places", fmt::join(layers, ", "),
        spec.network.digest, spec.network.license, samples, size, in.channels, in.bgr ? "bgr" : "rgb",
        in.scale, fmt::join(in.mean, ", "), fmt::join(in.std, ", "));
  }

  Cloned<features::FeatureMap> map_;  ///< how the network is asked, as a release's map says it
  bool own_ = true;                   ///< against the release's own records, too
};

}  // namespace

std::unique_ptr<Metric> make_frechet_distance_metric() { return std::make_unique<FrechetDistanceMetric>(); }

}  // namespace muffle::evaluate
