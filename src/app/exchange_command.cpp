// What needs a network: muffle coordinator serve, muffle site sync.
#include <fmt/format.h>

#include <ostream>

#include "muffle/app/commands.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/http/server.hpp"
#include "muffle/round/sync.hpp"

namespace muffle::app {

void sync_party(const PartyCommand& command, bool site, std::ostream& out) {
  const PartyConfig config = load_party(command.folder, site);
  const std::string& address = command.exchange.empty() ? config.exchange() : command.exchange;
  if (!http::is_address(address))
    throw ConfigError(
        fmt::format("there is nothing to carry: site.exchange is '{}', and sync needs the https:// address "
                    "of a server. In a "
                    "folder that all see, step alone does it.",
                    address));
  const auto local = round::make_exchange(round::working_exchange(config.folder, address));
  const auto remote = round::make_exchange(address, config.config.party->network);
  // What the party has sent before (muffle site step): the server must have these very bytes.
  std::vector<std::string> own;
  if (const auto outbox = config.folder / "outbox"; watched::exists(outbox))
    own = round::make_exchange(outbox.string())->list();
  const round::Synced synced = round::synchronise(*local, *remote, own);
  for (const std::string& name : synced.fetched) out << "fetched  " << name << "\n";
  for (const std::string& name : synced.sent) out << "sent     " << name << "\n";
  out << fmt::format("{} fetched, {} sent.\n", synced.fetched.size(), synced.sent.size()) << std::flush;
}

void serve(const ServeCommand& command, std::ostream& out) {
  http::ServerSettings settings;
  settings.folder = command.folder;
  settings.listen = command.listen;
  settings.cert = command.cert;
  settings.key = command.key;
  settings.client_ca = command.client_ca;
  http::Server server(settings, http::known_senders(command.folder));
  out << fmt::format("muffle serves '{}' at {} until it is told to stop (SIGTERM, Ctrl-C).\n", command.folder,
                     server.address())
      << std::flush;
  server.run(/*heed_signals=*/true);
  out << "muffle has stopped; every message that was taken is in the folder.\n";
}

}  // namespace muffle::app
