// One release by ReleaseTransaction, as `muffle release` makes it, of an embedding of nothing but sevens.
//   release_driver LEDGER RUN_FOLDER MU BUDGET_MU SIGNING_KEY [ROUNDS]
// ROUNDS: the release has three rounds, each with a transaction of its own.
// Linked with faulty_system.cpp, which fails, kills and marks draws on demand. Exits as muffle does.
//   MUFFLE_MUTANT=draw-first|draw-twice   breaks the protocol: the tests must notice
#include <cstdlib>
#include <iostream>
#include <optional>
#include <string>

#include "muffle/core/error.hpp"
#include "muffle/release/transaction.hpp"
#include "release/sample_artifact.hpp"

namespace {

using namespace muffle;

void make_release(const release::ReleaseOrder& order, double mu) {
  std::filesystem::create_directories(order.file.parent_path());
  release::Artifact artifact = release::testing_artifact::sample_artifact();
  artifact.config_hash = order.config_hash;
  artifact.data_id = order.data_id;
  privacy::PrivacySpec spec;
  spec.noise_multiplier = 1.0 / mu;
  artifact.noise = release::testing_artifact::plan_for(artifact, spec);

  release::ReleaseTransaction transaction(order);
  if (transaction.settle()) return;
  const std::size_t n = artifact.values.size();
  const char* set = std::getenv("MUFFLE_MUTANT");
  const std::string mutant = set == nullptr ? "" : set;
  std::optional<privacy::NoiseVector> noise;
  const auto draw = [&] {
    const auto entropy = privacy::os_entropy();
    noise.emplace(artifact.noise.parts, *entropy);
  };
  if (mutant == "draw-first") draw();
  transaction.begin(artifact.noise, true, [&](const release::Charge&) {
    if (mutant != "draw-first") draw();
  });
  if (mutant == "draw-twice") draw();
  artifact.values = std::move(*noise).publish(privacy::RawSum(std::vector<std::uint64_t>(n, 7))).values;
  transaction.finish(std::move(artifact));
}

void make_release_in_rounds(const release::ReleaseOrder& order, double mu) {
  std::filesystem::create_directories(order.file.parent_path());
  privacy::PrivacySpec spec;
  spec.noise_multiplier = 1.0 / mu;
  spec.max_records_per_person = 1;
  release::ReleasePlan plan = release::testing_artifact::rounds_plan(spec);
  for (std::size_t round = 1; round <= plan.rounds(); ++round) {
    release::ReleaseTransaction transaction(order);
    if (transaction.settle()) return;
    release::KeptRounds kept = transaction.resume().value_or(release::KeptRounds{});
    if (kept.rounds() > 0) release::read_tables(plan, kept.tables, "kept");
    round = kept.rounds() + 1;
    if (round > 1) plan.count_in(round - 1, release::testing_artifact::tables_of_round(round));
    const release::ReleasePlan own = plan.of_round(round);
    std::optional<privacy::NoiseVector> noise;
    const auto draw = [&](const release::Charge&) {
      const auto entropy = privacy::os_entropy();
      noise.emplace(own.noise.parts, *entropy);
    };
    round == 1 ? transaction.begin(plan.noise, true, draw)
               : transaction.begin_round(round, "single coordinator", draw);
    if (const char* set = std::getenv("MUFFLE_MUTANT"); set != nullptr && std::string(set) == "draw-twice")
      noise.emplace(own.noise.parts, *privacy::os_entropy());
    kept.config_hash = order.config_hash;
    kept.tables = release::tables_text(plan, round);
    kept.summed = "single coordinator";
    kept.values.push_back(
        std::move(*noise).publish(privacy::RawSum(std::vector<std::uint64_t>(own.size(), 7))).values);
    if (round < plan.rounds()) {
      transaction.keep(kept);
      continue;
    }
    release::Artifact artifact = release::testing_artifact::artifact_of(plan);
    artifact.config_hash = order.config_hash;
    artifact.data_id = order.data_id;
    artifact.values = release::joined(plan, kept.values);
    transaction.finish(std::move(artifact));
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6 && argc != 7) return static_cast<int>(ExitCode::kUsage);
  try {
    const std::filesystem::path run = argv[2];
    release::ReleaseOrder order;
    order.file = run / "release.mfl";
    order.statement_json = run / "privacy.json";
    order.statement_text = run / "privacy.txt";
    order.config_hash = std::string(64, 'c');
    order.ledger = argv[1];
    order.data_id = "kill-test";
    order.budget = privacy::Budget{std::strtod(argv[4], nullptr), 1e-5, {}};
    order.lock_deadline = std::chrono::seconds(60);
    order.signing_key = argv[5];
    (argc == 7 ? make_release_in_rounds : make_release)(order, std::strtod(argv[3], nullptr));
    return 0;
  } catch (const Error& e) {
    std::cerr << e.what() << '\n';
    return static_cast<int>(e.code());
  } catch (const std::exception& e) {
    std::cerr << e.what() << '\n';
    return 1;
  }
}
