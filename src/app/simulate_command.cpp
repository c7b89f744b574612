// muffle simulate: a round between institutions on one machine.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <ctime>
#include <numeric>
#include <optional>
#include <ostream>
#include <thread>

#include "muffle/app/commands.hpp"
#include "muffle/comm/launcher.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/http/certificates.hpp"
#include "muffle/release/message_names.hpp"
#include "muffle/round/consortium_folder.hpp"
#include "muffle/site/key_store.hpp"
#include "muffle/site/pins.hpp"
#include "party_folder.hpp"
#include "processes.hpp"

namespace muffle::app {
namespace {

namespace fs = std::filesystem;

/// A server on this machine is there at once, or not at all.
constexpr double kServerDeadline_s = 60;

struct World {
  World(const SimulateCommand& command, const ConfigSources& sources)
      : out(fs::absolute(command.out).lexically_normal()),
        exchange(out / "exchange"),
        coordinator(out / "coordinator") {
    if (watched::exists(coordinator))
      throw ConfigError(fmt::format("'{}' holds a simulation already: choose another folder.", out.string()));
    config = load_config(sources, {.release = true});
    if (config.plan.schema.on_error != schema::OnError::kClamp)
      throw ConfigError(fmt::format(
          "'{}' says data.on_error = \"reject-file\", which is not for rounds between institutions: who "
          "contributes is public, and would tell whether a site has a record that does not fit. Add `--set "
          "data.on_error=clamp`: it changes no number of records that all fit.",
          sources.file));
    for (const features::NamedMap& map : config.plan.maps) {
      if (map.map->needs_torch() && !command.with_torch)
        throw ConfigError(fmt::format(
            "the map \"{}\" needs LibTorch, which muffle-site has not, and a simulation's acts are "
            "processes of its program: use `muffle simulate`.",
            map.name));
    }
    const int needed = command.missing == 0 ? 3 : command.missing == 1 ? 4 : 8;
    if (command.sites < needed)
      throw ConfigError(
          fmt::format("{} key holders may be missing of {} or more, and sites are key holders here: "
                      "--sites {} or more.",
                      command.missing, needed, needed));
    holders = std::min<std::size_t>(static_cast<std::size_t>(command.sites), command.missing > 1 ? 8 : 5);
    for (int i = 0; i < command.sites; ++i) {
      names.push_back(fmt::format("SITE-{}", i + 1));
      folders.push_back(out / fmt::format("site-{}", i + 1));
    }
  }

  /// Lets sites reach the coordinator's folder over TLS, by a certificate that is made for this.
  void serve() {
    // What leads out of this machine leads to nobody here.
    for (const char* variable :
         {"MUFFLE_EXCHANGE_PROXY", "MUFFLE_EXCHANGE_CLIENT_CERT", "MUFFLE_EXCHANGE_CLIENT_KEY", "https_proxy",
          "HTTPS_PROXY", "all_proxy", "ALL_PROXY"})
      ::unsetenv(variable);
    const fs::path key = out / "server.key";
    certificate = out / "server.pem";
    http::make_loopback_certificate(key, certificate);
    server.emplace(
        std::vector<std::string>{"coordinator", "serve", "--round", exchange.string(), "--listen",
                                 "127.0.0.1:0", "--cert", certificate.string(), "--key", key.string()},
        (out / "server.log").string(), kServerDeadline_s);
  }

  /// Until those who have not opened are late. @param id  the round's, or its first digits
  void wait_for_last_opening(const std::string& id) const {
    const auto place = round::make_exchange(exchange.string());
    const std::uint64_t until = round::find_round(*place, id).proposal.open_until;
    while (static_cast<std::uint64_t>(std::time(nullptr)) <= until)
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }

