// What `muffle verify` chooses and works out again of a release in rounds. Input: fuzz::container_file().
#include <optional>

#include "fuzz.hpp"
#include "muffle/core/error.hpp"
#include "muffle/pair_graph/rounds.hpp"
#include "muffle/release/artifact.hpp"

namespace {

using namespace muffle;

constexpr double kMostNumbers = 1 << 12;

std::optional<release::Artifact> parse(const std::string& bytes) {
  try {
    release::Artifact out = release::parse_artifact(bytes, "release.mfl");
    double numbers = 0;
    for (const features::NamedMap& map : out.maps) numbers += map.map->numbers_in_map();
    if (numbers <= kMostNumbers) return out;
  } catch (const ProtocolError&) {
  }
  return std::nullopt;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto artifact = parse(fuzz::container_file(data, size));
  if (!artifact) return 0;
  const std::optional<release::Check> check = pair_graph::repeat_choices(*artifact);
  fuzz::demand(check || artifact->rounds() == 1, "a release in rounds is judged");
  fuzz::demand(!check || (check->name == release::kRounds && !check->detail.empty()), "a reason");
  return 0;
}
