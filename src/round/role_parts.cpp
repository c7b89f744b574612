#include "role_parts.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>

#include "muffle/core/error.hpp"
#include "muffle/crypto/secret_file.hpp"
#include "muffle/privacy/entropy.hpp"
#include "muffle/release/message_names.hpp"
#include "muffle/release/round_release.hpp"

namespace muffle::round {

namespace fs = std::filesystem;

Wanted wanted(std::string name, std::uint64_t numbers) {
  const std::uint64_t most = release::most_bytes(name, numbers);
  return {std::move(name), most};
}

Wanted wanted_names() { return {}; }

std::vector<Wanted> wanted_of(const release::EarlierRounds& earlier) {
  const auto next = earlier.next();
  return next ? std::vector<Wanted>{{next->name, next->most}} : std::vector<Wanted>();
}

std::optional<std::string>& bytes_of(Received& received) {
  if (received.refused) throw ProtocolError(*received.refused);
  return received.bytes;
}

std::optional<release::Message> message_of(Received received) {
  const std::optional<std::string>& bytes = bytes_of(received);
  if (!bytes) return std::nullopt;
  return release::parse_message(*bytes, received.name);
}

Gathered::Gathered(std::vector<Wanted> wanted) : wanted_(std::move(wanted)), received_(wanted_.size()) {}

std::vector<Wanted> Gathered::missing() const {
  std::vector<Wanted> out;
  for (std::size_t i = 0; i < wanted_.size(); ++i) {
    if (!received_[i]) out.push_back(wanted_[i]);
  }
  return out;
}

bool Gathered::take(Received&& received) {
  const auto found = std::ranges::find(wanted_, received.name, &Wanted::name);
  require(found != wanted_.end(), "a role took a message that it did not want: this is a bug in muffle.");
  received_[static_cast<std::size_t>(found - wanted_.begin())] = std::move(received);
  return std::ranges::all_of(received_, [](const auto& one) { return one.has_value(); });
}

Received& Gathered::at(const std::string& name) {
  const auto found = std::ranges::find(wanted_, name, &Wanted::name);
  require(found != wanted_.end(), "a role read a message that it did not want: this is a bug in muffle.");
  return received_[static_cast<std::size_t>(found - wanted_.begin())].value();
}

std::optional<release::AbandonCode> abandoned(const ProposedRound& round, const Received& abandonment) {
  try {
    const auto message = message_of(abandonment);
    if (message) return release::check_abandonment(round, message->header);
  } catch (const ProtocolError&) {  // anybody can put a file there: the status names it
  }
  return std::nullopt;
}

fs::path outbox(const fs::path& party) { return party / "outbox"; }
fs::path drafts(const fs::path& party) { return party / "keys" / "drafts"; }

void ensure_drafts(const fs::path& party) {
  crypto::ensure_private_folder(party / "keys");
  crypto::ensure_private_folder(drafts(party));
}

release::Journal open_journal(const fs::path& folder, const crypto::SiteKey& key, const StepClock& clock) {
  return {folder / "journal.mfj", key.public_key(), clock.lock_deadline};
}

std::string time_text(std::uint64_t seconds) {
  return fmt::format("{:%F %H:%M} UTC", fmt::gmtime(static_cast<std::time_t>(seconds)));
}

std::unique_ptr<privacy::EntropySource> entropy_of(const MakeEntropy& make) {
  return make ? make() : privacy::os_entropy();
}

}  // namespace muffle::round
