#include "muffle/release/message_names.hpp"

#include <fmt/format.h>

#include "muffle/core/hash.hpp"
#include "muffle/crypto/fingerprint.hpp"

namespace muffle::release {
namespace {

constexpr std::size_t kShort = 16;  // hexadecimal digits
constexpr std::string_view kProposal = "-proposal.mfm";

std::string of_party(const crypto::RoundId& round, std::string_view kind,
                     const crypto::SitePublicKey& party) {
  return fmt::format("{}-{}-{}.mfm", short_id(round), kind, crypto::short_fingerprint(party));
}

}  // namespace

std::string card_name(const crypto::SitePublicKey& party) {
  return "card-" + crypto::short_fingerprint(party) + ".mfm";
}
std::string charter_name(std::uint64_t version) { return fmt::format("charter-{}.mfm", version); }
std::string countersignature_name(std::uint64_t version, const crypto::SitePublicKey& member) {
  return fmt::format("charter-{}-{}.mfm", version, crypto::short_fingerprint(member));
}
std::string round_keys_name(const crypto::SitePublicKey& holder, std::uint64_t first) {
  return fmt::format("round-keys-{}-{}.mfm", crypto::short_fingerprint(holder), first);
}

std::string short_id(const crypto::RoundId& round) { return to_hex(round).substr(0, kShort); }
std::string proposal_name(const crypto::RoundId& round) { return short_id(round) + std::string(kProposal); }
std::string seal_name(const crypto::RoundId& round) { return short_id(round) + "-seal.mfm"; }
std::string stand_in_request_name(const crypto::RoundId& round) {
  return short_id(round) + "-stand-in-request.mfm";
}
std::string release_name(const crypto::RoundId& round) { return short_id(round) + "-release.mfl"; }
std::string release_statement_name(const crypto::RoundId& round) { return short_id(round) + "-release.mfm"; }
std::string contribution_name(const crypto::RoundId& round, const crypto::SitePublicKey& site) {
  return of_party(round, "contribution", site);
}
std::string decline_name(const crypto::RoundId& round, const crypto::SitePublicKey& site) {
  return of_party(round, "decline", site);
}
std::string opening_name(const crypto::RoundId& round, const crypto::SitePublicKey& holder) {
  return of_party(round, "opening", holder);
}
std::string stand_in_name(const crypto::RoundId& round, const crypto::SitePublicKey& holder) {
  return of_party(round, "stand-in", holder);
}
std::string receipt_name(const crypto::RoundId& round, const crypto::SitePublicKey& party) {
  return of_party(round, "receipt", party);
}

bool is_proposal_name(std::string_view name) {
  return name.size() == kShort + kProposal.size() && name.ends_with(kProposal) &&
         is_hex(name.substr(0, kShort), kShort);
}
bool is_of_round(std::string_view name, const crypto::RoundId& round) {
  return name.starts_with(short_id(round) + "-");
}

std::uint64_t most_bytes(std::uint64_t numbers) {
  return numbers == 0 ? kMostBytesWithoutNumbers : numbers * sizeof(std::uint64_t) + (std::uint64_t{1} << 16);
}

}  // namespace muffle::release
