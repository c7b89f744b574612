// A step of a site, of a key holder or of the coordinator, in a process of its own: what it does next in all
// rounds that it knows, as `muffle site step` and `muffle coordinator step` do.
//   step_driver site|holder|coordinator|abandon:ROUND WORLD NOW      WORLD/exchange, WORLD/party (its
//   folder), WORLD/party.key, WORLD/round-NUMBER.key, WORLD/shares-ROUND
// abandon:ROUND, of the coordinator: it gives this round up (the first digits of its id).
// Linked with faulty_system.cpp, which fails, kills and marks draws on demand. Exits as muffle does.
#include <cstdlib>
#include <iostream>
#include <memory>
#include <optional>
#include <string>

#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/release/message_names.hpp"
#include "muffle/round/consortium_folder.hpp"
#include "muffle/round/step.hpp"
#include "support/raw_access.hpp"

namespace {

using namespace muffle;
namespace fs = std::filesystem;

constexpr std::string_view kAbandon = "abandon:";

class Steps {
 public:
  Steps(fs::path world, std::uint64_t now)
      : world_(std::move(world)),
        exchange_(round::make_exchange((world_ / "exchange").string())),
        key_(crypto::SiteKey::load(world_ / "party.key")),
        party_(world_ / "party"),
        clock_{[now] { return now; }, std::chrono::milliseconds(60'000), {}} {}

  /// @returns the first error, which stops its own round alone.
  std::optional<Error> take(const std::string& role) {
    const round::Proposals all = round::read_proposals(*exchange_);
    if (all.rounds.empty()) std::cout << "there is no proposal\n";
    if (role == "site") require_ledger(all);
    std::optional<Error> first;
    for (const round::Proposals::Entry& entry : all.rounds) {
      if (role.starts_with(kAbandon) && release::short_id(entry.round.id) != role.substr(kAbandon.size()))
        continue;
      try {
        say(step(role, entry.round));
      } catch (const Error& e) {
        std::cerr << e.what() << '\n';
        if (!first) first = e;
      }
    }
    return first;
  }

 private:
  void require_ledger(const round::Proposals& all) const {
    for (const round::Proposals::Entry& entry : all.rounds) {
      if (!round::ledger_knows(entry.round, *exchange_, site_job(entry.round)))
        throw ProtocolError("there is a contribution of this site that its ledger does not know");
    }
  }

  round::StepReport step(const std::string& role, const round::ProposedRound& round) const {
    if (role == "site") return round::contributor_step(round, *exchange_, site_job(round));
    if (role == "holder") return round::holder_step(round, *exchange_, holder_job(round));
    const round::CoordinatorJob job{key_, party_, clock_, "1.2.3"};
    if (role.starts_with(kAbandon))
      return round::abandon_round(round, *exchange_, job, release::AbandonCode::kPerson);
    return round::coordinator_step(round, *exchange_, job);
  }

  round::ContributorJob site_job(const round::ProposedRound& round) const {
    return {key_,
            party_,
            {party_ / "ledger.mfl", key_.name(), {}, std::chrono::milliseconds(60'000)},
            clock_,
            [] {
              return round::SiteVerdict{round::SiteVerdict::Answer::kYes, ""};
            },
            [length = round.length](const round::ProposedRound&) {
              return round::OwnSums{embed::TestAccess::make(std::vector<std::uint64_t>(length, 7)), 0};
            },
            {}};
  }

  round::HolderJob holder_job(const round::ProposedRound& round) const {
    const auto file = [this](std::uint64_t number) {
      return world_ / ("round-" + std::to_string(number) + ".key");
    };
    return {key_,
            party_,
            clock_,
            [file](std::uint64_t number) { return fs::exists(file(number)); },
            [file](std::uint64_t number) { return crypto::ExchangeKey::load(file(number)); },
            [file](const release::HolderKey& key) { fs::remove(file(key.number)); },
            world_ / ("shares-" + release::short_id(round.id)),
            {},
            "1.2.3"};
  }

  static void say(const round::StepReport& report) {
    for (const std::string& line : report.done) std::cout << line << '\n';
    for (const std::string& line : report.waits) std::cout << "waits for " << line << '\n';
    for (const std::string& line : report.aside) std::cout << "aside " << line << '\n';
  }

  const fs::path world_;
  const std::unique_ptr<round::Exchange> exchange_;
  const crypto::SiteKey key_;
  const fs::path party_;
  const round::StepClock clock_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) return static_cast<int>(ExitCode::kUsage);
  try {
    const std::optional<Error> error = Steps(argv[2], std::strtoull(argv[3], nullptr, 10)).take(argv[1]);
    return error ? static_cast<int>(error->code()) : 0;
  } catch (const Error& e) {
    std::cerr << e.what() << '\n';
    return static_cast<int>(e.code());
  } catch (const std::exception& e) {
    std::cerr << e.what() << '\n';
    return 1;
  }
}
