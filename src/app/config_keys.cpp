#include "config_keys.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "muffle/core/float_text.hpp"
#include "muffle/privacy/accountant.hpp"
#include "muffle/privacy/ledger.hpp"

namespace muffle::app {
namespace {

std::string toml_string(const std::string& text) { return nlohmann::json(text).dump(); }

std::string number_literal(double v) {
  std::string text = exact_text(v);
  if (text.find_first_of(".einf") == std::string::npos) text += ".0";
  return text;
}

std::string wanted(const char* what, const Value& v) {
  return fmt::format("needs {}, not {}", what, v.shown);
}

/// Accepts integers as floats; never the other way round.
bool as_number(const Value& v, double& out) {
  if (v.kind == Value::Kind::kFloat)
    out = v.number;
  else if (v.kind == Value::Kind::kInteger)
    out = static_cast<double>(v.integer);
  else
    return false;
  return true;
}

template <class Access>
Key number(std::string name, Stage stage, std::string help, Access access) {
  return {std::move(name), stage, std::move(help),
          [access](Config& c, const Value& v) {
            double x = 0;
            if (!as_number(v, x)) return wanted("a number", v);
            access(c) = x;
            return std::string();
          },
          [access](const Config& c) { return number_literal(access(const_cast<Config&>(c))); }};
}

template <class Access>
Key optional_number(std::string name, Stage stage, std::string help, Access access) {
  return {std::move(name), stage, std::move(help),
          [access](Config& c, const Value& v) {
            double x = 0;
            if (v.kind == Value::Kind::kString && v.text == "none") {
              access(c) = std::nullopt;
              return std::string();
            }
            if (!as_number(v, x)) return wanted("a number, or \"none\"", v);
            access(c) = x;
            return std::string();
          },
          [access](const Config& c) {
            const auto& x = access(const_cast<Config&>(c));
            return x ? number_literal(*x) : std::string("\"none\"");
          }};
}

template <class Access>
Key count(std::string name, Stage stage, std::string help, std::int64_t least, std::int64_t most,
          Access access) {
  return {std::move(name), stage, std::move(help),
          [access, least, most](Config& c, const Value& v) {
            if (v.kind != Value::Kind::kInteger || v.integer < least || v.integer > most) {
              return wanted(fmt::format("a whole number from {} to {}", least, most).c_str(), v);
            }
            auto& target = access(c);
            target = static_cast<std::remove_reference_t<decltype(target)>>(v.integer);
            return std::string();
          },
          [access](const Config& c) { return std::to_string(access(const_cast<Config&>(c))); }};
}

template <class Access>
Key flag(std::string name, Stage stage, std::string help, Access access) {
  return {
      std::move(name), stage, std::move(help),
      [access](Config& c, const Value& v) {
        if (v.kind != Value::Kind::kBool) return wanted("true or false", v);
        access(c) = v.boolean;
        return std::string();
      },
      [access](const Config& c) { return std::string(access(const_cast<Config&>(c)) ? "true" : "false"); }};
}

template <class Access>
Key text(std::string name, Stage stage, std::string help, Access access) {
  return {std::move(name), stage, std::move(help),
          [access](Config& c, const Value& v) {
            if (v.kind != Value::Kind::kString) return wanted("a string in quotes", v);
            access(c) = v.text;
            return std::string();
          },
          [access](const Config& c) { return toml_string(access(const_cast<Config&>(c))); }};
}

/// A value out of a list of names. Enum may be an enum, a bool or a string.
template <class Enum, class Access>
Key choice(std::string name, Stage stage, std::string help, std::vector<std::pair<std::string, Enum>> options,
           Access access) {
  std::string listed;
  for (const auto& o : options) listed += (listed.empty() ? "" : ", ") + toml_string(o.first);
  return {std::move(name), stage, std::move(help) + " (" + listed + ")",
          [access, options, listed](Config& c, const Value& v) {
            for (const auto& o : options) {
              if (v.kind == Value::Kind::kString && v.text == o.first) {
                access(c) = o.second;
                return std::string();
              }
            }
            return wanted(("one of " + listed).c_str(), v);
          },
          [access, options](const Config& c) {
            for (const auto& o : options) {
              if (access(const_cast<Config&>(c)) == o.second) return toml_string(o.first);
            }
            return toml_string("?");
          }};
}

template <class Access>
Key sizes(std::string name, Stage stage, std::string help, Access access) {
  return {std::move(name), stage, std::move(help),
          [access](Config& c, const Value& v) {
            std::vector<std::size_t> out;
            bool good = v.kind == Value::Kind::kArray;
            for (const Value& item : v.items) {
              good = good && item.kind == Value::Kind::kInteger && item.integer >= 1 &&
                     item.integer <= (1 << 24);
              out.push_back(static_cast<std::size_t>(item.integer));
            }
            if (!good) return wanted("an array of positive whole numbers such as [200, 500]", v);
            access(c) = out;
            return std::string();
          },
          [access](const Config& c) {
            return fmt::format("[{}]", fmt::join(access(const_cast<Config&>(c)), ", "));
          }};
}

template <class Access>
Key names(std::string name, Stage stage, std::string help, std::vector<std::string> known, Access access) {
  const std::string listed = fmt::format("{}", fmt::join(known, ", "));
  return {std::move(name), stage, std::move(help) + " (of " + listed + ")",
          [access, known, listed](Config& c, const Value& v) {
            std::vector<std::string> out;
            bool good = v.kind == Value::Kind::kArray;
            for (const Value& item : v.items) {
              good = good && item.kind == Value::Kind::kString &&
                     std::find(known.begin(), known.end(), item.text) != known.end();
              out.push_back(item.text);
            }
            if (!good) return wanted(("an array of names out of " + listed).c_str(), v);
            access(c) = out;
            return std::string();
          },
          [access](const Config& c) {
            std::vector<std::string> out;
            for (const auto& item : access(const_cast<Config&>(c))) out.push_back(toml_string(item));
            return fmt::format("[{}]", fmt::join(out, ", "));
          }};
}

#define MUFFLE_FIELD(path) \
  [](Config & c) -> auto& { return c.path; }

std::vector<Key> make_keys() {
  using enum Stage;
  constexpr std::int64_t kMany = std::int64_t{1} << 46;
  return {
      text("data.dir", kRelease, "folder in front of relative file names", MUFFLE_FIELD(data.dir)),
      text("data.id", kRuntime,
           "the data set's name in the privacy ledger; empty: made from the record file's path",
           MUFFLE_FIELD(ledger.data_id)),
      choice<std::string>("data.generate", kRelease, "data that muffle makes itself, in OUT/data",
                          {{"", ""}, {"gaussian-mixture-2d", "gaussian-mixture-2d"}},
                          MUFFLE_FIELD(files.generate)),
      text("data.features", kRelease, "records: IDX, plain or .gz; \"{rank}\" stands for the rank's number",
           MUFFLE_FIELD(data.features)),
      text("data.labels", kRelease, "labels: IDX, plain or .gz; empty when classes = 1",
           MUFFLE_FIELD(data.labels)),
      text("data.test_features", kEvaluate, "held-out real records, for evaluate alone",
           MUFFLE_FIELD(files.test_features)),
      text("data.test_labels", kEvaluate, "their labels", MUFFLE_FIELD(files.test_labels)),
      count("data.records", kRelease, "m, public under replace-one: records over all ranks", 0, kMany,
            MUFFLE_FIELD(data.records)),
      count("data.classes", kRelease, "C, public: labels are 0..C-1", 1, 4096,
            MUFFLE_FIELD(data.schema.classes)),
      sizes("data.shape", kRelease, "one record: [channels, height, width] or [columns]",
            MUFFLE_FIELD(data.schema.shape)),
      number("data.lo", kRelease, "public lower bound of every number", MUFFLE_FIELD(data.schema.lo)),
      number("data.hi", kRelease, "public upper bound of every number", MUFFLE_FIELD(data.schema.hi)),
      choice<data::OnError>("data.on_error", kRelease, "what becomes of a record outside its schema",
                            {{"reject-file", data::OnError::kRejectFile}, {"clamp", data::OnError::kClamp}},
                            MUFFLE_FIELD(data.schema.on_error)),
      choice<data::ShardRule>("data.shards", kRelease, "the public rule that deals records to ranks",
                              {{"contiguous", data::ShardRule::kContiguous},
                               {"round-robin", data::ShardRule::kRoundRobin},
                               {"per-rank", data::ShardRule::kPerRank}},
                              MUFFLE_FIELD(data.shards)),
      choice<std::string>("features.kind", kRelease, "feature map", {{"rff", "rff"}},
                          MUFFLE_FIELD(features.kind)),
      count("features.count", kRelease, "D, even: random features", 2, 1 << 26,
            MUFFLE_FIELD(features.rff.features)),
      number("features.length_scale", kRelease, "l, public, in units of records scaled to [0, 1]",
             MUFFLE_FIELD(features.rff.length_scale)),
      choice<features::FrequencyKind>(
          "features.frequencies", kRelease, "how the frequencies are drawn",
          {{"dense", features::FrequencyKind::kDense}, {"orthogonal", features::FrequencyKind::kOrthogonal}},
          MUFFLE_FIELD(features.rff.kind)),
      count("features.seed", kRelease, "public seed of the frequencies", 0, INT64_MAX,
            MUFFLE_FIELD(features.rff.seed)),
      count("features.lattice_bits", kRelease, "k of the integer lattice", 8, 24,
            MUFFLE_FIELD(features.lattice_bits)),
      optional_number("privacy.epsilon", kRelease, "with delta: the guarantee; or give noise_multiplier",
                      MUFFLE_FIELD(privacy.epsilon)),
      number("privacy.delta", kRelease, "delta", MUFFLE_FIELD(privacy.delta)),
      optional_number("privacy.noise_multiplier", kRelease, "sigma / sensitivity, instead of epsilon",
                      MUFFLE_FIELD(privacy.noise_multiplier)),
      choice<privacy::Adjacency>("privacy.adjacency", kRelease, "what a neighbouring data set is",
                                 {{"replace-one", privacy::Adjacency::kReplaceOne},
                                  {"add-remove-one", privacy::Adjacency::kAddRemoveOne}},
                                 MUFFLE_FIELD(privacy.adjacency)),
      count("privacy.max_records_per_person", kRelease, "q, required: how many records one person can own", 0,
            1 << 20, MUFFLE_FIELD(privacy.max_records_per_person)),
      flag("privacy.release_counts", kRelease,
           "release noisy class counts too (for imbalanced or private class sizes)",
           MUFFLE_FIELD(release_counts)),
      flag("privacy.secure_aggregation", kRelease,
           "mask every rank's sum, so that nobody sees it but the total", MUFFLE_FIELD(aggregation.secure)),
      flag("privacy.distributed_noise", kRelease,
           "every rank adds a share of the noise, so that nobody sees the exact total; needs masks",
           MUFFLE_FIELD(aggregation.distributed)),
      count("privacy.colluding_ranks", kRelease,
            "distributed noise: how many ranks may pool what they know, a curious coordinator counted", 0,
            1 << 20, MUFFLE_FIELD(aggregation.colluding)),
      text("privacy.site_key", kRuntime,
           "key file that signs this rank's masks (muffle keygen); \"{rank}\" stands for the rank's number",
           MUFFLE_FIELD(aggregation.site_key)),
      text("privacy.site_roster", kRuntime, "whose keys are accepted: a line \"RANK SITE KEY\" for each rank",
           MUFFLE_FIELD(aggregation.site_roster)),
      text("privacy.ledger", kRuntime,
           "the data set's ledger of releases; empty: ledger-<data.id>.jsonl beside the run folder",
           MUFFLE_FIELD(ledger.file)),
      optional_number(
          "privacy.budget_epsilon", kRuntime,
          "the most that all releases of the data set may spend together; needs data.id and privacy.ledger",
          MUFFLE_FIELD(ledger.budget_epsilon)),
      number("privacy.budget_delta", kRuntime, "the budget's delta", MUFFLE_FIELD(ledger.budget_delta)),
      text("privacy.signing_key", kRuntime,
           "key file (muffle keygen) with which the coordinator signs the release; empty: not signed",
           MUFFLE_FIELD(signing_key)),
      choice<model::GeneratorKind>("model.generator", kTrain, "architecture",
                                   {{"fully-connected", model::GeneratorKind::kFullyConnected},
                                    {"convolutional", model::GeneratorKind::kConvolutional}},
                                   MUFFLE_FIELD(model.kind)),
      count("model.code", kTrain, "length of the latent code", 1, 1 << 16, MUFFLE_FIELD(model.code)),
      sizes("model.hidden", kTrain, "hidden widths of the fully connected part", MUFFLE_FIELD(model.hidden)),
      sizes("model.channels", kTrain, "convolutional: channels before and between the convolutions",
            MUFFLE_FIELD(model.channels)),
      count("train.steps", kTrain, "optimizer steps", 1, kMany, MUFFLE_FIELD(train.steps)),
      count("train.batch", kTrain, "global batch, over all ranks", 2, 1 << 24, MUFFLE_FIELD(train.batch)),
      number("train.learning_rate", kTrain, "Adam's learning rate", MUFFLE_FIELD(train.learning_rate)),
      number("train.decay", kTrain, "learning rate x decay every decay_every steps",
             MUFFLE_FIELD(train.decay)),
      count("train.decay_every", kTrain, "steps", 1, kMany, MUFFLE_FIELD(train.decay_every)),
      flag("train.unbiased", kTrain, "unbiased form of the objective", MUFFLE_FIELD(train.unbiased)),
      choice<bool>("train.labels", kTrain, "how a batch's labels are drawn",
                   {{"stratified", true}, {"independent", false}}, MUFFLE_FIELD(train.stratified)),
      count("train.seed", kTrain, "seed of parameters and latent codes", 0, INT64_MAX,
            MUFFLE_FIELD(train.seed)),
      count("sample.count", kSample, "synthetic records", 1, kMany, MUFFLE_FIELD(sample.count)),
      choice<bool>("sample.labels", kSample, "labels of the synthetic records",
                   {{"uniform", true}, {"released-counts", false}}, MUFFLE_FIELD(sample.uniform_labels)),
      names("sample.formats", kSample, "files to write", {"npz", "idx", "png"}, MUFFLE_FIELD(sample.formats)),
      count("sample.seed", kSample, "seed of the samples", 0, INT64_MAX, MUFFLE_FIELD(sample.seed)),
      names("evaluate.metrics", kEvaluate, "what to compute; \"classifiers\" reads real data",
            {"classifiers", "mixture-nll"}, MUFFLE_FIELD(evaluate.metrics)),
      names("evaluate.classifiers", kEvaluate, "trained on synthetic, tested on real",
            {"logistic_regression", "mlp", "cnn"}, MUFFLE_FIELD(evaluate.spec.classifiers)),
      flag("evaluate.also_real", kEvaluate, "the same classifiers trained on real records beside them",
           MUFFLE_FIELD(evaluate.spec.also_real)),
      count("evaluate.train_limit", kEvaluate, "only the first so many training records; 0: all", 0, kMany,
            MUFFLE_FIELD(evaluate.spec.train_limit)),
      count("evaluate.seed", kEvaluate, "seed of the classifiers", 0, INT64_MAX,
            MUFFLE_FIELD(evaluate.spec.seed)),
      number("runtime.deadline_s", kRuntime, "every wait for another rank ends after so many seconds",
             MUFFLE_FIELD(runtime.deadline_s)),
      count("runtime.threads", kRuntime, "threads per rank; 0: the cores that the rank owns", 0, 4096,
            MUFFLE_FIELD(runtime.threads)),
  };
}

#undef MUFFLE_FIELD

std::size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t best =
          std::min({row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1] ? 1 : 0)});
      diagonal = row[j];
      row[j] = best;
    }
  }
  return row[b.size()];
}

}  // namespace

