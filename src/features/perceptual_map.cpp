// Outputs of a public network as features (muffle/features/perceptual.hpp): what is known without running it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/core/hash.hpp"
#include "muffle/core/kinds.hpp"
#include "muffle/core/text.hpp"
#include "muffle/features/perceptual.hpp"

namespace muffle::features {
namespace {

constexpr std::uint64_t kMostFeatures = std::uint64_t{1} << 26, kMostDims = std::uint64_t{1} << 20;
constexpr std::size_t kMostLayers = 256;
constexpr settings::Range kWeights{1e-6, 1e6};
constexpr double kTile = 16;  ///< images at a time, for the memory that is said

const char* name_of(Resize resize) {
  return resize == Resize::kNone ? "none" : resize == Resize::kBilinear ? "bilinear" : "bicubic";
}

/// "NAME=NUMBER"; nothing: it is not of that form.
std::optional<std::pair<std::string, double>> weight_of(const std::string& text) {
  const std::size_t at = text.rfind('=');
  if (at == std::string::npos || at == 0) return std::nullopt;
  char* end = nullptr;
  const std::string number = text.substr(at + 1);
  const double weight = std::strtod(number.c_str(), &end);
  if (number.empty() || *end != '\0' || !kWeights.has(weight)) return std::nullopt;
  return std::pair{text.substr(0, at), weight};
}

class Perceptual final : public PerceptualMap {
 public:
  std::string_view kind() const override { return "perceptual"; }
  std::unique_ptr<FeatureMap> clone() const override { return std::make_unique<Perceptual>(*this); }

  void declare(settings::Keys& keys) override {
    keys.add(
        {.name = "network",
         .stage = {},
         .help = "a TorchScript file (*.pt) with a manifest: the public network whose outputs are released",
         .set = [this](const settings::Value& v) -> std::string {
           if (v.kind != settings::Value::Kind::kString || !(v.text.empty() || v.text.ends_with(".pt")) ||
               (v.text.empty() && !path_.empty()))
             return settings::wanted("the path of a TorchScript file, *.pt", v);
           path_ = v.text;
           return {};
         },
         .get = [this] { return settings::toml_string(path_); }});
    keys.texts("layers", wanted_, "[\"conv4_1\", \"conv5_1\"]",
               "which outputs, by the names in its manifest; [] means all");
    keys.texts("weights", weights_, "[\"conv4_1=2\"]", "of layers, relative to the others', which have 1",
               [](const std::string& text) {
                 return weight_of(text) ? std::string() : fmt::format("\"{}\" is no NAME=NUMBER", text);
               });
    keys.choice("resize", spec_.resize,
                {{"none", Resize::kNone}, {"bilinear", Resize::kBilinear}, {"bicubic", Resize::kBicubic}},
                "how images become those of the network's size");
    keys.count("moments", spec_.moments, 1, 2, "2: the squares of the outputs beside them (DP-MEPF's phi_2)");
    keys.choice("norm", spec_.whole, {{"layer", false}, {"whole", true}},
                "layer: each layer is brought to a norm of its own; whole: all together, as published");
    keys.choice("pool", spec_.pooled, {{"none", false}, {"channel", true}},
                "channel: means over an image, a number a channel");
  }

  void prepare(const schema::Schema&) override {
    try {
      find_network();
    } catch (const ConfigError&) {  // resolve() says so: later stages may not need the file
    }
  }

