#include "muffle/site/own_networks.hpp"

#include <fmt/format.h>

#include <utility>

#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/core/hash.hpp"

namespace muffle::site {
namespace {

std::vector<const features::Asset*> assets_of(std::span<const features::NamedMap> maps) {
  std::vector<const features::Asset*> out;
  for (const features::NamedMap& map : maps) {
    const features::Asset* const asset = std::as_const(*map.map).asset();
    if (asset != nullptr) out.push_back(asset);
  }
  return out;
}

/// @returns the file's hash if its size is that of an asset. @throws IoError.
std::string hash_if_it_fits(const std::string& file, std::span<const features::Asset* const> assets) {
  const std::uint64_t size = InputFile(file, "a network", "Check features.networks.").size();
  for (const features::Asset* const asset : assets) {
    if (asset->bytes == size) return sha256_file_hex(PublicFile(file));
  }
  return {};
}

}  // namespace

OwnNetworks find_networks(std::span<const features::NamedMap> maps, std::span<const std::string> files) {
  OwnNetworks own;
  const std::vector<const features::Asset*> assets = assets_of(maps);
  if (assets.empty()) return own;
  for (const std::string& file : files) {
    try {
      const std::string hash = hash_if_it_fits(file, assets);
      bool wanted = false;
      for (const features::Asset* const asset : assets) wanted = wanted || asset->digest == hash;
      if (wanted) {
        own.files[hash] = file;
      } else {
        own.others.push_back(fmt::format("'{}' is another file", file));
      }
    } catch (const IoError& e) {
      own.others.emplace_back(e.what());
    }
  }
  return own;
}

std::string lacking_networks(std::span<const features::NamedMap> maps, const OwnNetworks& own) {
  std::vector<std::string> lacking;
  for (const features::NamedMap& map : maps) {
    const features::Asset* const asset = std::as_const(*map.map).asset();
    if (asset == nullptr || own.files.contains(asset->digest)) continue;
    lacking.push_back(
        fmt::format("the map \"{}\" is made by a public network with the SHA-256 {}, {} bytes, licence {}",
                    map.name, asset->digest, asset->bytes, asset->license));
  }
  if (lacking.empty()) return {};
  return fmt::format("{}, which features.networks of site.toml does not have{}{}", fmt::join(lacking, "; "),
                     own.others.empty() ? "" : ": ", fmt::join(own.others, "; "));
}

}  // namespace muffle::site
