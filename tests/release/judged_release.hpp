#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "muffle/core/container.hpp"
#include "muffle/release/verification.hpp"
#include "release/sample_artifact.hpp"

// Releases as files, and what `muffle verify` says of them.
namespace muffle::release::testing_artifact {

/// The release with another header and the checksum that belongs to it.
inline std::string with_header(const std::string& release, const std::function<void(nlohmann::json&)>& edit) {
  Container container = parse_container(release, "muffle-release", kArtifactVersion, "x");
  edit(container.header);
  return serialize(container);
}

inline Verification judge(const std::string& release, const std::function<void(Evidence&)>& more = {}) {
  Evidence evidence{"release.mfl", release, {}, {}, {}};
  if (more) more(evidence);
  return verify_release(evidence);
}

inline std::vector<std::string> failed(const Verification& v) {
  std::vector<std::string> names;
  for (const Check& c : v.checks) {
    if (c.outcome == Check::Outcome::kFail) names.push_back(c.name);
  }
  return names;
}

inline Check::Outcome outcome(const Verification& v, const std::string& name) {
  for (const Check& c : v.checks) {
    if (c.name == name) return c.outcome;
  }
  ADD_FAILURE() << "no check '" << name << "'";
  return Check::Outcome::kFail;
}

}  // namespace muffle::release::testing_artifact
