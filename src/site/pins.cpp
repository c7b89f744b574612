#include "muffle/site/pins.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <sstream>

#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"

namespace muffle::site {
namespace {

std::filesystem::path file_of(const std::filesystem::path& folder) { return folder / "pins"; }

std::string line_of(const char* role, const crypto::SignerKey& who) {
  return fmt::format("{} {} {}  # {}\n", role, who.name, to_hex(who.key),
                     crypto::in_words(crypto::fingerprint(who.key)));
}

}  // namespace

Pins Pins::load(const std::filesystem::path& folder) {
  Pins pins;
  const std::filesystem::path file = file_of(folder);
  if (!is_there(file, "the list of known parties", "Nothing was done.")) return pins;
  std::istringstream text(read_file(file, std::size_t{1} << 20));
  int number = 0;
  for (std::string line; std::getline(text, line);) {
    ++number;
    std::istringstream words(line.substr(0, line.find('#')));
    std::string role, name, hex, more;
    if (!(words >> role)) continue;
    crypto::SignerKey who;
    if (!(words >> name >> hex) || words >> more ||
        (role != "coordinator" && role != "peer" && role != "former") || !crypto::valid_site_name(name) ||
        !crypto::from_hex(hex, who.key) || (role == "coordinator" && pins.coordinator))
      throw ConfigError(fmt::format(
          "{} line {}: each line says \"coordinator NAME KEY\" (once), \"peer NAME KEY\" or "
          "\"former NAME KEY\", with 64 hexadecimal digits of the key. `muffle site pin` writes them.",
          file.string(), number));
    who.name = name;
    if (role == "coordinator") {
      pins.coordinator = who;
    } else {
      (role == "peer" ? pins.peers : pins.former).push_back(who);
    }
  }
  return pins;
}

void Pins::save(const std::filesystem::path& folder) const {
  std::string text = "# Whose keys were compared with their holders (muffle site pin).\n";
  if (coordinator) text += line_of("coordinator", *coordinator);
  for (const crypto::SignerKey& peer : peers) text += line_of("peer", peer);
  for (const crypto::SignerKey& peer : former) text += line_of("former", peer);
  write_file_atomically(file_of(folder), std::string_view(text));
}

void Pins::add(const crypto::SitePublicKey& key, const release::Card& card, const std::string& told,
               bool replaces) {
  const auto words = crypto::parse_fingerprint(told);
  if (!words)
    throw ConfigError(
        "--words needs a fingerprint: eight words such as lusab-babad-..., or 32 hexadecimal digits, as its "
        "holder reads them out (`muffle site card`).");
  if (*words != crypto::fingerprint(key))
    throw ConfigError(
        fmt::format("the card says '{}', and its key has another fingerprint than you were told: either it "
                    "is somebody else's card, or you did not speak to {}. Nothing was pinned.",
                    card.name, card.name));
  if (std::ranges::count(former, key, &crypto::SignerKey::key) > 0)
    throw ConfigError(fmt::format(
        "this is a key that '{}' has replaced: its new card is another one. Nothing was pinned.", card.name));
  if (replaces) {
    const auto old = std::ranges::find(peers, card.name, &crypto::SignerKey::name);
    if (old == peers.end() || card.coordinator || old->key == key)
      throw ConfigError(fmt::format(
          "--replaces is for a site or key holder that is pinned under another key, and '{}' {}. Nothing was "
          "pinned.",
          card.name,
          card.coordinator     ? "is a coordinator: a consortium ends with its coordinator's key"
          : old == peers.end() ? "is not pinned"
                               : "has this very key"));
    former.push_back(*old);
    peers.erase(old);
  }
  const auto conflict = [&](const crypto::SignerKey& known) {
    return (known.name == card.name) != (known.key == key);
  };
  if (std::ranges::any_of(peers, conflict) || (coordinator && conflict(*coordinator)))
    throw ConfigError(fmt::format(
        "a party of this name, or with this key, is pinned already, and is not this one: '{}'. "
        "If its people say that they have replaced their key: --replaces. If it was stolen, take the old "
        "line out of the file pins.",
        card.name));
  if (card.coordinator) {
    if (coordinator && coordinator->key != key)
      throw ConfigError(fmt::format(
          "'{}' is pinned as the coordinator: a site has one. Take its line out of the file pins first.",
          coordinator->name));
    coordinator = crypto::SignerKey{card.name, key};
  } else if (!knows(key)) {
    peers.push_back({card.name, key});
  }
}

bool Pins::knows(const crypto::SitePublicKey& key) const {
  return with_fingerprint(crypto::fingerprint(key)) != nullptr;
}

const crypto::SignerKey* Pins::with_fingerprint(const crypto::Fingerprint& fingerprint) const {
  for (const auto* list : {&peers, &former}) {
    for (const crypto::SignerKey& one : *list) {
      if (crypto::fingerprint(one.key) == fingerprint) return &one;
    }
  }
  return nullptr;
}

const crypto::SignerKey* Pins::peer(const std::string& name) const {
  const auto at = std::ranges::find(peers, name, &crypto::SignerKey::name);
  return at == peers.end() ? nullptr : &*at;
}

}  // namespace muffle::site
