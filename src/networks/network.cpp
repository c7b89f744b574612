#include "muffle/networks/network.hpp"

#include <fmt/format.h>
#include <torch/script.h>

#include <algorithm>
#include <sstream>

#include "graph_checks.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/core/hash.hpp"
#include "muffle/core/philox.hpp"

namespace muffle::networks {
namespace {

using features::NetworkInput;
using features::NetworkLayer;
using features::PerceptualSpec;
using features::Resize;
using torch::Tensor;

constexpr std::int64_t kTrialImages = 3;

std::int64_t as_int(std::size_t n) { return static_cast<std::int64_t>(n); }

/// LibTorch's messages hold pages of its own stack; the first line says what is wrong.
std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

Tensor by_channel(const std::vector<double>& numbers, const torch::TensorOptions& like) {
  return torch::tensor(numbers, torch::kFloat64).view({1, -1, 1, 1}).to(like);
}

/// What noise is not: black, white and grey images, one that brightens from left to right, and one whose
/// upper half is black. A network that divides by how much an image varies fails on those.
Tensor simple_images(const PerceptualSpec& spec) {
  const std::int64_t channels = as_int(spec.image[0]), height = as_int(spec.image[1]),
                     width = as_int(spec.image[2]);
  Tensor x = torch::zeros({5, channels, height, width});
  x[1].fill_(1.0f);
  x[2].fill_(0.5f);
  x[3].copy_(torch::linspace(0.0, 1.0, width).expand({channels, height, width}));
  x[4].slice(1, height / 2).fill_(1.0f);
  return x.view({5, -1});
}

/// A tensor, a list, a tuple or a dictionary of tensors, as the manifest lists them.
std::vector<Tensor> all_outputs(const c10::IValue& result, const std::vector<NetworkLayer>& layers) {
  std::vector<Tensor> out;
  if (result.isTensor()) {
    out.push_back(result.toTensor());
  } else if (result.isTensorList()) {
    out = result.toTensorVector();
  } else if (result.isTuple()) {
    for (const c10::IValue& element : result.toTupleRef().elements()) out.push_back(element.toTensor());
  } else if (result.isGenericDict()) {
    const auto dict = result.toGenericDict();
    for (const NetworkLayer& layer : layers) out.push_back(dict.at(layer.name).toTensor());
  }
  if (out.size() != layers.size())
    throw ConfigError(
        fmt::format("it returns {} tensors, and its manifest lists {} outputs", out.size(), layers.size()));
  return out;
}

}  // namespace

struct Network::Opened {
  PerceptualSpec spec;
  std::vector<NetworkLayer> all;    ///< of the network
  std::vector<std::size_t> chosen;  ///< of those, the spec's layers
  torch::jit::Module module;
  Tensor mean, std;

