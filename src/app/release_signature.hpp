#pragma once

#include <optional>

#include "muffle/app/commands.hpp"
#include "muffle/comm/site_keys.hpp"

namespace muffle::app {

/// The key of privacy.signing_key; none if releases are not signed. Root only, and before anything is
/// charged: a key that cannot be read must not cost a release. @throws ConfigError, IoError.
std::optional<comm::SiteKey> signing_key(const Config& config);

/// Writes release.mfl.sig for the release in the run folder, unless exactly that is there. Between the
/// artifact and its COMMIT; a job that is killed before makes the same bytes once more. Root only.
void sign_release_file(const Context& context);

}  // namespace muffle::app
