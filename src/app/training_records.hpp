#pragma once

#include <memory>
#include <string>

#include "muffle/app/commands.hpp"
#include "muffle/train/trainer.hpp"

namespace muffle::app {

// Of train.match = "records", the one training that reads private records. What it makes is NOT PRIVATE, so
// it takes only a release that was made so on purpose, of these settings and files: then the ledger of the
// data set knows, and every file that is made of the release says so.

/// Before anything is charged. Collective. @throws ConfigError  the job's release would have noise.
void require_no_noise_to_match(const Context& context);
/// Collective; root looks. @param bytes  of the release. @throws ConfigError, ProtocolError, IoError.
void require_release_of_records(const Context& context, const std::string& bytes, const std::string& name);
/// All records, on each of the ranks that train. @param spec  prepare_records()
/// @throws on every rank: DataError, IoError.
std::shared_ptr<const train::RealRecords> read_training_records(comm::HostComm& training,
                                                                const data::DataSpec& spec,
                                                                const comm::Detachment::Heartbeat& heartbeat);

}  // namespace muffle::app