  std::vector<std::size_t> all() const {
    std::vector<std::size_t> sites(names.size());
    std::iota(sites.begin(), sites.end(), std::size_t{0});
    return sites;
  }
  /// Key holders who open round `number` (1 ..) where `missing` do not: the last ones, in the next round
  /// those before them, so that who was missing is back.
  std::vector<std::size_t> openers(std::size_t number, std::size_t missing) const {
    std::vector<std::size_t> sites;
    for (std::size_t i = missing; i < holders; ++i)
      sites.push_back((i + holders - number * missing % holders) % holders);
    std::ranges::sort(sites);
    return sites;
  }

  /// Settings of a site whose records are one part of the configuration's, and whose policy allows it.
  std::map<std::string, std::string> settings_of(std::size_t i) const {
    std::map<std::string, std::string> values;
    for (const auto& [key, literal] : flatten(config)) {
      if (key.starts_with("data.") && key != "data.records" && key != "data.id") values[key] = literal;
    }
    std::vector<std::string> networks;
    for (const auto& [hash, file] : config.features.assets(config.plan.schema))
      networks.push_back(settings::toml_string(fs::absolute(file).lexically_normal().string()));
    values["features.networks"] = fmt::format("[{}]", fmt::join(networks, ", "));
    values["data.dir"] = settings::toml_string(fs::absolute(config.data.dir).lexically_normal().string());
    values["data.id"] = settings::toml_string(names[i]);
    values["site.parts"] = fmt::format("{}", names.size());
    values["site.part"] = fmt::format("{}", i);
    values["privacy.ledger"] = "\"ledger.jsonl\"";
    values["policy.largest_epsilon"] = fmt::format("{}", privacy::kMaxEpsilon);
    values["policy.largest_epsilon_alone"] = "\"none\"";
    values["policy.tell_records"] = "true";
    if (server) values["exchange.ca"] = settings::toml_string(certificate.string());
    return values;
  }

  /// Keys and cards of everybody, which lie at the coordinator's; everybody knows everybody.
  void found() {
    PartyCommand command;
    const auto place = round::make_exchange(exchange.string());
    std::vector<site::KeyStore> stores;
    site::Pins everybody;
    const auto make = [&](const std::string& name, const fs::path& folder, release::Card roles,
                          std::map<std::string, std::string> values) {
      command.name = name;
      command.folder = folder.string();
      command.exchange = server && !roles.coordinator ? server->address() : exchange.string();
      stores.push_back(init_party(command, roles, !roles.coordinator, std::move(values)));
      if (roles.key_holder) (void)stores.back().make_round_keys();
      put_own(stores.back(), *place);
      const crypto::SignerKey who{name, stores.back().key().public_key()};
      if (roles.coordinator) {
        everybody.coordinator = who;
      } else {
        everybody.peers.push_back(who);
      }
    };
    release::Card roles;
    roles.coordinator = true;
    make("COORDINATOR", coordinator, roles, {});
    for (std::size_t i = 0; i < names.size(); ++i) {
      roles = {};
      roles.site = true;
      roles.key_holder = i < holders;
      make(names[i], folders[i], roles, settings_of(i));
    }
    for (const site::KeyStore& store : stores) everybody.save(store.folder());
  }