  void resolve(const schema::Schema& schema) override {
    find_network();
    if (spec_.network.digest.empty())
      throw ConfigError(
          "network is required: the path of a TorchScript file that launch/export_network.py has made");
    if (manifest_) choose_layers();
    if (!schema.is_image())
      throw ConfigError("its records must be images: data.shape = [channels, height, width]");
    spec_.image = schema.shape;
    const NetworkInput& in = spec_.input;
    if (spec_.image[0] != in.channels && spec_.image[0] != 1)
      throw ConfigError(fmt::format("the network takes images of {} channels, and the records have {}",
                                    in.channels, spec_.image[0]));
    if (spec_.resize == Resize::kNone && (spec_.image[1] != in.height || spec_.image[2] != in.width))
      throw ConfigError(fmt::format(
          "the network takes images of {} x {} pixels, and the records have {} x {}: set resize = "
          "\"bilinear\" or \"bicubic\", or export the network for that size",
          in.height, in.width, spec_.image[1], spec_.image[2]));
    if (schema.dims() > kMostDims) throw ConfigError("the records have too many numbers");
    if (spec_.whole && std::ranges::any_of(spec_.weights, [](double w) { return w != 1.0; }))
      throw ConfigError(
          "weights are of layers with norms of their own: leave them out, or set norm = \"layer\"");
    if (spec_.numbers() > kMostFeatures / spec_.moments)
      throw ConfigError(fmt::format("{} numbers a record are more than {}", spec_.numbers() * spec_.moments,
                                    kMostFeatures));
  }

  nlohmann::json to_json() const override {
    nlohmann::json layers = nlohmann::json::array();
    for (const NetworkLayer& layer : spec_.layers) layers.push_back(layer.to_json());
    return {{"network",
             {{"sha256", spec_.network.digest},
              {"bytes", spec_.network.bytes},
              {"license", spec_.network.license},
              {"flops", spec_.flops}}},
            {"input", spec_.input.to_json()},
            {"resize", name_of(spec_.resize)},
            {"signs", spec_.nonnegative ? "non-negative" : "any"},
            {"layers", std::move(layers)},
            {"weights", spec_.weights},
            {"moments", spec_.moments},
            {"norm", spec_.whole ? "whole" : "layer"},
            {"pool", spec_.pooled ? "channel" : "none"}};
  }

  void read_json(const JsonFields& f) override {
    f.only({"network", "input", "resize", "signs", "layers", "weights", "moments", "norm", "pool"});
    const JsonFields network = f.object("network");
    network.only({"sha256", "bytes", "license", "flops"});
    spec_ = {};
    spec_.network = {network.hex("sha256", 64), network.integer("bytes", 1, std::uint64_t{1} << 40),
                     network.text("license", 64)};
    if (!is_license(spec_.network.license)) network.fail("license", "is no SPDX identifier");
    spec_.flops = network.number("flops");
    if (!(spec_.flops >= 1 && spec_.flops <= 1e18)) network.fail("flops", "is not a number from 1 to 1e18");
    spec_.input = NetworkInput::read(f.object("input"));
    spec_.resize = static_cast<Resize>(f.choice("resize", {"none", "bilinear", "bicubic"}));
    spec_.nonnegative = f.choice("signs", {"any", "non-negative"}) == 1;
    for (const JsonFields& layer : f.objects("layers", kMostLayers))
      spec_.layers.push_back(NetworkLayer::read(layer));
    spec_.weights = f.numbers("weights", spec_.layers.size());
    for (const double w : spec_.weights) {
      if (!kWeights.has(w)) f.fail("weights", "has a number that is not " + kWeights.text());
    }
    spec_.moments = f.integer("moments", 1, 2);
    spec_.whole = f.choice("norm", {"layer", "whole"}) == 1;
    spec_.pooled = f.choice("pool", {"none", "channel"}) == 1;
  }

  const PerceptualSpec& spec() const override { return spec_; }
  Asset* asset() override { return &spec_.network; }

