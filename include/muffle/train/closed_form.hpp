#pragma once

#include <filesystem>
#include <string>

#include "muffle/comm/host_comm.hpp"
#include "muffle/model/generator_kind.hpp"

namespace muffle::train {

/// Fits a closed-form generator to a release and writes model.mfl on root. Needs nothing private. Collective;
/// root alone reads and computes, and all throw alike.
/// @param train_hash  stored in the model file, so that a later run can tell whether it matches.
/// @returns SHA-256 of model.mfl, on every rank.
/// @throws ConfigError (the release lacks what the generator is made of), DataError (the noise hides
/// everything), IoError, ProtocolError, CommError; StoppedError: told to stop between two steps of the fit,
/// nothing was written.
std::string fit_closed_form(comm::HostComm& comm, const std::filesystem::path& release_file,
                            const std::filesystem::path& model_file,
                            const model::ClosedFormSettings& generator, const std::string& train_hash);

}  // namespace muffle::train
