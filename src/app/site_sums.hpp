// A site's own records, summed for a round by the ranks of its job.
#pragma once

#include <filesystem>

#include "muffle/app/commands.hpp"
#include "muffle/round/step.hpp"

namespace muffle::app {

/// The site's settings as they are now, the same on all ranks of its job. Collective.
/// @throws ConfigError  on all ranks: they differ, or are wrong.
PartyConfig settings_of_job(comm::HostComm& comm, const std::filesystem::path& folder);

/// What a rank of the site's job finds in its part of the records. Collective. Private.
/// @throws DataError, ConfigError, IoError, CommError  agreed.
round::OwnSums sum_part(const SiteMachine& machine, const std::filesystem::path& folder,
                        const release::ReleasePlan& plan);

}  // namespace muffle::app
