// The sections of a configuration, joined from what the rooms declare.
#include <iterator>

#include "muffle/app/config.hpp"
#include "muffle/data/format.hpp"

namespace muffle::app {

using comm::DeviceWish;
using settings::Keys;

synth::Formats sample_formats() {
  static const std::vector<const schema::RecordFormat*> all = [] {
    std::vector<const schema::RecordFormat*> formats;
    for (const data::FormatKind& kind : data::format_kinds()) formats.push_back(kind.format);
    return formats;
  }();
  return all;
}

namespace {

/// Of site.toml and coordinator.toml.
std::vector<settings::Key> party_keys(Config& c) {
  std::vector<settings::Key> all;
  const auto section = [&all](std::string name, const auto& declare) {
    Keys keys(std::move(name));
    declare(keys);
    std::vector<settings::Key> some = keys.take();
    std::move(some.begin(), some.end(), std::back_inserter(all));
  };
  section("site", [&](Keys& k) {
    k.text("exchange", c.party->exchange,
           "the folder where the consortium's messages lie; a relative name begins at this file's folder. Or "
           "the https:// address of a server: then `sync` carries them between it and the folder exchange/ "
           "here, where all other verbs work");
    if (!c.party->site) return;
    k.count("parts", c.party->parts, 1, 1 << 16,
            "into how many equal parts the files' records are divided, of which this site has one: for "
            "`muffle simulate`");
    k.count("part", c.party->part, 0, (1 << 16) - 1, "which one, from 0");
  });
  section("exchange", [&](Keys& k) { http::declare(k, c.party->network); });
  if (!c.party->site) return all;
  section("policy", [&](Keys& k) { c.party->policy.declare(k); });
  section("privacy", [&](Keys& k) { c.ledger.declare(k); });
  section("data", [&](Keys& k) {
    data::declare(k, c.data);
    k.text("id", c.ledger.data_id,
           "the name of this site's records in its privacy ledger; public: contributions say it");
  });
  section("features", [&](Keys& k) {
    k.choice("device", c.devices.embed,
             {{"auto", DeviceWish::kAuto}, {"cpu", DeviceWish::kCpu}, {"cuda", DeviceWish::kCuda}},
             "where maps are summed that GPUs can sum");
    k.texts("networks", c.party->networks, "[\"resnet18.pt\"]",
            "public networks (*.pt) that this site has, for rounds whose maps are made by one: each is found "
            "by its hash. A relative name begins at this file's folder");
  });
  section("runtime", [&](Keys& k) {
    k.number(
        "deadline_s", c.runtime.deadline_s, {1, 1e6},
        "a rank of this site's job (mpirun muffle site step) that is silent for so many seconds is given up");
    k.count("threads", c.runtime.threads, 0, 4096, "threads per rank; 0: the cores that the rank owns");
    k.flag("share_gpus", c.devices.share_gpus, "several ranks may use one GPU");
  });
  return all;
}

}  // namespace

std::vector<std::string> usual_formats(const schema::Schema& schema) {
  return {schema.table ? "csv" : "npz"};
}

std::vector<settings::Key> keys_of(Config& c) {
  if (c.party) return party_keys(c);
  std::vector<settings::Key> all;
  const auto section = [&all](std::string name, Stage stage, const auto& declare) {
    Keys keys(std::move(name), stage);
    declare(keys);
    std::vector<settings::Key> some = keys.take();
    std::move(some.begin(), some.end(), std::back_inserter(all));
  };
  section("data", Stage::kRelease, [&](Keys& k) {
    data::declare(k, c.data);
    k.stage(Stage::kRuntime)
        .text("id", c.ledger.data_id,
              "the data set's name in the privacy ledger; empty: made from the record file's path");
  });
  section("features", Stage::kRelease, [&](Keys& k) {
    c.features.declare(k);
    k.stage(Stage::kRuntime)
        .choice("device", c.devices.embed,
                {{"auto", DeviceWish::kAuto}, {"cpu", DeviceWish::kCpu}, {"cuda", DeviceWish::kCuda}},
                "where maps are summed that GPUs can sum");
  });
  for (auto& [name, map] : c.features.maps)
    section("map." + name, Stage::kRelease, [&, &map = map](Keys& k) { map.declare(k); });
  section("privacy", Stage::kRelease, [&](Keys& k) {
    c.privacy.declare(k);
    k.flag("release_counts", c.release_counts,
           "release noisy class counts too (for imbalanced or private class sizes)");
    c.aggregation.declare(k);
    c.ledger.declare(k);
    k.text("signing_key", c.signing_key,
           "key file (muffle keygen) with which the coordinator signs the release; empty: not signed");
  });
  section("model", Stage::kTrain, [&](Keys& k) { c.model.declare(k); });
  section("train", Stage::kTrain, [&](Keys& k) { c.train.declare(k); });
  section("sample", Stage::kSample, [&](Keys& k) { synth::declare(k, c.sample, sample_formats()); });
  section("evaluate", Stage::kEvaluate, [&](Keys& k) { evaluate::declare(k, c.evaluate); });
  section("runtime", Stage::kRuntime, [&](Keys& k) {
    k.number("deadline_s", c.runtime.deadline_s, {1, 1e6},
             "a rank that is silent for so many seconds while others wait for it is given up");
    k.count("threads", c.runtime.threads, 0, 4096, "threads per rank; 0: the cores that the rank owns");
    k.flag("share_gpus", c.devices.share_gpus, "several ranks may use one GPU");
  });
  return all;
}

}  // namespace muffle::app
