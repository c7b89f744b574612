#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>

#include "muffle/app/commands.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/core/hash.hpp"
#include "muffle/evaluate/evaluate.hpp"
#include "run_folder.hpp"
#include "stages.hpp"

namespace muffle::app {
namespace {

constexpr const char* kWarning =
    "These scores were computed on real records. They are not covered by the release's privacy guarantee: "
    "publishing them, "
    "or choosing a model, a seed or a setting by them, costs privacy that nobody has accounted for.";

bool wants(const Config& config, const char* metric) {
  const auto& m = config.evaluate.metrics;
  return std::find(m.begin(), m.end(), metric) != m.end();
}

nlohmann::json to_json(const std::vector<evaluate::Score>& scores) {
  nlohmann::json out = nlohmann::json::object();
  for (const auto& s : scores) out[s.name] = {{"accuracy", s.accuracy}, {"macro_f1", s.macro_f1}};
  return out;
}

void print_table(const evaluate::ClassifierReport& report) {
  std::string table = fmt::format("{:22} {:>10} {:>10}", "trained on synthetic", "accuracy", "macro F1");
  if (!report.real.empty()) table += fmt::format(" {:>14} {:>10}", "real: accuracy", "macro F1");
  table += "\n";
  for (const auto& s : report.synthetic) {
    table += fmt::format("{:22} {:10.4f} {:10.4f}", s.name, s.accuracy, s.macro_f1);
    for (const auto& r : report.real) {
      if (r.name == s.name) table += fmt::format(" {:14.4f} {:10.4f}", r.accuracy, r.macro_f1);
    }
    table += "\n";
  }
  std::fputs(table.c_str(), stdout);
  std::fflush(stdout);
}

data::DataSpec test_records(const Context& context) {
  data::DataSpec test = records_of(context);
  test.features = context.config.files.test_features;
  test.labels = context.config.files.test_labels;
  test.records = 0;
  test.shards = data::ShardRule::kContiguous;
  return test;
}

/// A file that cannot be read is for the evaluation to report.
std::string content_of(const Context& context, const std::string& file) {
  try {
    return sha256_file_hex(file, [&] { context.comm.check_peers("looking at the test records"); });
  } catch (const IoError&) {
    return "unreadable";
  }
}

/// What the scores depend on beside the samples: keys, the schema, and the real files themselves. Root only.
std::string scored_by(const Context& context) {
  const Config& config = context.config;
  std::string all = stage_hash(config, Stage::kEvaluate) + "\n";
  if (!wants(config, "classifiers")) return to_hex(sha256(all));
  const std::map<std::string, std::string> settings = flatten(config);
  for (const char* key :
       {"data.format", "data.generate", "data.shape", "data.classes", "data.lo", "data.hi", "data.on_error"})
    all += std::string(key) + "=" + settings.at(key) + "\n";
  // What muffle generates is the same each time, and made anew for an evaluation.
  if (config.files.generate.empty()) {
    std::vector<std::string> files = data::paths_of(test_records(context), 0);
    if (config.evaluate.spec.also_real) {
      const std::vector<std::string> train = data::paths_of(records_of(context), 0);
      files.insert(files.end(), train.begin(), train.end());
    }
    for (const std::string& file : files) all += content_of(context, file) + "\n";
  }
  return to_hex(sha256(all));
}

nlohmann::json score_classifiers(const Context& context, const std::filesystem::path& samples_file) {
  const Config& config = context.config;
  const data::DataSpec test = test_records(context);
  spdlog::warn("evaluate: reads REAL test records{}. {}",
               config.evaluate.spec.also_real ? " and real training records" : "", kWarning);
  const auto report = evaluate::evaluate_classifiers(
      samples_file, test, records_of(context), config.evaluate.spec,
      // The other ranks sleep meanwhile: root may use their cores too.
      context.threads * context.comm.local_size(), [&] { context.comm.check_peers("evaluating"); });
  if (!context.quiet) print_table(report);
  nlohmann::json out;
  out["warning"] = kWarning;
  out["classifiers"] = to_json(report.synthetic);
  if (!report.real.empty()) out["classifiers_trained_on_real"] = to_json(report.real);
  if (!report.notes.empty()) out["notes"] = report.notes;
  return out;
}

void print_mixture(const evaluate::MixtureScore& score) {
  std::printf("2-D mixture, %llu records: NLL per 90,000: %.4ge5 in the authors' convention, %.4ge5 true\n",
              static_cast<unsigned long long>(score.records), score.per_90000_authors_convention / 1e5,
              score.per_90000_true / 1e5);
  std::fflush(stdout);
}

nlohmann::json score_mixture(const Context& context, const std::filesystem::path& samples_file) {
  const auto score =
      evaluate::evaluate_mixture(samples_file, [&] { context.comm.check_peers("evaluating"); });
  if (!context.quiet) print_mixture(score);
  return {{"records", score.records},
          {"nll_true", score.nll_true},
          {"nll_authors_convention", score.nll_authors_convention},
          {"per_90000_true", score.per_90000_true},
          {"per_90000_authors_convention", score.per_90000_authors_convention}};
}

}  // namespace

bool can_score_classifiers(const Config& config) { return !config.files.test_features.empty(); }

void evaluate(Context& context, const std::filesystem::path& samples_file) {
  const auto file = context.out / kMetricsFile;
  const auto description = samples_file.parent_path() / kSamplesJson;
  StageWork work{"evaluate", {}, samples_file, context.out};
  comm::agree(
      context.comm, "looking at the test records",
      [&] {
        if (context.comm.is_root()) work.settings = scored_by(context);
      },
      true);
  if (!is_done(context.comm, work)) {
    if (wants(context.config, "classifiers")) prepare_records(context);
    // Small work on one rank; the others wait for its verdict.
    comm::agree(
        context.comm, "evaluating",
        [&] {
          if (!context.comm.is_root()) return;
          nlohmann::json metrics = {{"format", "muffle-metrics"}, {"version", 1}};
          if (wants(context.config, "classifiers")) metrics.update(score_classifiers(context, samples_file));
          if (wants(context.config, "mixture-nll"))
            metrics["mixture_nll"] = score_mixture(context, samples_file);
          if (!samples_are_private(description)) metrics["is_private"] = false;
          metrics["samples_hash"] = sha256_file_hex(
              samples_file.string(), [&] { context.comm.check_peers("looking at the samples"); });
          metrics["evaluate_hash"] = work.settings;
          write_file_atomically(file, metrics.dump(2) + "\n");
          spdlog::info("evaluate: {}", file.string());
        },
        true);
    mark_done(context.comm, work, {kMetricsFile});
  }
  comm::agree(
      context.comm, "noting the settings",
      [&] {
        if (!context.comm.is_root()) return;
        record_settings(context, Stage::kEvaluate);
        if (!samples_are_private(description)) warn_not_private("evaluate", samples_file);
      },
      true);
}

}  // namespace muffle::app
