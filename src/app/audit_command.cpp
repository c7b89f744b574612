#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <ostream>

#include "muffle/app/commands.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/progress.hpp"
#include "muffle/core/text.hpp"
#include "muffle/embed/audit.hpp"
#include "muffle/job/audit_paths.hpp"
#include "muffle/networks/network_block.hpp"
#include "muffle/privacy/accountant.hpp"

namespace muffle::app {
namespace {

using Json = nlohmann::ordered_json;

struct Audited {
  privacy::AggregationMode mode;
  embed::Embedder embedder;
  embed::CanaryPair pair;
  embed::AuditReport report;

  const privacy::NoisePlan& noise() const { return embedder.plan.noise; }
};

const char* verdict(const Audited& a) {
  return a.report.exceeds() ? "EXCEEDED: the release leaks more than it claims" : "not contradicted";
}

/// What was attacked, and what was not.
std::string path_of(const privacy::AggregationMode& mode) {
  const int ranks = privacy::ranks_of(mode);
  std::string path = fmt::format("{} rank{}, {}", ranks, ranks == 1 ? "" : "s", privacy::name_of(mode));
  if (const auto* shares = privacy::distributed(mode); shares != nullptr && shares->colluding > 0)
    path += fmt::format("; {} of the ranks tell the attacker their shares of the noise", shares->colluding);
  return path;
}

std::string not_covered(const privacy::AggregationMode& mode) {
  std::string rest = "readers of files, ledger, artifact, signatures";
  const bool masked = privacy::is_masked(mode);
  if (masked) rest = "site keys, " + rest;
  if (masked && privacy::ranks_of(mode) == 1) rest = "masks (one rank has none: use mpirun), " + rest;
  if (!masked) rest = "masks and shares of noise (not configured), " + rest;
  return rest;
}

std::string as_json(const Audited& a, const AuditCommand& command) {
  Json findings = Json::array();
  for (const privacy::AuditFinding& f : a.report.bound.findings) {
    findings.push_back({{"attack", f.attack},
                        {"threshold", f.threshold},
                        {"trials", f.trials},
                        {"false_positives", f.false_positives},
                        {"false_negatives", f.false_negatives},
                        {"false_positive_rate_upper", f.false_positive_rate},
                        {"false_negative_rate_upper", f.false_negative_rate},
                        {"mu_lower", f.mu},
                        {"epsilon_lower_any_mechanism", f.epsilon_any}});
  }
  const privacy::DistributedNoise* shares = privacy::distributed(a.mode);
  const Json out = {{"format", "muffle-audit"},
                    {"version", 1},
                    {"exceeds", a.report.exceeds()},
                    {"verdict", verdict(a)},
                    {"confidence", command.confidence},
                    {"path",
                     {{"aggregation", privacy::name_of(a.mode)},
                      {"ranks", privacy::ranks_of(a.mode)},
                      {"colluding", shares == nullptr ? 0 : shares->colluding},
                      {"not_covered", not_covered(a.mode)}}},
                    {"claim",
                     {{"epsilon", a.noise().epsilon},
                      {"delta", a.noise().delta},
                      {"mu", a.report.claimed_mu},
                      {"noise_multiplier", a.noise().noise_multiplier},
                      {"sensitivity", a.noise().sensitivity.value},
                      {"sigma", a.noise().sigma},
                      {"adjacency", privacy::to_string(a.noise().sensitivity_input.adjacency)}}},
                    {"canaries",
                     {{"what", a.pair.description},
                      {"features", command.features},
                      {"distance", a.pair.distance},
                      {"distance_to_sensitivity", a.pair.distance / a.noise().sensitivity.value},
                      {"mu", a.report.reachable_mu}}},
                    {"mu_lower", a.report.bound.mu},
                    {"epsilon_lower", a.report.epsilon_lower},
                    {"epsilon_lower_any_mechanism", a.report.bound.epsilon_any},
                    {"findings", findings}};
  return out.dump(2) + "\n";
}

std::string as_text(const Audited& a, const AuditCommand& command) {
  std::string out = fmt::format(
      "claim      mu {:.6g}: ({}, {})-DP, {} adjacency, noise multiplier {:.10g}\n"
      "canaries   {}; {} features; their sums are {:.6g} apart, {:.4g} of the sensitivity {:.6g}: mu {:.6g}\n"
      "path       {}\n"
      "omitted    {}\n"
      "trials     {} releases of each, and of the records before\n"
      "found      mu at least {:.6g}, with confidence {}: {:.3g} of the claim\n"
      "           epsilon at least {:.6g} at delta {} for Gaussian noise, {:.6g} for whatever mechanism\n"
      "verdict    {}\n\n",
      a.report.claimed_mu, exact_text(a.noise().epsilon), exact_text(a.noise().delta),
      privacy::to_string(a.noise().sensitivity_input.adjacency), a.noise().noise_multiplier,
      a.pair.description, command.features, a.pair.distance, a.pair.distance / a.noise().sensitivity.value,
      a.noise().sensitivity.value, a.report.reachable_mu, path_of(a.mode), not_covered(a.mode),
      command.trials, a.report.bound.mu, exact_text(command.confidence),
      a.report.bound.mu / a.report.claimed_mu, a.report.epsilon_lower, exact_text(a.noise().delta),
      a.report.bound.epsilon_any, verdict(a));
  out += fmt::format("{:<11} {:>9} {:>15} {:>15} {:>9}\n", "attack", "threshold", "false positives",
                     "false negatives", "mu");
  for (const privacy::AuditFinding& f : a.report.bound.findings) {
    out += fmt::format("{:<11} {:>9.3f} {:>15} {:>15} {:>9.4f}\n", f.attack, f.threshold, f.false_positives,
                       f.false_negatives, f.mu);
  }
  return out;
}

}  // namespace

void audit(const ConfigSources& sources, const AuditCommand& command, comm::HostComm& comm,
           std::ostream& out) {
  if (command.features < 2 || command.features % 2 != 0 || command.features > 100'000)
    throw UsageError(fmt::format("--features is {}, not an even number from 2 to 100000.", command.features));
  Config config;
  Audited a;
  comm::agree(comm, "planning the audit", true, [&] {
    config = load_config(sources, {.release = true});
    a.mode = config.aggregation.mode(comm.size());
    release::ReleaseSettings settings = release_settings(config);
    for (features::NamedMap& map : settings.maps) {
      map.map = map.map->shrunk(command.features);
      map.round = 1;  // all rounds at once: they cost as much side by side
    }
    a.embedder = embed::make_embedder(release::make_plan(std::move(settings)), networks::make_network_block);
    a.pair = embed::worst_pair(a.embedder);
  });
  Progress progress("audit", command.trials, "trials", comm.is_root());
  a.report =
      embed::audit(a.embedder, a.pair, job::real_release(a.embedder, comm, a.mode),
                   {command.trials, command.confidence, comm.rank(), comm.size()}, [&](std::uint64_t trials) {
                     comm::agree(comm, "auditing", true, [&] { comm.check_peers("auditing"); });
                     progress.update(trials);
                   });
  progress.update(command.trials);
  comm::agree(comm, "judging the audit", true, [&] {
    if (!comm.is_root()) return;
    out << (command.format == "json" ? as_json(a, command) : as_text(a, command)) << std::flush;
    if (!a.report.exceeds()) return;
    throw InvariantError(
        "The audit found that a release leaks more than it claims: the lower bound on mu is above the "
        "claimed mu. Run it again with more --trials to rule out chance; if it stays, release nothing "
        "with this build and report it with the output above.");
  });
}

}  // namespace muffle::app
