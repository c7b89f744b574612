#include "muffle/release/artifact.hpp"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstring>

#include "artifact_header.hpp"
#include "muffle/core/container_view.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/hash.hpp"
#include "muffle/core/round_up.hpp"
#include "muffle/features/lift.hpp"

namespace muffle::release {

static_assert(std::endian::native == std::endian::little, "the file's integers are copied as they are");

std::size_t require_second_moments(const ReleasePlan& plan, const std::string& user) {
  if (const auto b = plan.second_moments()) return *b;
  std::string held;
  for (const features::NamedMap& map : plan.maps)
    held += fmt::format("{}\"{}\"", held.empty() ? "" : ", ", map.map->kind());
  throw ConfigError(
      fmt::format("{} needs second moments, and the release holds only {}. A release is made once: add a "
                  "section [map.NAME] with kind = {} before the next one, or choose a generator for the maps "
                  "that are there.",
                  user, held, features::second_moments_maps()));
}

std::optional<privacy::Guarantee> promise_of(const Artifact& a) {
  privacy::Guarantee out{a.noise.epsilon, a.noise.delta, a.noise.noise_multiplier};
  const privacy::Combined* several = privacy::combined(a.aggregation);
  if (several == nullptr || !several->same_people) return out;
  // Dong, Roth & Su (JRSS B 2022), Corollary 3.3; every part has the plan's mu.
  const double parts = sqrt_up(static_cast<double>(several->parts.size()));
  const double mu = multiply_up(divide_up(1.0, out.noise_multiplier), parts);
  const std::optional<double> epsilon = privacy::epsilon_to_tell(mu, out.delta);
  if (!epsilon) return std::nullopt;
  out.epsilon = *epsilon;
  out.noise_multiplier = std::nextafter(1.0 / mu, 0.0);
  return out;
}

std::string artifact_bytes(const Artifact& artifact) {
  if (const std::vector<std::string> wrong = contradictions(artifact); !wrong.empty()) {
    throw InvariantError(
        fmt::format("the release contradicts itself and was not written: {}. This is a bug in muffle.",
                    fmt::join(wrong, "; ")));
  }
  return serialize(to_header(artifact), std::as_bytes(std::span(artifact.values)));
}

std::string artifact_hash(const Artifact& artifact) {
  return to_hex(sha256(PublicBytes(artifact_bytes(artifact))));
}

Artifact parse_artifact(std::string_view bytes, const std::string& name) {
  const ContainerView container = view_container(bytes, "muffle-release", kArtifactVersion, name);
  const auto refuse = [&](const std::string& why) {
    return ProtocolError(
        fmt::format("'{}' is not a release that muffle can use: {}. Copy the file again from where it was "
                    "made; a release must not be drawn again to replace it.",
                    name, why));
  };
  Artifact artifact = from_header(container.header, name);
  const auto declared = container.header.at("values").at("count").get<std::uint64_t>();
  if (container.payload.size() % 8 != 0 || declared != container.payload.size() / 8) {
    throw refuse(fmt::format("it declares {} values of 8 bytes, but holds {} bytes of values", declared,
                             container.payload.size()));
  }
  artifact.values.resize(container.payload.size() / 8);
  std::memcpy(artifact.values.data(), container.payload.data(), container.payload.size());
  if (const std::vector<std::string> wrong = contradictions(artifact); !wrong.empty()) {
    throw refuse(fmt::format("{}", fmt::join(wrong, "; ")));
  }
  own_proof(artifact);
  return artifact;
}

void check_map(const Artifact& artifact, std::size_t b) {
  const features::NamedMap& map = artifact.maps.at(b);
  const std::string rebuilt = map.map->hash();
  if (rebuilt == artifact.map_hashes.at(b)) return;
  throw ProtocolError(
      fmt::format("the feature map '{}', rebuilt from its public description, is not the one that the "
                  "release was made with (SHA-256 {} instead of {}): against it there would be nothing but "
                  "noise. Use the muffle that made it, version {}.",
                  map.name, rebuilt, artifact.map_hashes[b], artifact.muffle_version));
}

}  // namespace muffle::release
