// What needs a network: muffle coordinator serve, muffle site sync.
#include <fmt/format.h>

#include <ostream>

#include "muffle/app/commands.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/http/server.hpp"
#include "muffle/release/message_names.hpp"
#include "muffle/site/pins.hpp"
#include "party_folder.hpp"

namespace muffle::app {

round::Synced carry_messages(const PartyCommand& command, bool site, const Heartbeat& heartbeat) {
  const PartyConfig config = load_party(command.folder, site);
  const std::string& address = command.exchange.empty() ? config.exchange() : command.exchange;
  if (!round::is_far(address))
    throw ConfigError(fmt::format(
        "there is nothing to carry: site.exchange is '{}', and sync needs the address of a place "
        "across a network, such as a server's https://. In a folder that all see, step alone does it.",
        address));
  const auto local = round::make_exchange(round::working_exchange(config.folder, address));
  http::ClientSettings network = config.config.party->network;
  network.heartbeat = heartbeat;
  const auto remote = round::make_exchange(address, network);
  // What the party has sent before (muffle site step): the server must have these very bytes.
  std::vector<std::string> own;
  if (const auto outbox = config.folder / "outbox"; watched::exists(outbox))
    own = round::make_exchange(outbox.string())->list();
  const std::string card = (config.folder / "card.mfm").string();
  const crypto::SitePublicKey self =
      release::parse_message(read_file(card, release::kMostBytesOfWords), card).header.sender;
  round::SyncLimits limits;
  if (site) {
    if (!command.evidence) limits.reader = self;
    if (const auto pinned = site::Pins::load(config.folder).coordinator) limits.coordinator = pinned->key;
  } else {  // itself
    limits.coordinator = self;
  }
  return round::synchronise(*local, *remote, own, limits);
}

void require_own_words(const round::Synced& synced) {
  if (synced.conflicts.empty()) return;
  throw ProtocolError(
      fmt::format("{} messages of this party's own are other ones at the exchange, such as {} Its folder was "
                  "restored from an older copy, or somebody else acts with its key.",
                  synced.conflicts.size(), synced.conflicts.front().why));
}

void sync_party(const PartyCommand& command, bool site, std::ostream& out) {
  const round::Synced synced = carry_messages(command, site);
  out << round::in_words(synced)
      << fmt::format("{} fetched, {} sent.\n", synced.fetched.size(), synced.sent.size()) << std::flush;
  if (synced.left > 0)
    out << fmt::format(
        "{} messages are there that no step of this site reads, such as the others' contributions and what "
        "they countersigned; `muffle site sync --evidence` fetches them for those who verify.\n",
        synced.left);
  require_own_words(synced);
  if (!synced.refused.empty())
    throw ProtocolError(
        fmt::format("{} messages were not taken, each for the reason above; all others were carried.",
                    synced.refused.size()));
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