  fs::path out, exchange, coordinator;
  Config config;
  std::size_t holders = 5;  ///< the first of the sites
  std::vector<std::string> names;
  std::vector<fs::path> folders;
  fs::path certificate;
  std::optional<ServerProcess> server;  ///< none: all see the folder
};

}  // namespace

void simulate(const ConfigSources& sources, const SimulateCommand& command, std::ostream& printed) {
  if (comm::launched_by_mpi())
    throw ConfigError(
        "`muffle simulate` starts processes of its own: start it alone, without mpirun or srun.");
  World world(command, sources);
  const auto begin = std::chrono::steady_clock::now();
  const auto say = [&](const std::string& what) {
    printed << fmt::format("{:7.1f} s  {}\n",
                           std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count(),
                           what)
            << std::flush;
  };
  const auto by_coordinator = [&](std::vector<std::string> words) {
    words.insert(words.begin(), "coordinator");
    words.insert(words.end(), {"--coordinator", world.coordinator.string()});
    run_all("`muffle " + words[0] + " " + words[1] + "`", {words}, command.deadline_s);
  };
  const auto each_site = [&](const char* verb, const std::vector<std::size_t>& sites) {
    std::vector<std::vector<std::string>> commands;
    for (const std::size_t i : sites) commands.push_back({"site", verb, "--site", world.folders[i].string()});
    run_all(fmt::format("`muffle site {}` of a site", verb), commands, command.deadline_s);
  };
  const std::vector<std::size_t> all = world.all();
  const auto carry = [&](const std::vector<std::size_t>& sites) {
    if (world.server) each_site("sync", sites);
  };
  const auto by_sites = [&](const char* verb, const std::vector<std::size_t>& sites) {
    carry(sites);
    each_site(verb, sites);
    carry(sites);
  };
  ensure_writable_folder(world.exchange);
  if (!command.folder) {
    world.serve();
    say(fmt::format("the coordinator's folder is served at {}", world.server->address()));
  }
  world.found();
  say(fmt::format("{} sites and a coordinator have keys, and know one another", world.names.size()));
  by_coordinator({"charter", "--title", "a simulation"});
  by_sites("join", all);
  say("all have accepted the charter");
  std::vector<std::string> propose{"propose", "--title", "a simulated round", "--config", sources.file};
  if (command.missing > 0) {
    for (std::size_t h = 0; h < world.holders; ++h)
      propose.insert(propose.end(), {"--holder", world.names[h]});
    propose.insert(propose.end(), {"--missing-holders", fmt::format("{}", command.missing)});
  }
  for (const std::string& setting : sources.set) propose.insert(propose.end(), {"--set", setting});
  for (const auto& [key, value] : sources.flags)
    propose.insert(propose.end(), {"--set", key + "=" + settings::toml_string(value)});
  std::vector<std::string> deadlines;
  if (command.missing > 0)
    deadlines = {"--days", fmt::format("{:.6f}", command.wait_s / 86400), "--open-days", "0.00002"};
  const auto place = round::make_exchange(world.exchange.string());
  const std::size_t rounds = world.config.plan.rounds();
  std::string before;
  for (std::size_t number = 1; number <= rounds; ++number) {
    if (number > 1) {
      by_coordinator({"step"});
      say("the round has its noisy sum");
      propose = {"propose", "--after", before};
    }
    propose.insert(propose.end(), deadlines.begin(), deadlines.end());
    by_coordinator(propose);
    for (const round::Proposals::Entry& entry : round::read_proposals(*place).rounds) {
      if (entry.round.proposal.number() == number) before = release::short_id(entry.round.id);
    }
    say(rounds == 1 ? "a round is proposed" : fmt::format("round {} of {} is proposed", number, rounds));
    by_sites("step", all);
    say("all have contributed");
    by_coordinator({"step"});
    say("the contributions are sealed");
    const std::vector<std::size_t> there = world.openers(number, static_cast<std::size_t>(command.missing));
    by_sites("step", there);
    say(command.missing == 0 ? "the key holders have opened"
                             : fmt::format("all key holders but {} have opened", command.missing));
    if (command.missing == 0) continue;
    world.wait_for_last_opening(before);
    by_coordinator({"step"});
    by_sites("step", there);
    say("the others have stood in for who is missing");
  }
  by_coordinator({"step"});
  for (const std::string& name : place->list()) {
    if (!name.ends_with("-release.mfl")) continue;
    carry(all);
    run_all("`muffle verify`",
            {{"verify", (world.exchange / name).string(), "--evidence", world.exchange.string(),
              "--require-signature", (world.coordinator / "card.mfm").string()}},
            command.deadline_s);
    say("the release is verified: " + (world.exchange / name).string());
    return;
  }
  throw ProtocolError("the round made no release: see `muffle round status " + world.exchange.string() +
                      "`.");
}

}  // namespace muffle::app
