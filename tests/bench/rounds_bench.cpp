// What the acts of a round between institutions cost, each in a process of its own, once records are
// embedded:
//   rounds_bench [L [SITES [HOLDERS]]]      default: 1000000 100 5
// A contribution and an opening are real ones, by contributor_step() and holder_step() over a folder. The
// sites that are summed are made up, with fresh keys and numbers whose sum is small: what a coordinator
// reads, hashes and adds is the same. Seconds by the wall, on as many cores as it is given (taskset -c 0);
// memory: the process's largest resident set, less what it had before the act.
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>

#include "muffle/core/files.hpp"
#include "muffle/release/message_names.hpp"
#include "muffle/round/step.hpp"
#include "round/parties_world.hpp"
#include "support/temporary_folder.hpp"

namespace {

using namespace muffle;
namespace fs = std::filesystem;

std::size_t resident_kib() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    if (word == "VmRSS:") {
      std::size_t kib = 0;
      status >> kib;
      return kib;
    }
  }
  return 0;
}

/// Does the act in a child, and prints what it took.
void measure(const std::string& what, const std::function<void()>& act) {
  std::fflush(stdout);
  const pid_t child = ::fork();
  if (child == 0) {
    try {
      const std::size_t before = resident_kib();
      const auto begun = std::chrono::steady_clock::now();
      act();
      const double s = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
      rusage use{};
      ::getrusage(RUSAGE_SELF, &use);
      std::printf("%-34s %8.2f s %8.0f MiB\n", what.c_str(), s,
                  static_cast<double>(static_cast<std::size_t>(use.ru_maxrss) - before) / 1024.0);
      std::fflush(stdout);
      ::_exit(0);
    } catch (const std::exception& e) {
      std::fprintf(stderr, "%s: %s\n", what.c_str(), e.what());
      ::_exit(1);
    }
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  if (status != 0) std::exit(1);
}

release::ReleasePlan plan_of_length(std::size_t numbers) {
  const schema::Schema schema{{1}, 1};
  privacy::PrivacySpec spec;
  spec.epsilon = 1.0;
  spec.max_records_per_person = 1;
  spec.adjacency = privacy::Adjacency::kAddRemoveOne;
  const test::MapKeys keys{{"count", std::to_string(numbers)}};
  return release::make_plan(
      {schema, {}, {test::named("rff", test::make_map("rff", keys, schema))}, spec, true, 0});
}

/// A message whose header is as a party's, and whose numbers are all `number`.
std::string made_up(release::SignedHeader header, const crypto::SiteKey& key, std::size_t length,
                    std::uint64_t number) {
  const std::vector<std::uint64_t> numbers(length, number);
  return release::message_bytes(release::sign(std::move(header), key, numbers), numbers);
}

void run(std::size_t length, int sites, int holders) {
  const round::World world({sites, sites, sites / 2 + 1, 1, holders, 1, 0}, plan_of_length(length));
  const round::ProposedRound round = world.round();
  const test::TemporaryFolder folder;
  const auto in = [&](const std::string& name) {
    fs::create_directories(folder / name);
    return (folder / name).string();
  };
  const std::uint64_t now = round.proposal.contribute_until - 1000;
  const round::StepClock clock{[now] { return now; }, std::chrono::milliseconds(60'000), {}};
  std::printf("L = %zu, %d sites, %d key holders\n", round.length, sites, holders);

  const auto alone = round::make_exchange(in("alone"));
  alone->put(release::proposal_name(round.id), world.proposed);
  measure("a contribution", [&] {
    const release::ChargeBook book{fs::path(in("site")) / "ledger.jsonl", "bench", {}, clock.lock_deadline};
    const auto yes = [] { return round::SiteVerdict{round::SiteVerdict::Answer::kYes, ""}; };
    const auto embedded = [&](const round::ProposedRound& asked) {
      return round::OwnSums{embed::PartialSum(asked.length), 0};
    };
    round::contributor_step(round, *alone, {world.sites[0], in("site"), book, clock, yes, embedded, {}});
  });

  const auto exchange = round::make_exchange(in("exchange"));
  exchange->put(release::proposal_name(round.id), world.proposed);
  for (const crypto::SiteKey& site : world.sites) {
    release::SignedHeader header{.kind = release::MessageKind::kContribution};
    header.round = round.id;
    header.answers = round.id;
    release::Contribution said;
    said.point = crypto::ExchangeKey::generate().point();
    said.commitments.resize(static_cast<std::size_t>(holders));
    said.macs.resize(static_cast<std::size_t>(holders));
    said.charge = std::string(32, 'c');
    said.data_id = "bench";
    header.body = release::body_of(said);
    exchange->put(release::contribution_name(round.id, site.public_key()),
                  made_up(std::move(header), site, round.length, 1));
  }
  const auto coordinate = [&] {
    round::coordinator_step(round, *exchange, {world.coordinator, in("coordinator"), clock, "bench"});
  };
  measure("coordinator: seal", coordinate);
  measure("an opening", [&] {
    round::holder_step(round, *exchange,
                       {world.holders[0],
                        in("holder"),
                        clock,
                        [](std::uint64_t) { return true; },
                        [&](std::uint64_t) { return world.round_key(0); },
                        [](const release::HolderKey&) {},
                        {}});
  });
  const std::string seal_name = release::seal_name(round.id);
  const release::SealedRound seal(
      round,
      release::parse_message(*exchange->get(seal_name, release::most_bytes(seal_name, 0)), seal_name).header);
  fs::remove(folder / "exchange" / release::opening_name(round.id, world.holders[0].public_key()));
  for (const crypto::SiteKey& holder : world.holders) {
    release::SignedHeader header{.kind = release::MessageKind::kOpening};
    header.round = round.id;
    header.answers = seal.id;
    header.body = release::body_of(release::Opening{});
    exchange->put(release::opening_name(round.id, holder.public_key()),
                  made_up(std::move(header), holder, round.length, 0));
  }
  measure("coordinator: add up and release", coordinate);
  if (!exchange->get(release::release_name(round.id), release::most_bytes(round.length))) {
    std::fprintf(stderr, "the round made no release\n");
    std::exit(1);
  }
}

}  // namespace

int main(int argc, char** argv) {
  const auto number = [&](int i, long preset) {
    return argc > i ? std::strtol(argv[i], nullptr, 10) : preset;
  };
  run(static_cast<std::size_t>(number(1, 1'000'000)), static_cast<int>(number(2, 100)),
      static_cast<int>(number(3, 5)));
  return 0;
}
