#include <fmt/format.h>

#include <ctime>
#include <nlohmann/json.hpp>
#include <ostream>

#include "muffle/app/commands.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/crypto/signature.hpp"
#include "muffle/report/report.hpp"

namespace muffle::app {
namespace {

namespace fs = std::filesystem;

/// Those that samples.json in the folder lists; empty: there are none that can be read.
fs::path listed_in(const fs::path& folder) {
  const fs::path description = folder / kSamplesJson;
  if (!is_there(description, "the samples' description", "Nothing was written.")) return {};
  const auto said = nlohmann::json::parse(read_file(description), nullptr, /*allow_exceptions=*/false);
  try {
    std::uint64_t files = 1;
    for (const auto& [file, hash] : said.at("files").items()) files = std::max(files, schema::parts_of(file));
    const std::string name =
        evaluate::samples_file(said.at("formats").get<std::vector<std::string>>(), files);
    return name.empty() ? fs::path() : folder / name;
  } catch (const nlohmann::json::exception&) {
    throw ProtocolError(fmt::format("'{}' is no description of samples.", description.string()));
  }
}

/// What was named or else, of a run folder, what lies in it.
fs::path named_or_in(const std::string& named, const std::string& folder, const char* name) {
  if (!named.empty() || folder.empty()) return named;
  const fs::path file = fs::path(folder) / name;
  return is_there(file, "a file of the run folder", "Nothing was written.") ? file : fs::path();
}

report::RealRecords real_records(ConfigSources sources, const ReportCommand& command) {
  const fs::path kept = fs::path(command.run) / kConfigFile;
  if (sources.file.empty() && !command.run.empty() &&
      is_there(kept, "the settings of the run folder", "Nothing was written."))
    sources.file = kept.string();
  Config config = load_config(sources, {});
  if (config.data.features.empty())
    throw ConfigError(
        "a private report needs the real records, and nothing names them: data.features in --config, or "
        "--data.");
  if (config.data.shards == data::ShardRule::kPerRank)
    throw ConfigError(
        "a private report reads all real records in one process, and with one file a rank (data.shards = "
        "\"per-rank\") no process may read them all.");
  if (!config.data.generate.empty()) {
    if (command.run.empty())
      throw ConfigError(
          "records that muffle makes itself (data.generate) lie in a run folder: name it, --run DIR.");
    config.data.dir = (fs::path(command.run) / "data").string();
  }
  const data::DataSpec test = config.data.test();
  if (!test.features.empty() && data::share_records(test, config.data, 1))
    throw ConfigError(
        "data.test_features names the release's own records, so every attack would find nothing, whatever "
        "there is to be found. Name records that the release did not see, or leave it out.");
  return {config.data, test, command.run.empty() ? fs::path() : fs::path(command.run) / kMetricsFile};
}

/// Where m is private, when a file was read or written is, too: since this verb began.
void round_times_of(const report::PublicFiles& files, const ReportCommand& command, const fs::path& out,
                    std::time_t begun) {
  constexpr std::time_t kClocksDiffer = 600;  // on servers
  std::vector<fs::path> looked_at{files.release, crypto::signature_file(files.release),      files.model,
                                  files.samples, files.samples.parent_path() / kSamplesJson, files.ledger};
  looked_at.push_back(out);
  looked_at.push_back(fs::absolute(out).parent_path());
  for (const fs::path& file : looked_at) {
    if (!file.empty()) round_own_times(file, begun - kClocksDiffer);
  }
  for (const fs::path& whole :
       {fs::path(command.run), files.samples}) {  // samples in parts, or a folder of pictures
    if (!whole.empty()) muffle::round_times(whole, begun - kClocksDiffer);
  }
}

}  // namespace

void report_command(const ConfigSources& sources, const ReportCommand& command, std::ostream& printed) {
  const std::time_t begun = std::time(nullptr);
  const bool names_real = !sources.file.empty() || !sources.set.empty() || !sources.flags.empty();
  if (!command.is_private && names_real)
    throw UsageError(
        "real records, or settings that name them, are for a private report: say --private. A public one is "
        "made of the release, the model and the samples alone.");
  report::PublicFiles files;
  files.release = named_or_in(command.release, command.run, kReleaseFile);
  if (files.release.empty())
    throw UsageError("no release is named: --run DIR, a run folder with its release.mfl, or --release FILE.");
  files.model = named_or_in(command.model, command.run, kModelFile);
  files.samples = command.samples;
  if (command.samples.empty() && !command.run.empty()) files.samples = listed_in(command.run);
  files.ledger = command.ledger;
  files.about = command.about;
  fs::path out = command.out;
  if (out.empty())
    out = fs::path(command.run) / (command.is_private ? report::kPrivateName : report::kPublicName);
  report::require_writable(out, command.is_private);
  report::Report made;
  try {
    made = command.is_private ? report::private_report(files, real_records(sources, command), {})
                              : report::public_report(files, {});
    report::write_report(out, made);
  } catch (...) {
    if (command.is_private) round_times_of(files, command, out, begun);
    throw;
  }
  if (made.m_is_private) round_times_of(files, command, out, begun);
  if (!made.is_guaranteed)
    printed << fmt::format(
        "report: the release is NOT PRIVATE, and so is {}: seeded test noise or none, no guarantee\n",
        out.string());
  if (command.is_private) {
    printed << fmt::format("report: {} is PRIVATE: it has real records beside the synthetic ones\n",
                           out.string());
  } else if (made.is_guaranteed) {
    printed << fmt::format("report: {} is made of public files alone\n", out.string());
  }
}

}  // namespace muffle::app
