#include "party_folder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ostream>

#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/core/text.hpp"
#include "muffle/core/watchdog.hpp"
#include "muffle/crypto/secret_file.hpp"
#include "muffle/release/later_rounds.hpp"
#include "muffle/release/message_names.hpp"
#include "muffle/site/pins.hpp"

namespace muffle::app {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostKept = std::size_t{1} << 26;

/// The files of a folder, sorted; none where there is no folder.
std::vector<fs::path> files_in(const fs::path& folder) {
  const WatchedStep step("listing", folder);
  std::vector<fs::path> files;
  std::error_code error;
  if (!fs::exists(folder, error) && !error) return files;
  for (auto i = fs::directory_iterator(folder, error); !error && i != fs::directory_iterator();
       i.increment(error))
    files.push_back(i->path());
  if (error) throw IoError(fmt::format("cannot list '{}': {}.", folder.string(), error.message()));
  std::ranges::sort(files);
  return files;
}

}  // namespace

std::uint64_t seconds_now() {
  return static_cast<std::uint64_t>(std::chrono::system_clock::to_time_t(std::chrono::system_clock::now()));
}

site::KeyStore init_party(const PartyCommand& command, release::Card roles, bool site,
                          std::map<std::string, std::string> values) {
  const fs::path file = party_file(command.folder, site);
  if (is_there(file, "the settings", "Nothing was made."))
    throw ConfigError(fmt::format("'{}' is there already: choose another folder.", file.string()));
  site::KeyStore store = site::KeyStore::make(command.folder, command.name, roles);
  if (!command.exchange.empty())
    values["site.exchange"] =
        settings::toml_string(command.exchange.find("://") == std::string::npos
                                  ? fs::absolute(command.exchange).lexically_normal().string()
                                  : command.exchange);
  crypto::write_secret_file(file, party_toml(site, values),
                            "the settings");  // a proxy's password may be in it
  return store;
}

std::string card_text(const site::KeyStore& store) {
  const crypto::Fingerprint fingerprint = crypto::fingerprint(store.key().public_key());
  return fmt::format("name         {}\nroles        {}\nfingerprint  {}\n             {}\n",
                     store.key().name(), roles_in_words(store.card()), crypto::in_words(fingerprint),
                     to_hex(fingerprint));
}

std::unique_ptr<round::Exchange> exchange_of(const PartyCommand& command, const PartyConfig& config) {
  const std::string& address = command.exchange.empty() ? config.exchange() : command.exchange;
  if (address.empty())
    throw ConfigError(
        fmt::format("nobody said where the messages lie: set site.exchange in {}, or give --exchange.",
                    party_file(config.folder, config.config.party->site).string()));
  // What was typed is where to go; what the settings name may be far away, and `sync` goes there.
  return round::make_exchange(
      command.exchange.empty() ? round::working_exchange(config.folder, address) : address,
      config.config.party->network);
}

round::Membership members_of(const site::KeyStore& store, round::Exchange& exchange) {
  if (store.card().coordinator)
    return round::read_membership(exchange, {store.folder(), store.key().public_key()});
  const auto pinned = site::Pins::load(store.folder()).coordinator;
  if (!pinned) return round::read_membership(exchange);
  return round::read_membership(exchange, {store.folder(), pinned->key});
}

void put_own(const site::KeyStore& store, round::Exchange& exchange) {
  exchange.put(release::card_name(store.key().public_key()), store.card_bytes());
  for (const fs::path& file : files_in(store.folder() / "round-keys")) {
    const std::string bytes = read_file(file, kMostKept);
    const release::Message message = release::parse_message(bytes, file.string());
    const release::RoundKeys keys = release::read_round_keys(message.header, file.string());
    exchange.put(release::round_keys_name(message.header.sender, keys.first), bytes);
  }
  if (!store.card().coordinator) return;
  for (const release::SignedHeader& charter :
       round::kept_charters({store.folder(), store.key().public_key()}))
    exchange.put(release::charter_name(release::Consortium(charter, "a charter").charter.version),
                 release::message_bytes(charter));
}

