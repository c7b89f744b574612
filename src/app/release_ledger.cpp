#include "release_ledger.hpp"

#include <fmt/format.h>

#include <chrono>

#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/core/hash.hpp"
#include "release_signature.hpp"

namespace muffle::app {
namespace {

std::filesystem::path plain(const std::filesystem::path& path) {
  auto full = std::filesystem::weakly_canonical(std::filesystem::absolute(path));
  return full.has_filename() ? full : full.parent_path();
}

std::string name_of_data(const Config& config) {
  Sha256 hash;
  for (const std::string& file : {config.data.features, config.data.labels}) {
    hash.update(plain(data::resolve_path(config.data, file, 0)).string() + "\n");
  }
  return "unnamed-" + to_hex(hash.digest()).substr(0, 16);
}

privacy::ChargeTerms terms(const Context& context, const std::string& config_hash,
                           const privacy::NoisePlan& plan, bool secure_noise) {
  return {plain(context.out / kReleaseFile).string(),
          config_hash,
          privacy::mu_of(plan),
          plan.sensitivity.value,
          plan.sigma,
          secure_noise};
}

}  // namespace

LedgerPlace ledger_place(const Context& context) {
  const auto& settings = context.config.ledger;
  LedgerPlace place;
  place.data_id = settings.data_id.empty() ? name_of_data(context.config) : settings.data_id;
  place.file = settings.file.empty()
                   ? plain(context.out).parent_path() / ("ledger-" + place.data_id + ".jsonl")
                   : std::filesystem::path(settings.file);
  if (settings.budget_epsilon)
    place.budget = privacy::Budget::from_epsilon(*settings.budget_epsilon, settings.budget_delta);
  return place;
}

privacy::Ledger open_ledger(const Context& context) {
  const LedgerPlace place = ledger_place(context);
  const auto deadline =
      std::chrono::milliseconds(static_cast<long long>(context.config.runtime.deadline_s * 500));
  return privacy::Ledger::open(place.file, place.data_id, place.budget, deadline);
}

privacy::ChargeTerms charge_terms(const Context& context, const privacy::NoisePlan& plan) {
  return terms(context, stage_hash(context.config, Stage::kRelease), plan, !context.insecure_seed);
}

bool settle_release(const Context& context, privacy::Ledger& ledger) {
  const auto file = context.out / kReleaseFile;
  const std::string hash = stage_hash(context.config, Stage::kRelease);
  if (!std::filesystem::exists(file)) {
    privacy::ChargeTerms wanted;
    wanted.run = plain(file).string();
    wanted.config_hash = hash;
    return ledger.settle(wanted, std::nullopt);
  }
  const std::string bytes = read_file(file);
  const embed::Artifact artifact = embed::parse_artifact(bytes, file.string());
  if (artifact.config_hash != hash) {
    throw ConfigError(fmt::format(
        "'{}' holds a release made with other data, features or privacy settings. A release spends "
        "privacy budget, so it is never overwritten: choose another --out folder, or move that file away.",
        file.string()));
  }
  const auto stated = terms(context, artifact.config_hash, artifact.noise, artifact.is_private);
  ledger.settle(stated, privacy::FoundArtifact{artifact.ledger_charge, to_hex(sha256(bytes)), stated});
  sign_release_file(context);
  // A job that was killed right after its COMMIT has none yet.
  if (!std::filesystem::exists(context.out / kPrivacyJson) ||
      !std::filesystem::exists(context.out / kPrivacyText))
    write_statements(context, artifact);
  return true;
}

void write_statements(const Context& context, const embed::Artifact& artifact) {
  write_file_atomically(context.out / kPrivacyJson, embed::privacy_statement_json(artifact));
  write_file_atomically(context.out / kPrivacyText, embed::privacy_statement_text(artifact));
}

}  // namespace muffle::app
