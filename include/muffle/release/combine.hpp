#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "muffle/release/artifact.hpp"

namespace muffle::release {

// Releases by one plan, of different sites, added up: a site that came too late for a round makes a release
// alone, and joins the others' so. Post-processing of what is released already: nothing is charged.

/// A release to be combined. All of it is untrusted bytes.
struct CombinedFrom {
  std::string name;                      ///< what messages call it
  std::string_view release;              ///< its bytes
  std::optional<std::string> signature;  ///< text of its .sig file, if there is one
};

/// The sum of these releases. Whoever has the same ones makes the same, byte for byte.
/// @param same_people  whether a person may be in several of them: then the squares of mu add up; else the
/// promise is the largest of theirs. @param version  of the muffle that combines
/// @throws ProtocolError  one of them is damaged, or its signature is not its signer's.
/// @throws ConfigError  fewer than two; other plans; several rounds; one is there twice, or a site in two of
/// them; a release of a single site that nobody has signed, so that nobody can tell whose it is; too large an
/// epsilon.
Artifact combine(std::span<const CombinedFrom> releases, bool same_people, const std::string& version);

}  // namespace muffle::release