const std::vector<Key>& keys() {
  static const std::vector<Key> all = make_keys();
  return all;
}

const Key* find_key(const std::string& name) {
  for (const Key& k : keys()) {
    if (k.name == name) return &k;
  }
  return nullptr;
}

std::string nearest_key(const std::string& name) {
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(3, name.size() / 3);
  const std::string leaf = name.substr(name.find('.') + 1);
  for (const Key& k : keys()) {
    // A right key in the wrong section is as near as a slip of one letter.
    const bool same_leaf = k.name.substr(k.name.find('.') + 1) == leaf;
    const std::size_t d = same_leaf ? 1 : edit_distance(name, k.name);
    if (d < best_distance) {
      best_distance = d;
      best = k.name;
    }
  }
  return best;
}

std::vector<std::string> contradictions(const Config& c) {
  std::vector<std::string> out;
  const auto unless = [&](bool good, std::string problem) {
    if (!good) out.push_back(std::move(problem));
  };
  const auto& schema = c.data.schema;
  unless(
      schema.shape.size() == 1 || schema.shape.size() == 3,
      "data.shape needs 3 numbers for images, [channels, height, width], or 1 for plain records, [columns]");
  unless(schema.lo < schema.hi, "data.lo must be below data.hi");
  unless(!c.data.features.empty(), "data.features names no file with records");
  unless(!c.data.labels.empty() || schema.classes == 1,
         "data.labels names no file, but data.classes is above 1");
  const bool per_rank = c.data.shards == data::ShardRule::kPerRank;
  unless((c.data.features.find("{rank}") != std::string::npos) == per_rank,
         "data.shards = \"per-rank\" and \"{rank}\" in data.features go together: one is there without the "
         "other");
  unless(c.privacy.adjacency != privacy::Adjacency::kReplaceOne || c.data.records > 0,
         "data.records is required under replace-one adjacency: m is public, so write it down");
  unless(c.privacy.adjacency != privacy::Adjacency::kAddRemoveOne || c.release_counts,
         "privacy.adjacency = \"add-remove-one\" keeps m secret, so the means need privacy.release_counts = "
         "true");
  unless(c.privacy.adjacency != privacy::Adjacency::kAddRemoveOne || c.data.records == 0,
         "privacy.adjacency = \"add-remove-one\" keeps m secret, and everything in the configuration is "
         "public: leave "
         "data.records at 0");
  unless(c.ledger.data_id.empty() || privacy::is_data_id(c.ledger.data_id),
         "data.id names the data set in files: use 1 to 128 letters, digits, '.', '_' and '-', beginning "
         "with a letter "
         "or digit");
  // A budget binds only if every release of the data set is written down in one place.
  unless(!c.ledger.budget_epsilon || (!c.ledger.data_id.empty() && !c.ledger.file.empty()),
         "privacy.budget_epsilon needs data.id and privacy.ledger: name the data set, and the one file, "
         "beside the data, "
         "in which every release of it is written down");
  const double budget = c.ledger.budget_epsilon.value_or(1.0), delta = c.ledger.budget_delta;
  unless(budget >= privacy::kMinEpsilon && budget <= privacy::kMaxEpsilon,
         "privacy.budget_epsilon must be from 0.001 to 100");
  unless(delta >= privacy::kMinDelta && delta <= privacy::kMaxDelta,
         "privacy.budget_delta must be from 1e-12 to 0.1");
  const auto& aggregation = c.aggregation;
  unless(!aggregation.distributed || aggregation.secure,
         "privacy.distributed_noise needs privacy.secure_aggregation = true: without masks the ranks' shares "
         "are seen one by one, and each is less than the full noise");
  unless(aggregation.site_key.empty() == aggregation.site_roster.empty(),
         "privacy.site_key and privacy.site_roster go together: one is there without the other");
  unless(aggregation.site_key.empty() || aggregation.secure,
         "privacy.site_key signs masks, so it needs privacy.secure_aggregation = true");
  unless(c.sample.uniform_labels || c.release_counts,
         "sample.labels = \"released-counts\" needs privacy.release_counts = true");
  unless(c.features.rff.features >= 2 && c.features.rff.features % 2 == 0,
         "features.count is required, and must be even: a cosine and a sine for each frequency");
  unless(c.features.rff.length_scale > 0, "features.length_scale must be above 0");
  unless(c.train.learning_rate > 0, "train.learning_rate must be above 0");
  unless(c.train.decay > 0 && c.train.decay <= 1, "train.decay must be in (0, 1]");
  unless(c.runtime.deadline_s > 0 && c.runtime.deadline_s <= 1e6,
         "runtime.deadline_s must be above 0 and at most 1e6");
  unless(!c.sample.formats.empty(), "sample.formats is empty: nothing would be written");
  const auto& metrics = c.evaluate.metrics;
  const bool classifiers = std::find(metrics.begin(), metrics.end(), "classifiers") != metrics.end();
  unless(!classifiers || !c.files.test_features.empty(),
         "evaluate.metrics has \"classifiers\", which needs data.test_features and data.test_labels");
  unless(metrics.empty() ||
             std::find(c.sample.formats.begin(), c.sample.formats.end(), "npz") != c.sample.formats.end(),
         "evaluate reads samples.npz: add \"npz\" to sample.formats, or set evaluate.metrics = []");
  unless(c.model.kind == model::GeneratorKind::kFullyConnected || schema.is_image(),
         "model.generator = \"convolutional\" draws images; for plain records use \"fully-connected\"");
  return out;
}

}  // namespace muffle::app
