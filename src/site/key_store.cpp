#include "muffle/site/key_store.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>
#include <vector>

#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/core/watchdog.hpp"
#include "muffle/crypto/secret_file.hpp"
#include "muffle/release/message_names.hpp"

namespace muffle::site {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMostCardBytes = std::size_t{1} << 16;

/// The first line makes tar --exclude-caches, borg, restic and others pass the folder over
/// (bford.info/cachedir).
constexpr char kTag[] =
    "Signature: 8a477f597d28d172789f06886806bc55\n"
    "# Secret keys of muffle. Keep this folder out of backups, snapshots and synchronised folders:\n"
    "# a round key that comes back after its round was opened would break what the round promised.\n"
    "# A party that lost its keys makes new ones (muffle site init --ledger ITS-OLD-LEDGER) and is admitted\n"
    "# anew. What its records have spent stays spent.\n";

fs::path keys_of(const fs::path& folder) { return folder / "keys"; }

/// The number that the next round key has: one that was never given, also not to a key that was erased.
std::uint64_t next_number(const fs::path& file) {
  if (!is_there(file, "the round keys' counter", "No key was made.")) return 0;
  const std::string text = read_file(file, 64);
  std::uint64_t next = 0;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), next);
  if (parsed.ec != std::errc() || text.substr(static_cast<std::size_t>(parsed.ptr - text.data())) != "\n")
    throw ConfigError(
        fmt::format("'{}' does not hold the number of the next round key: it was changed or cut off. Write "
                    "one there that no round key has had.",
                    file.string()));
  return next;
}

}  // namespace

KeyStore::KeyStore(fs::path folder, crypto::SiteKey key, release::Card card, std::string card_bytes)
    : folder_(std::move(folder)),
      key_(std::move(key)),
      card_(std::move(card)),
      card_bytes_(std::move(card_bytes)) {}

KeyStore KeyStore::make(const fs::path& folder, const std::string& name, release::Card roles) {
  crypto::SiteKey key = crypto::SiteKey::generate(name);
  if (watched::exists(keys_of(folder)))
    throw ConfigError(fmt::format(
        "'{}' has keys already, and keys are never overwritten: choose another folder.", folder.string()));
  ensure_writable_folder(folder);
  crypto::ensure_private_folder(keys_of(folder));
  write_file_atomically(keys_of(folder) / "CACHEDIR.TAG", std::string_view(kTag));
  const crypto::ExchangeKey box = crypto::ExchangeKey::generate();
  box.save(keys_of(folder) / "box.key");
  key.save(keys_of(folder) / "site.key");
  roles.name = name;
  roles.box = box.point();
  release::SignedHeader header{.kind = release::MessageKind::kCard};
  header.body = body_of(roles);
  std::string card = message_bytes(sign(std::move(header), key));
  write_file_atomically(folder / "card.mfm", card);
  return {folder, std::move(key), std::move(roles), std::move(card)};
}

KeyStore KeyStore::open(const fs::path& folder) {
  if (!watched::exists(keys_of(folder) / "site.key"))
    throw ConfigError(
        fmt::format("'{}' is no folder of a site or a coordinator: it has no keys/site.key. `muffle site "
                    "init` and `muffle coordinator init` make one; --site and --coordinator say where it is.",
                    folder.string()));
  crypto::SiteKey key = crypto::SiteKey::load(keys_of(folder) / "site.key");
  const fs::path file = folder / "card.mfm";
  std::string bytes = read_file(file, kMostCardBytes);
  const release::Message message = release::parse_message(bytes, file.string());
  release::Card card = release::read_card(message.header, file.string());
  if (message.header.sender != key.public_key())
    throw ConfigError(fmt::format("'{}' is not the card of the key that lies beside it.", file.string()));
  return {folder, std::move(key), std::move(card), std::move(bytes)};
}

fs::path KeyStore::round_key_file(std::uint64_t number) const {
  return keys_of(folder_) / "round-keys" / fmt::format("{}.key", number);
}

std::string KeyStore::make_round_keys() {
  crypto::ensure_private_folder(keys_of(folder_) / "round-keys");
  const fs::path counter = keys_of(folder_) / "round-keys" / "next";
  release::RoundKeys keys{next_number(counter), {}};
  // First the counter: a crash may leave numbers unused, and uses none twice.
  write_file_atomically(counter, fmt::format("{}\n", keys.first + release::kRoundKeysAtATime));
  for (std::size_t i = 0; i < release::kRoundKeysAtATime; ++i) {
    const crypto::ExchangeKey key = crypto::ExchangeKey::generate();
    key.save(round_key_file(keys.first + i));
    keys.points.push_back(key.point());
  }
  if (const int error = sync_folder_of(counter); error != 0)
    throw IoError(fmt::format("cannot sync the folder of '{}': {}.", counter.string(), std::strerror(error)));
  release::SignedHeader header{.kind = release::MessageKind::kRoundKeys};
  header.body = body_of(keys);
  std::string bytes = message_bytes(sign(std::move(header), key_));
  crypto::ensure_private_folder(folder_ / "round-keys");
  write_file_atomically(folder_ / "round-keys" / fmt::format("{}.mfm", keys.first), bytes);
  return bytes;
}

bool KeyStore::has_round_key(std::uint64_t number) const { return watched::exists(round_key_file(number)); }

crypto::ExchangeKey KeyStore::round_key(std::uint64_t number) const {
  if (!has_round_key(number))
    throw ConfigError(
        fmt::format("the round key {} of '{}' is not there: it was erased after its round, was lost, or is "
                    "not this folder's. What it was to open stays closed.",
                    number, key_.name()));
  return crypto::ExchangeKey::load(round_key_file(number));
}

fs::path KeyStore::shares_file(const crypto::RoundId& round) const {
  crypto::ensure_private_folder(keys_of(folder_) / "shares");
  return keys_of(folder_) / "shares" / release::short_id(round);
}

void KeyStore::erase_round_key(std::uint64_t number, const crypto::ExchangePoint& point) const {
  std::vector<fs::path> files;
  if (watched::exists(keys_of(folder_) / "round-keys")) {
    for (const auto& entry : fs::directory_iterator(keys_of(folder_) / "round-keys")) {
      if (entry.path().extension() == ".key") files.push_back(entry.path());
    }
  }
  const fs::path own = round_key_file(number);
  for (const fs::path& file : files) {
    std::optional<crypto::ExchangePoint> found;
    try {
      found = crypto::ExchangeKey::load(file).point();
    } catch (const ConfigError&) {  // damaged, or others may read it: of no use to any round
    }
    if (found ? *found == point : file == own) crypto::erase_secret_file(file, "the round key");
  }
}

}  // namespace muffle::site
