#include "key_kinds.hpp"

namespace muffle::app {
namespace {

Key training_ranks_key() {
  using Kind = comm::RankWish::Kind;
  return {"train.ranks", Stage::kRuntime,
          "which ranks train (\"all\", \"with-gpu\": those with a GPU of their own, or a number: the first "
          "so many); "
          "the others wait",
          [](Config& c, const Value& v) {
            auto& wish = c.devices.train_ranks;
            if (v.kind == Value::Kind::kString && v.text == "all") {
              wish = {Kind::kAll, 0};
            } else if (v.kind == Value::Kind::kString && v.text == "with-gpu") {
              wish = {Kind::kWithGpu, 0};
            } else if (v.kind == Value::Kind::kInteger && v.integer >= 1) {
              wish = {Kind::kFirst, v.integer};
            } else {
              return wanted("\"all\", \"with-gpu\" or a whole number of ranks from 1", v);
            }
            return std::string();
          },
          [](const Config& c) {
            const auto& wish = c.devices.train_ranks;
            if (wish.kind == Kind::kFirst) return std::to_string(wish.count);
            return toml_string(wish.kind == Kind::kAll ? "all" : "with-gpu");
          }};
}

}  // namespace

std::vector<Key> training_keys() {
  using enum Stage;
  constexpr std::int64_t kMostSteps = UINT32_MAX - 2;  // a step is a substream of the generator of codes
  return {
      choice<model::GeneratorKind>("model.generator", kTrain,
                                   "architecture; moments: closed form, not trained",
                                   {{"fully-connected", model::GeneratorKind::kFullyConnected},
                                    {"convolutional", model::GeneratorKind::kConvolutional},
                                    {"moments", model::GeneratorKind::kMoments}},
                                   MUFFLE_FIELD(model.kind)),
      number("model.plain_share", kTrain,
             "moments: share of records with plainly clipped numbers; the others' keep mean and variance",
             Range{0, 1}, MUFFLE_FIELD(model.plain_share)),
      count("model.code", kTrain, "length of the latent code", 1, 1 << 16, MUFFLE_FIELD(model.code)),
      sizes("model.hidden", kTrain, "hidden widths of the fully connected part", MUFFLE_FIELD(model.hidden)),
      sizes("model.channels", kTrain, "convolutional: channels before and between the convolutions",
            MUFFLE_FIELD(model.channels)),
      choice<bool>(
          "train.init", kTrain,
          "where training starts; moments: at the closed form, which is kept unless the proxy says better",
          {{"random", false}, {"moments", true}}, MUFFLE_FIELD(train.from_moments)),
      choice<bool>(
          "train.keep", kTrain,
          "with train.init = \"moments\": the model that is written; trained: whatever the proxy says",
          {{"proxy", false}, {"trained", true}}, MUFFLE_FIELD(train.keep_trained)),
      count("train.steps", kTrain, "optimizer steps", 1, kMostSteps, MUFFLE_FIELD(train.steps)),
      count("train.batch", kTrain, "global batch, over all ranks", 2, 1 << 24, MUFFLE_FIELD(train.batch)),
      number("train.learning_rate", kTrain, "Adam's learning rate", Range{0, 1e3, false},
             MUFFLE_FIELD(train.learning_rate)),
      number("train.decay", kTrain, "learning rate x decay every decay_every steps", Range{0, 1, false},
             MUFFLE_FIELD(train.decay)),
      count("train.decay_every", kTrain, "steps", 1, kMostSteps, MUFFLE_FIELD(train.decay_every)),
      flag("train.unbiased", kTrain, "unbiased form of the objective", MUFFLE_FIELD(train.unbiased)),
      choice<bool>("train.labels", kTrain, "how a batch's labels are drawn",
                   {{"stratified", true}, {"independent", false}}, MUFFLE_FIELD(train.stratified)),
      count("train.seed", kTrain, "seed of parameters and latent codes", 0, INT64_MAX,
            MUFFLE_FIELD(train.seed)),
      count("train.checkpoint_every", kRuntime, "a checkpoint after every so many steps; 0: by time alone", 0,
            kMostSteps, MUFFLE_FIELD(train.checkpoint_every)),
      number("train.checkpoint_every_s", kRuntime,
             "a checkpoint when the last is so many seconds old; 0: by steps alone", Range{0, 1e6, true},
             MUFFLE_FIELD(train.checkpoint_every_s)),
      choice<comm::DeviceWish>("train.device", kRuntime, "where the generator is trained", device_wishes(),
                               MUFFLE_FIELD(devices.train)),
      training_ranks_key(),
      flag("train.cuda_graph", kRuntime, "on GPUs: replay a step as one CUDA graph, where it can be captured",
           MUFFLE_FIELD(devices.cuda_graph)),
  };
}

}  // namespace muffle::app
