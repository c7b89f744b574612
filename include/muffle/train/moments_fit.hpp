#pragma once

#include <filesystem>
#include <string>

#include "muffle/comm/host_comm.hpp"
#include "muffle/model/spec.hpp"

namespace muffle::train {

/// Fits the closed-form generator (model/moments_model.hpp) to the second moments of a release and writes
/// model.mfl on root. Needs nothing private. Collective; root alone reads and computes, and all throw alike.
/// @param train_hash  stored in the model file, so that a later run can tell whether it matches.
/// @returns SHA-256 of model.mfl, on every rank.
/// @param generator  its schema is not read: the release says what its records are.
/// @throws ConfigError (no moments in the release, a lift that cannot be drawn from), DataError (the
/// noise hides everything), IoError, ProtocolError, CommError; StoppedError: told to stop between two
/// steps of the fit, nothing was written.
std::string fit_moments(comm::HostComm& comm, const std::filesystem::path& release_file,
                        const std::filesystem::path& model_file, const model::GeneratorSpec& generator,
                        const std::string& train_hash);

}  // namespace muffle::train
