#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "muffle/app/commands.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/core/private_file.hpp"
#include "muffle/core/text.hpp"
#include "muffle/evaluate/metric.hpp"
#include "muffle/schema/schema.hpp"
#include "muffle/synth/listed_samples.hpp"
#include "run_folder.hpp"

namespace muffle::app {

namespace {

/// The samples in the run folder, as samples.json says that they were written, or else as the settings say.
std::filesystem::path samples_in(const Context& context) {
  const synth::SampleSpec& spec = context.config.sample;
  std::string name = evaluate::samples_file(spec.formats, spec.files);
  const auto description = context.out / kSamplesJson;
  if (!context.comm.is_root() || !is_there(description, "the samples' description", "Nothing was changed."))
    return context.out / name;
  const auto said = nlohmann::json::parse(read_file(description), nullptr, /*allow_exceptions=*/false);
  try {
    std::uint64_t files = 1;
    for (const auto& [file, hash] : said.at("files").items()) files = std::max(files, schema::parts_of(file));
    const std::string there =
        evaluate::samples_file(said.at("formats").get<std::vector<std::string>>(), files);
    if (!there.empty()) name = there;
  } catch (const nlohmann::json::exception&) {  // whoever reads the samples says what is wrong with them
  }
  return context.out / name;
}

/// What metrics.json says of the samples and of the release that it scored.
bool scores_are_private(const std::filesystem::path& file) {
  const auto said = nlohmann::json::parse(read_file(file), nullptr, /*allow_exceptions=*/false);
  return !said.is_object() || said.value("is_private", nlohmann::json(true)) != false;
}

}  // namespace

void require_held_out(Context& context) {
  data::DataSpec test = context.config.data.test(), own = context.config.data;
  test.heartbeat =
      own.heartbeat = [&context] { context.comm.check_peers("looking for the held-out records"); };
  if (!context.m_is_private || test.features.empty() || !context.config.data.generate.empty()) return;
  comm::agree(context.comm, "looking for the held-out records", true, [&] {
    if (!context.comm.is_root() || !data::share_records(test, own, context.comm.size())) return;
    throw ConfigError(
        "data.test_features names the release's own records. Scores on them tell how many there are, which "
        "is private here (privacy.adjacency). Name records that the release did not see, or leave it out.");
  });
}

void evaluate(Context& context, const std::filesystem::path& given,
              const std::filesystem::path& release_file) {
  require_held_out(context);
  const auto file = context.out / kMetricsFile;
  std::filesystem::path samples_file = given;
  comm::agree(context.comm, "looking for the samples", true, [&] {
    if (given.empty()) samples_file = samples_in(context);
  });
  const auto description = samples_file.parent_path() / kSamplesJson;
  data::Settings data = context.config.data;
  data::DataSpec train = records_of(context);
  data.dir = train.dir;
  if (context.m_is_private) train.records = 0;
  data.heartbeat = train.heartbeat = [&context] { context.comm.check_peers("evaluating"); };
  // The other ranks sleep meanwhile: root may use their cores too.
  const evaluate::Subject subject{samples_file,
                                  data.test(),
                                  train,
                                  context.threads * context.comm.local_size(),
                                  train.heartbeat,
                                  release_file,
                                  context.config.features.assets(context.config.data.schema)};
  const bool reads_records = context.config.evaluate.reads_real_records();
  // What the user names may be a file of records: of what nobody lists nothing is written that tells what it
  // holds.
  std::optional<synth::ListedSamples> listed;
  comm::agree(context.comm, "looking at the samples", true, [&] {
    if (!context.comm.is_root()) return;
    listed = synth::listed_samples(samples_file, subject.heartbeat);
    schema::Schema drawn = data.schema;
    if (listed) drawn.class_names = listed->class_names;
    if (!schema::class_names_agree(drawn, data.schema))
      throw ConfigError(fmt::format(
          "'{}' has other classes than data.class_names says, or the same in another order: {}. Correct "
          "data.class_names, by which real records are read.",
          printable(samples_file.string()),
          printable(fmt::format("{}", fmt::join(drawn.class_names, ", ")))));
  });
  StageWork work{"evaluate", stage_hash(context.config, Stage::kEvaluate), std::nullopt, context.out};
  if (listed && !reads_records) work.input = listed->file;
  if (!is_done(context.comm, work)) {
    if (reads_records) prepare_records(context);
    // Small work on one rank; the others wait for its verdict.
    comm::agree(context.comm, "evaluating", true, [&] {
      if (!context.comm.is_root()) return;
      nlohmann::json metrics =
          evaluate::score(context.config.evaluate, subject, [&](const std::string& table) {
            if (context.quiet || context.json) return;
            std::fputs(table.c_str(), stdout);
            std::fflush(stdout);
          });
      metrics.update({{"format", "muffle-metrics"}, {"version", 1}});
      if (!samples_are_private(description)) metrics["is_private"] = false;
      if (listed) metrics["samples_hash"] = listed->hash;
      const std::string text = metrics.dump(2) + "\n";
      if (reads_records) {  // not covered by the guarantee: this user's alone
        write_private_file(file, text);
      } else {
        write_file_atomically(file, text);
      }
      spdlog::info("evaluate: {}", file.string());
    });
    mark_done(context.comm, work, {kMetricsFile});
  }
  end_stage(context, Stage::kEvaluate, "evaluate", samples_file,
            [&] { return samples_are_private(description) && scores_are_private(file); });
}

}  // namespace muffle::app