void pin(const PartyCommand& command, bool site, std::ostream& out) {
  const site::KeyStore store = site::KeyStore::open(command.folder);
  const auto exchange = exchange_of(command, load_party(command.folder, site));
  site::Pins pins = site::Pins::load(command.folder);
  const round::Membership members = members_of(store, *exchange);
  // Several cards may claim one name: the fingerprint tells whose it is.
  const release::SignedHeader* claimed = nullptr;
  for (const release::SignedHeader& header : members.cards) {
    if (release::read_card(header, "a card").name != command.name) continue;
    if (claimed == nullptr || crypto::parse_fingerprint(command.words) == crypto::fingerprint(header.sender))
      claimed = &header;
  }
  if (claimed == nullptr)
    throw ConfigError(
        fmt::format("there is no card of '{}' in the exchange: it puts one there by `muffle site join`.",
                    printable(command.name)));
  if (claimed->sender == store.key().public_key())
    throw ConfigError("this is the party's own card: it needs no pin.");
  const release::Card card = release::read_card(*claimed, "a card");
  if (!site && card.coordinator)
    throw ConfigError("a coordinator admits sites and key holders, no coordinator.");
  pins.add(claimed->sender, card, command.words, command.replaces);
  pins.save(command.folder);
  out << fmt::format(
      "{} ({}) is pinned.{}\n", card.name, roles_in_words(card),
      command.replaces ? " The key that it had stays good for rounds that were proposed for it." : "");
}

site::OwnNetworks networks_of(const release::ProposedRound& round, const PartyConfig& config) {
  return site::find_networks(round.proposal.plan.maps, config.config.party->networks);
}

std::vector<std::size_t> taking_part(const release::ProposedRound& round, round::Exchange& exchange) {
  std::string missing;
  const auto read = [&](const std::string& name, std::uint64_t most) { return exchange.get(name, most); };
  const std::vector<release::EndedRound> earlier = release::earlier_rounds(round, read, &missing);
  return earlier.empty() ? std::vector<std::size_t>() : earlier.front().seal.sites;
}

fs::path approval_file(const fs::path& folder, const release::ProposedRound& round,
                       const crypto::SitePublicKey& person) {
  ensure_writable_folder(folder / "approvals");
  return folder / "approvals" /
         fmt::format("{}-{}.mfm", release::short_id(round.first()), crypto::short_fingerprint(person));
}

fs::path opening_approval_file(const fs::path& folder, const release::ProposedRound& round,
                               const crypto::SitePublicKey& person) {
  ensure_writable_folder(folder / "approvals");
  return folder / "approvals" /
         fmt::format("{}-opening-{}.mfm", release::short_id(round.id), crypto::short_fingerprint(person));
}

fs::path decline_file(const fs::path& folder, const release::ProposedRound& round) {
  ensure_writable_folder(folder / "declined");
  return folder / "declined" / fmt::format("{}.mfm", release::short_id(round.id));
}

bool has_declined(const fs::path& folder, const release::ProposedRound& round) {
  return is_there(folder / "declined" / fmt::format("{}.mfm", release::short_id(round.id)), "the decline",
                  "Nothing was done.");
}

round::Letter decline_of_site(const site::KeyStore& store, const release::ProposedRound& round,
                              release::DeclineCode code) {
  // A second decline, with another code, would be a second answer.
  const fs::path kept = decline_file(store.folder(), round);
  if (!is_there(kept, "the decline", "Nothing was declined."))
    write_file_atomically(kept, message_bytes(sign(decline_of(round, code), store.key())));
  return {release::decline_name(round.id, store.key().public_key()), read_file(kept, kMostKept)};
}

namespace {

/// Signed words that are kept in a folder, of those whose names begin so.
std::vector<release::SignedHeader> kept_in(const fs::path& folder, const std::vector<std::string>& begin) {
  std::vector<release::SignedHeader> out;
  for (const fs::path& file : files_in(folder)) {
    const std::string name = file.filename().string();
    if (std::ranges::none_of(begin, [&](const std::string& start) { return name.starts_with(start); }))
      continue;
    out.push_back(release::parse_message(read_file(file, kMostKept), file.string()).header);
  }
  return out;
}

}  // namespace

std::vector<release::SignedHeader> kept_approvals(const fs::path& folder,
                                                  const release::ProposedRound& round) {
  return kept_in(folder / "approvals",
                 {release::short_id(round.first()), release::short_id(round.id) + "-opening-"});
}

fs::path personal_decline_file(const fs::path& folder, const release::ProposedRound& round,
                               const crypto::SitePublicKey& person) {
  ensure_writable_folder(folder / "declined");
  return folder / "declined" /
         fmt::format("{}-{}.mfm", release::short_id(round.id), crypto::short_fingerprint(person));
}

std::vector<release::SignedHeader> kept_declines(const fs::path& folder,
                                                 const release::ProposedRound& round) {
  return kept_in(folder / "declined", {release::short_id(round.id) + "-"});
}

}  // namespace muffle::app
