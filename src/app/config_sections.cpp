// The sections of a configuration, joined from what the rooms declare.
#include <iterator>

#include "muffle/app/config.hpp"
#include "muffle/data/format.hpp"
#include "muffle/privacy/accountant.hpp"
#include "muffle/privacy/sensitivity.hpp"
#include "muffle/synth/pictures.hpp"

namespace muffle::app {
namespace {

using settings::Keys;
using settings::Range;
using settings::Value;

void declare_privacy(Keys& keys, Config& c) {
  constexpr Range kDeltas{privacy::kMinDelta, privacy::kMaxDelta};
  keys.stage(Stage::kRelease);
  keys.optional_number("epsilon", c.privacy.epsilon, "with delta: the guarantee; or give noise_multiplier");
  keys.number("delta", c.privacy.delta, kDeltas, "delta");
  keys.optional_number("noise_multiplier", c.privacy.noise_multiplier,
                       "sigma / sensitivity, instead of epsilon");
  keys.choice("adjacency", c.privacy.adjacency,
              {{"replace-one", privacy::Adjacency::kReplaceOne},
               {"add-remove-one", privacy::Adjacency::kAddRemoveOne}},
              "what a neighbouring data set is");
  keys.count("max_records_per_person", c.privacy.max_records_per_person, 0, privacy::kMaxRecordsPerPerson,
             "q, required: how many records one person can own");
  keys.flag("release_counts", c.release_counts,
            "release noisy class counts too (for imbalanced or private class sizes)");
  keys.flag("secure_aggregation", c.aggregation.secure,
            "mask every rank's sum, so that nobody sees it but the total");
  keys.flag("distributed_noise", c.aggregation.distributed,
            "every rank adds a share of the noise, so that nobody sees the exact total; needs masks");
  keys.count("colluding_ranks", c.aggregation.colluding, 0, 1 << 20,
             "distributed noise: how many ranks may pool what they know, a curious coordinator counted");
  keys.stage(Stage::kRuntime);
  keys.text("site_key", c.aggregation.site_key,
            "key file that signs this rank's masks (muffle keygen); \"{rank}\" stands for the rank's number");
  keys.text("site_roster", c.aggregation.site_roster,
            "whose keys are accepted: a line \"RANK SITE KEY\" for each rank");
  keys.text("ledger", c.ledger.file,
            "the data set's ledger of releases; empty: ledger-<data.id>.jsonl beside the run folder");
  keys.optional_number(
      "budget_epsilon", c.ledger.budget_epsilon,
      "the most that all releases of the data set may spend together; needs data.id and privacy.ledger");
  keys.number("budget_delta", c.ledger.budget_delta, kDeltas, "the budget's delta");
  keys.text("signing_key", c.signing_key,
            "key file (muffle keygen) with which the coordinator signs the release; empty: not signed");
}

/// auto: a GPU for each rank, or the CPU for all; cuda: a GPU for each, or an error.
std::vector<std::pair<std::string, comm::DeviceWish>> device_wishes() {
  return {
      {"auto", comm::DeviceWish::kAuto}, {"cpu", comm::DeviceWish::kCpu}, {"cuda", comm::DeviceWish::kCuda}};
}

void declare_model(Keys& keys, model::GeneratorSpec& model) {
  keys.choice("generator", model.kind,
              {{"fully-connected", model::GeneratorKind::kFullyConnected},
               {"convolutional", model::GeneratorKind::kConvolutional},
               {"moments", model::GeneratorKind::kMoments}},
              "architecture; moments: closed form, not trained");
  keys.number("plain_share", model.plain_share, {0, 1},
              "moments: share of records with plainly clipped numbers; the others' keep mean and variance");
  keys.count("code", model.code, 1, 1 << 16, "length of the latent code");
  keys.sizes("hidden", model.hidden, "hidden widths of the fully connected part");
  keys.sizes("channels", model.channels, "convolutional: channels before and between the convolutions");
}

settings::Key training_ranks_key(comm::RankWish& wish) {
  using Kind = comm::RankWish::Kind;
  return {"ranks",
          {},
          "which ranks train (\"all\", \"with-gpu\": those with a GPU of their own, or a number: the first "
          "so many); the "
          "others wait",
          [&wish](const Value& v) {
            if (v.kind == Value::Kind::kString && v.text == "all") {
              wish = {Kind::kAll, 0};
            } else if (v.kind == Value::Kind::kString && v.text == "with-gpu") {
              wish = {Kind::kWithGpu, 0};
            } else if (v.kind == Value::Kind::kInteger && v.integer >= 1) {
              wish = {Kind::kFirst, v.integer};
            } else {
              return settings::wanted("\"all\", \"with-gpu\" or a whole number of ranks from 1", v);
            }
            return std::string();
          },
          [&wish] {
            if (wish.kind == Kind::kFirst) return std::to_string(wish.count);
            return settings::toml_string(wish.kind == Kind::kAll ? "all" : "with-gpu");
          }};
}

void declare_train(Keys& keys, Config& c) {
  constexpr std::int64_t kMostSteps = UINT32_MAX - 2;  // a step is a substream of the generator of codes
  train::TrainSpec& train = c.train;
  keys.stage(Stage::kTrain);
  keys.choice(
      "init", train.from_moments, {{"random", false}, {"moments", true}},
      "where training starts; moments: at the closed form, which is kept unless the proxy says better");
  keys.choice("keep", train.keep_trained, {{"proxy", false}, {"trained", true}},
              "with train.init = \"moments\": the model that is written; trained: whatever the proxy says");
  keys.count("steps", train.steps, 1, kMostSteps, "optimizer steps");
  keys.count("batch", train.batch, 2, 1 << 24, "global batch, over all ranks");
  keys.number("learning_rate", train.learning_rate, {0, 1e3, false}, "Adam's learning rate");
  keys.number("decay", train.decay, {0, 1, false}, "learning rate x decay every decay_every steps");
  keys.count("decay_every", train.decay_every, 1, kMostSteps, "steps");
  keys.flag("unbiased", train.unbiased, "unbiased form of the objective");
  keys.choice("labels", train.stratified, {{"stratified", true}, {"independent", false}},
              "how a batch's labels are drawn");
  keys.count("seed", train.seed, 0, INT64_MAX, "seed of parameters and latent codes");
  keys.stage(Stage::kRuntime);
  keys.count("checkpoint_every", train.checkpoint_every, 0, kMostSteps,
             "a checkpoint after every so many steps; 0: by time alone");
  keys.number("checkpoint_every_s", train.checkpoint_every_s, {0, 1e6},
              "a checkpoint when the last is so many seconds old; 0: by steps alone");
  keys.choice("device", c.devices.train, device_wishes(), "where the generator is trained");
  keys.add(training_ranks_key(c.devices.train_ranks));
  keys.flag("cuda_graph", c.devices.cuda_graph,
            "on GPUs: replay a step as one CUDA graph, where it can be captured");
}

}  // namespace

synth::Formats sample_formats() {
  static const std::vector<const schema::RecordFormat*> all = [] {
    std::vector<const schema::RecordFormat*> formats;
    for (const data::FormatKind& kind : data::format_kinds()) formats.push_back(kind.format);
    formats.push_back(&synth::png_format());
    return formats;
  }();
  return all;
}

std::vector<settings::Key> keys_of(Config& c) {
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
        .choice("device", c.devices.embed, device_wishes(), "where maps are summed that GPUs can sum");
  });
  for (auto& [name, map] : c.features.maps)
    section("map." + name, Stage::kRelease, [&, &map = map](Keys& k) { map.declare(k); });
  section("privacy", Stage::kRelease, [&](Keys& k) { declare_privacy(k, c); });
  section("model", Stage::kTrain, [&](Keys& k) { declare_model(k, c.model); });
  section("train", Stage::kTrain, [&](Keys& k) { declare_train(k, c); });
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
