#include "training_records.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <utility>

#include "muffle/core/error.hpp"
#include "muffle/data/labelled_records.hpp"
#include "muffle/release/artifact.hpp"
#include "place_of_data.hpp"

namespace muffle::app {

void require_no_noise_to_match(const Context& context) {
  if (!context.config.train.match_records || context.no_noise) return;
  comm::agree(context.comm, "looking whether records may be matched", true, [&] {
    if (!context.comm.is_root()) return;
    throw ConfigError(
        "train.match = \"records\" trains on the private records themselves, so the whole job has to be NOT "
        "PRIVATE: say --insecure-no-noise, with a data.id of its own, or leave train.match at \"sums\". "
        "Nothing was read or charged.");
  });
}

void require_release_of_records(const Context& context, const std::string& bytes, const std::string& name) {
  comm::agree(context.comm, "looking whether records may be matched", true, [&] {
    if (!context.comm.is_root()) return;
    const release::Artifact release = release::parse_artifact(bytes, name);
    if (release.is_private || !release.without_noise) {
      throw ConfigError(fmt::format(
          "train.match = \"records\" trains on the private records themselves, and '{}' is a "
          "release with noise: a model of it must not have seen them. Give one that was made with "
          "--insecure-no-noise, or leave train.match at \"sums\". No record was read.",
          name));
    }
    if (release.config_hash != release_hash(context.config)) {
      throw ConfigError(fmt::format(
          "train.match = \"records\" reads the records again that a release without noise was made "
          "of, and '{}' was made of other files or by other settings than these: give its own "
          "configuration. No record was read.",
          name));
    }
    spdlog::warn("train: the network is trained on the private records themselves: it is NOT PRIVATE");
  });
}

std::shared_ptr<const train::RealRecords> read_training_records(
    comm::HostComm& training, const data::DataSpec& spec, const comm::Detachment::Heartbeat& heartbeat) {
  auto out = std::make_shared<train::RealRecords>();
  heartbeat(/*at_once=*/true);
  comm::agree(training, "reading the records", true, [&] {
    data::LabelledRecords records =
        data::read_labelled(spec, 0, [&] { training.check_peers("reading the records"); });
    if (records.size() == 0)
      throw DataError("no record has a label of the schema's, so that there is nothing to train on.");
    *out = {std::move(records.x), std::move(records.y)};
  });
  heartbeat(/*at_once=*/true);
  return out;
}

}  // namespace muffle::app