  std::vector<Tensor> run(const Tensor& x) const {
    const NetworkInput& in = spec.input;
    Tensor images = x.view({x.size(0), as_int(spec.image[0]), as_int(spec.image[1]), as_int(spec.image[2])});
    if (spec.resize != Resize::kNone && (spec.image[1] != in.height || spec.image[2] != in.width)) {
      const std::vector<std::int64_t> size{as_int(in.height), as_int(in.width)};
      images = spec.resize == Resize::kBilinear
                   ? torch::upsample_bilinear2d(images, size, /*align_corners=*/false)
                   : torch::upsample_bicubic2d(images, size, /*align_corners=*/false).clamp(0.0, 1.0);
    }
    if (spec.image[0] != in.channels) images = images.expand({-1, as_int(in.channels), -1, -1});
    if (in.bgr) images = images.flip(1);
    // As the file says, whatever it was compiled from: LibTorch's optimiser would try other ways after a few
    // calls.
    const torch::jit::GraphOptimizerEnabledGuard plain(false);
    torch::jit::Module shared = module;
    const c10::IValue result = shared.forward({(images * in.scale - mean) / std});
    const std::vector<Tensor> every = all_outputs(result, all);
    std::vector<Tensor> out;
    for (std::size_t l = 0; l < chosen.size(); ++l) {
      const NetworkLayer& layer = spec.layers[l];
      const Tensor& of = every[chosen[l]];
      const bool flat = of.dim() == 2 && layer.places() == 1;
      if (!(flat || of.dim() == 4) || of.size(0) != x.size(0) || of.size(1) != as_int(layer.channels) ||
          (!flat && (of.size(2) != as_int(layer.height) || of.size(3) != as_int(layer.width))))
        throw ConfigError(
            fmt::format("its output {} has the shape {}, and its manifest says {} x {} x {} x {}", layer.name,
                        fmt::join(of.sizes(), " x "), x.size(0), layer.channels, layer.height, layer.width));
      out.push_back(of.view({x.size(0), as_int(layer.channels), as_int(layer.height), as_int(layer.width)}));
    }
    return out;
  }
};

Tensor trial_images(std::int64_t n, const PerceptualSpec& spec) {
  const CounterStream stream(0, Stream::kParameters);
  Tensor x = torch::empty({n, as_int(spec.image[0] * spec.image[1] * spec.image[2])});
  for (std::int64_t i = 0; i < x.numel(); ++i)
    x.data_ptr<float>()[i] = static_cast<float>(stream.uniform(static_cast<std::uint64_t>(i)));
  return x;
}

Network::Network(const PerceptualSpec& spec, const torch::TensorOptions& like) {
  const std::string name = spec.network.file.string();
  if (name.empty())
    throw ConfigError(fmt::format(
        "the network that the map is made by (SHA-256 {}, {} bytes) is not at hand: give its path "
        "as `network` in the map's section [map.NAME]",
        spec.network.digest, spec.network.bytes));
  const auto fail = [&](const std::string& why) {
    return ConfigError(fmt::format("the network '{}' cannot be used: {}", name, why));
  };
  const std::string bytes = read_file(name);
  if (to_hex(sha256(PublicBytes(bytes))) != spec.network.digest)
    throw fail(fmt::format("its SHA-256 is not {}, that of the map's network", spec.network.digest));
  auto opened = std::make_unique<Opened>();
  opened->spec = spec;
  const features::NetworkManifest manifest = features::read_manifest(name);
  if (manifest.input != spec.input || manifest.nonnegative != spec.nonnegative ||
      manifest.flops != spec.flops || manifest.license != spec.network.license)
    throw fail("the map states another input, other signs, operations or licence than the file itself");
  opened->all = manifest.layers;
  for (const NetworkLayer& layer : spec.layers) {
    const auto at = std::ranges::find(opened->all, layer);
    if (at == opened->all.end())
      throw fail(fmt::format("it has no output {} of the map's shape", layer.name));
    opened->chosen.push_back(static_cast<std::size_t>(at - opened->all.begin()));
  }
  opened->mean = by_channel(spec.input.mean, torch::kFloat32);
  opened->std = by_channel(spec.input.std, torch::kFloat32);
  try {
    std::istringstream in(bytes);
    opened->module = torch::jit::load(in, torch::kCPU);
    opened->module.eval();
    for (torch::Tensor parameter : opened->module.parameters()) parameter.set_requires_grad(false);
    if (hides_code(opened->module))
      throw ConfigError(
          "it runs code that muffle cannot look into, in the background (torch.jit.fork) or behind an "
          "interface");
    if (keeps_state(opened->module))
      throw ConfigError(
          "it changes its own attributes or constants while it runs, or may, so that one image's outputs "
          "could depend on another's (batch norms of torch.jit.script may: export them by torch.jit.trace, "
          "after eval())");
    if (tells(opened->module))
      throw ConfigError("it prints, warns or writes files while it runs, which would tell of records");
    if (const std::string unknown = unknown_operation(opened->module); !unknown.empty())
      throw ConfigError(fmt::format(
          "it calls {}, which muffle does not know to be a function of its inputs and of nothing else, so "
          "that one image's outputs could depend on another's (docs/how-to/perceptual.md, \"Export a "
          "network\")",
          unknown));
    const torch::NoGradGuard no_grad;
    std::vector<Tensor> trials = simple_images(spec).split(1);  // one by one, as a network may see them
    trials.insert(trials.begin(), trial_images(kTrialImages, spec));
    for (const Tensor& images : trials) {
      for (const Tensor& output : opened->run(images)) {
        if (output.scalar_type() != torch::kFloat32) throw ConfigError("its outputs are no float32 numbers");
        if (!torch::isfinite(output).all().item<bool>())
          throw ConfigError("of a public image it makes numbers that are not finite");
        if (spec.nonnegative && (output < 0).any().item<bool>())
          throw ConfigError(
              "its manifest declares signs = \"non-negative\", and of a public image it makes negative "
              "numbers");
      }
    }
    (void)opened->run(trial_images(1, spec));  // so it sees them where images are not treated apart
    opened->module.to(like.device());
    opened->module.to(torch::typeMetaToScalarType(like.dtype()));
    opened->mean = opened->mean.to(like);
    opened->std = opened->std.to(like);
  } catch (const std::exception& e) {
    throw fail(first_line(e.what()));
  }
  opened_ = std::move(opened);
}

Network::~Network() = default;

bool Network::treats_images_apart() const { return networks::treats_images_apart(opened_->module); }

std::vector<Tensor> Network::outputs(const Tensor& x) const { return opened_->run(x); }

}  // namespace muffle::networks
