// In programs without LibTorch: a block for each kind of map that needs it, which refuses. The tables of
// kinds find it in place of src/networks/<kind>_block.cpp.
#include "muffle/core/error.hpp"
#include "muffle/networks/network_block.hpp"

namespace muffle::networks {
namespace {

[[noreturn]] void refuse() {
  throw ConfigError(
      "the records are summed by a map that needs LibTorch, and this program was not passed on to the one "
      "that has it: name the map's kind in the configuration file, or use `muffle run`; at a site, start "
      "`muffle site run` again, for features.networks was changed since. Nothing was charged.");
}

}  // namespace

#define MUFFLE_KIND(kind)                                                \
  NetworkBlockKind kind##_block();                                       \
  NetworkBlockKind kind##_block() {                                      \
    return {#kind,                                                       \
            [](const features::FeatureMap&, const features::Lattice&,    \
               Code) -> std::unique_ptr<features::Block> { refuse(); }}; \
  }
#include "block_kinds.inc"

}  // namespace muffle::networks
