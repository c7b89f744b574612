// One step of a site, of a key holder or of the coordinator, in a process of its own.
//   step_driver site|holder|coordinator WORLD NOW      WORLD/exchange, WORLD/party (its folder),
//   WORLD/party.key, WORLD/round.key
// Linked with faulty_system.cpp, which fails, kills and marks draws on demand. Exits as muffle does.
#include <cstdlib>
#include <iostream>
#include <optional>
#include <string>

#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/release/message_names.hpp"
#include "muffle/round/step.hpp"
#include "support/raw_access.hpp"

namespace {

using namespace muffle;
namespace fs = std::filesystem;

/// The only one, or that of the release's last round.
round::ProposedRound proposed(round::Exchange& exchange) {
  std::optional<round::ProposedRound> last;
  for (const std::string& name : exchange.list()) {
    if (!release::is_proposal_name(name)) continue;
    round::ProposedRound round(
        release::parse_message(*exchange.get(name, release::most_bytes(name, 0)), name), name);
    if (!last || round.proposal.number() > last->proposal.number()) last.emplace(std::move(round));
  }
  if (!last) throw ConfigError("there is no proposal");
  return std::move(*last);
}

round::StepReport step(const std::string& role, const fs::path& world, std::uint64_t now) {
  const auto exchange = round::make_exchange((world / "exchange").string());
  const round::ProposedRound round = proposed(*exchange);
  const crypto::SiteKey key = crypto::SiteKey::load(world / "party.key");
  const fs::path party = world / "party", round_key = world / "round.key";
  const round::StepClock clock{[now] { return now; }, std::chrono::milliseconds(60'000), {}};
  if (role == "site") {
    const auto sums = [&](const round::ProposedRound&) {
      return round::OwnSums{embed::TestAccess::make(std::vector<std::uint64_t>(round.length, 7)), 0};
    };
    const release::ChargeBook book{party / "ledger.mfl", key.name(), {}, std::chrono::milliseconds(60'000)};
    const auto yes = [] { return round::SiteVerdict{round::SiteVerdict::Answer::kYes, ""}; };
    const round::ContributorJob job{key, party, book, clock, yes, sums, {}};
    return round::contributor_step(round, *exchange, job);
  }
  if (role == "coordinator") return round::coordinator_step(round, *exchange, {key, party, clock, "1.2.3"});
  return round::holder_step(round, *exchange,
                            {key,
                             party,
                             clock,
                             [&](std::uint64_t) { return fs::exists(round_key); },
                             [&](std::uint64_t) { return crypto::ExchangeKey::load(round_key); },
                             [&](const release::HolderKey&) { fs::remove(round_key); },
                             world / "shares",
                             {},
                             "1.2.3"});
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return static_cast<int>(ExitCode::kUsage);
  try {
    const round::StepReport report = step(argv[1], argv[2], std::strtoull(argv[3], nullptr, 10));
    for (const std::string& line : report.done) std::cout << line << '\n';
    for (const std::string& line : report.waits) std::cout << "waits for " << line << '\n';
    for (const std::string& line : report.aside) std::cout << "aside " << line << '\n';
    return 0;
  } catch (const Error& e) {
    std::cerr << e.what() << '\n';
    return static_cast<int>(e.code());
  } catch (const std::exception& e) {
    std::cerr << e.what() << '\n';
    return 1;
  }
}
