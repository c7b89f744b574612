#include "muffle/features/network_manifest.hpp"

#include <fmt/format.h>
#include <zip.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>

#include "muffle/core/error.hpp"
#include "muffle/core/json_text.hpp"
#include "muffle/core/settings.hpp"
#include "muffle/core/watchdog.hpp"

namespace muffle::features {
namespace {

constexpr std::size_t kMostSide = 1 << 12, kMostLayers = 256;
constexpr std::uint64_t kMostManifest = 1 << 20;
constexpr std::string_view kMember = "/extra/muffle.json";

constexpr settings::Range kScales{0, 1e6, false}, kMeans{-1e6, 1e6};

struct Close {
  void operator()(zip_t* archive) const { zip_discard(archive); }
  void operator()(zip_file_t* file) const { zip_fclose(file); }
};

/// In range, each. @throws ProtocolError.
std::vector<double> ranged(const JsonFields& f, const char* key, std::size_t count,
                           const settings::Range& range) {
  std::vector<double> numbers = f.numbers(key, count);
  for (const double x : numbers) {
    if (!range.has(x)) f.fail(key, "has a number that is not " + range.text());
  }
  return numbers;
}

/// The text of the member. @throws ConfigError.
std::string manifest_text(const std::filesystem::path& network) {
  const auto fail = [&](const std::string& why) {
    return ConfigError(fmt::format(
        "'{}' is no network that muffle can use: {}. Export it with launch/export_network.py, or write "
        "a manifest as docs/reference/feature-maps.md says",
        network.string(), why));
  };
  const WatchedStep step("reading", network);
  if (!std::filesystem::is_regular_file(network)) throw fail("there is no such file");
  int code = 0;
  const std::unique_ptr<zip_t, Close> archive(zip_open(network.c_str(), ZIP_RDONLY, &code));
  if (!archive) throw fail("it is no TorchScript file, or cannot be read");
  const zip_int64_t members = zip_get_num_entries(archive.get(), 0);
  for (zip_int64_t i = 0; i < members; ++i) {
    zip_stat_t info;
    if (zip_stat_index(archive.get(), static_cast<zip_uint64_t>(i), 0, &info) != 0 ||
        !(info.valid & ZIP_STAT_NAME) || !std::string_view(info.name).ends_with(kMember))
      continue;
    if (!(info.valid & ZIP_STAT_SIZE) || info.size > kMostManifest) throw fail("its manifest is too long");
    std::string text(info.size, '\0');
    const std::unique_ptr<zip_file_t, Close> file(
        zip_fopen_index(archive.get(), static_cast<zip_uint64_t>(i), 0));
    if (!file || zip_fread(file.get(), text.data(), text.size()) != static_cast<zip_int64_t>(text.size()))
      throw fail("its manifest cannot be read");
    return text;
  }
  throw fail("it has no member extra/muffle.json");
}

}  // namespace

nlohmann::json NetworkInput::to_json() const {
  return {{"channels", channels}, {"height", height}, {"width", width}, {"order", bgr ? "bgr" : "rgb"},
          {"scale", scale},       {"mean", mean},     {"std", std}};
}

NetworkInput NetworkInput::read(const JsonFields& f) {
  f.only({"channels", "height", "width", "order", "scale", "mean", "std"});
  NetworkInput in;
  in.channels = f.integer("channels", 1, 64);
  in.height = f.integer("height", 1, kMostSide);
  in.width = f.integer("width", 1, kMostSide);
  in.bgr = f.choice("order", {"rgb", "bgr"}) == 1;
  in.scale = f.number("scale");
  if (!kScales.has(in.scale)) f.fail("scale", "is not " + kScales.text());
  in.mean = ranged(f, "mean", in.channels, kMeans);
  in.std = ranged(f, "std", in.channels, kScales);
  return in;
}

nlohmann::json NetworkLayer::to_json() const {
  return {{"name", name}, {"channels", channels}, {"height", height}, {"width", width}};
}

NetworkLayer NetworkLayer::read(const JsonFields& f) {
  f.only({"name", "channels", "height", "width"});
  NetworkLayer layer{f.text("name", 64), f.integer("channels", 1, std::uint64_t{1} << 24),
                     f.integer("height", 1, kMostSide), f.integer("width", 1, kMostSide)};
  const auto good = [](char c) { return c > ' ' && c < 127 && c != '=' && c != '"' && c != '\\'; };
  if (layer.name.empty() || !std::ranges::all_of(layer.name, good))
    f.fail("name", "is not of visible ASCII characters other than '=', '\"' and '\\'");
  return layer;
}

bool is_license(std::string_view text) {
  const auto good = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
           c == '.' || c == '+';
  };
  return !text.empty() && text.size() <= 64 && std::ranges::all_of(text, good);
}

NetworkManifest parse_manifest(std::string_view text, const std::string& name) {
  const nlohmann::json parsed = parse_json(text);
  const JsonDocument document{name, "a network whose manifest (extra/muffle.json) muffle can use",
                              "Export it again with launch/export_network.py."};
  try {
    const JsonFields f(parsed, document);
    f.only({"format", "version", "license", "input", "signs", "flops", "layers"});
    (void)f.choice("format", {"muffle network"});
    (void)f.integer("version", 1, 1);
    NetworkManifest out;
    out.license = f.text("license", 64);
    if (!is_license(out.license))
      f.fail("license", "is no SPDX identifier, such as \"MIT\" or \"Apache-2.0\"");
    out.input = NetworkInput::read(f.object("input"));
    out.nonnegative = f.choice("signs", {"any", "non-negative"}) == 1;
    out.flops = f.number("flops");
    if (!(out.flops >= 1 && out.flops <= 1e18)) f.fail("flops", "is not a number from 1 to 1e18");
    std::set<std::string> names;
    for (const JsonFields& layer : f.objects("layers", kMostLayers)) {
      out.layers.push_back(NetworkLayer::read(layer));
      if (!names.insert(out.layers.back().name).second) f.fail("layers", "has a name twice");
    }
    return out;
  } catch (const ProtocolError& e) {
    throw ConfigError(e.what());
  }
}

NetworkManifest read_manifest(const std::filesystem::path& network) {
  return parse_manifest(manifest_text(network), network.string());
}

}  // namespace muffle::features