  std::size_t dims() const override { return spec_.image[0] * spec_.image[1] * spec_.image[2]; }
  std::size_t features() const override { return spec_.moments * spec_.numbers(); }
  std::vector<std::size_t> stretches() const override {
    std::vector<std::size_t> out;
    for (std::uint64_t moment = 0; moment < spec_.moments; ++moment) {
      for (std::size_t l = 0; l < spec_.layers.size(); ++l) out.push_back(spec_.numbers(l));
    }
    return out;
  }
  BlockBound bound() const override {
    std::string theorem =
        "Outputs of a public network, brought to norm 1 record by record (Harder et al. 2023); enforced per "
        "record in "
        "integers: squared norm at most 2^(2k)";
    theorem += spec_.nonnegative ? ", and no number below 0, so that no inner product of two records is."
                                 : ". Numbers may be negative.";
    return {.norm = 1.0, .nonnegative_kernel = spec_.nonnegative, .theorem = std::move(theorem)};
  }
  PlainFacts plain_facts(const Lattice& lattice) const override {
    long double count = 0;
    for (const NetworkLayer& layer : spec_.layers)
      count +=
          static_cast<long double>(layer.channels) *
          (spec_.pooled ? 1.0L
                        : static_cast<long double>(layer.height) * static_cast<long double>(layer.width));
    return {1,
            spec_.nonnegative,
            {{count * static_cast<long double>(spec_.moments), std::pow(2.0L, lattice.bits)}}};
  }

  MapCost cost() const override {
    double outputs = 0.0;
    for (const NetworkLayer& layer : spec_.layers) outputs += static_cast<double>(layer.numbers());
    // The network's file has its parameters, once on the disk and once in use; a tile's outputs, and as much
    // on the way.
    return {
        spec_.flops, 2 * spec_.network.bytes,
        static_cast<std::uint64_t>(kTile * (8.0 * outputs + 4.0 * static_cast<double>(features() + dims())))};
  }
  double numbers_in_map() const override { return 64.0 * static_cast<double>(spec_.layers.size() + 1); }
  std::string hash() const override {
    nlohmann::json all = to_json();
    all["image"] = spec_.image;
    return to_hex(sha256(PublicBytes(all.dump())));
  }

  bool needs_torch() const override { return true; }
  std::unique_ptr<Block> make_block(const Lattice&) const override {
    throw ConfigError(
        "maps of kind \"perceptual\" run a network with LibTorch: `muffle` does, and this program has none");
  }

 private:
  /// Takes what the configured file says, once. @throws ConfigError.
  void find_network() {
    if (path_.empty() || spec_.network.file == path_) return;
    manifest_ = read_manifest(path_);
    spec_.network = {sha256_file_hex(PublicFile(path_)), std::filesystem::file_size(path_),
                     manifest_->license, path_};
    spec_.input = manifest_->input;
    spec_.flops = manifest_->flops;
    spec_.nonnegative = manifest_->nonnegative;
  }

  /// Those that were asked for. @throws ConfigError.
  void choose_layers() {
    const std::vector<NetworkLayer>& all = manifest_->layers;
    const auto known = [&](const std::string& name) {
      return std::ranges::find_if(all, [&](const NetworkLayer& layer) { return layer.name == name; });
    };
    const auto none = [&](const std::string& name) {
      std::vector<std::string> names;
      for (const NetworkLayer& layer : all) names.push_back(layer.name);
      return ConfigError(
          fmt::format("the network has no output \"{}\"; it has {}", name, fmt::join(names, ", ")));
    };
    spec_.layers.clear();
    for (const std::string& name : wanted_) {
      if (known(name) == all.end()) throw none(name);
      spec_.layers.push_back(*known(name));
    }
    if (wanted_.empty()) spec_.layers = all;
    spec_.weights.assign(spec_.layers.size(), 1.0);
    for (const std::string& text : weights_) {
      const auto [name, weight] = *weight_of(text);
      if (known(name) == all.end()) throw none(name);
      for (std::size_t l = 0; l < spec_.layers.size(); ++l) {
        if (spec_.layers[l].name == name) spec_.weights[l] = weight;
      }
    }
  }

  std::string path_;                         ///< as configured
  std::vector<std::string> wanted_;          ///< layers
  std::vector<std::string> weights_;         ///< "NAME=NUMBER"
  std::optional<NetworkManifest> manifest_;  ///< of the file at spec_.network.file; none: a release's map
  PerceptualSpec spec_;
};

}  // namespace

MapKind perceptual_map() {
  return {"perceptual", "outputs of a public network, for images (DP-MEPF): a network is trained on them",
          [] { return std::unique_ptr<FeatureMap>(std::make_unique<Perceptual>()); }};
}

}  // namespace muffle::features
