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
std::string abandonment_name(const crypto::RoundId& round) { return short_id(round) + "-abandonment.mfm"; }
std::string sum_name(const crypto::RoundId& round) { return short_id(round) + "-sum.mfm"; }
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

bool is_name_of_ours(std::string_view name) {
  const auto digits = [](std::string_view text) {
    return !text.empty() && text.size() <= 10 &&
           text.find_first_not_of("0123456789") == std::string_view::npos;
  };
  const auto party = [](std::string_view text) { return text.size() == kShort && is_hex(text, kShort); };
  if (name.ends_with(".mfl"))
    return name.size() == kShort + 12 && party(name.substr(0, kShort)) &&
           name.substr(kShort) == "-release.mfl";
  if (!name.ends_with(".mfm")) return false;
  name.remove_suffix(4);
  if (name.starts_with("card-")) return party(name.substr(5));
  if (name.starts_with("charter-")) {
    name.remove_prefix(8);
    const std::size_t dash = name.find('-');
    return digits(name.substr(0, dash)) && (dash == std::string_view::npos || party(name.substr(dash + 1)));
  }
  if (name.starts_with("round-keys-")) {
    name.remove_prefix(11);
    return name.size() > kShort + 1 && party(name.substr(0, kShort)) && name[kShort] == '-' &&
           digits(name.substr(kShort + 1));
  }
  if (name.size() <= kShort + 1 || !party(name.substr(0, kShort)) || name[kShort] != '-') return false;
  name.remove_prefix(kShort + 1);
  for (const std::string_view kind :
       {"proposal", "seal", "release", "abandonment", "stand-in-request", "sum"}) {
    if (name == kind) return true;
  }
  for (const std::string_view kind : {"contribution-", "decline-", "opening-", "receipt-", "stand-in-"}) {
    if (name.starts_with(kind) && party(name.substr(kind.size()))) return true;
  }
  return false;
}

bool is_proposal_name(std::string_view name) {
  return name.size() == kShort + kProposal.size() && name.ends_with(kProposal) &&
         is_hex(name.substr(0, kShort), kShort);
}
bool is_of_round(std::string_view name, const crypto::RoundId& round) {
  return name.starts_with(short_id(round) + "-");
}

std::uint64_t most_bytes(std::uint64_t numbers) {
  return numbers * sizeof(std::uint64_t) + kMostBytesOfWords;
}

std::uint64_t most_bytes(std::string_view name, std::uint64_t numbers) {
  if (numbers > 0) return most_bytes(numbers);
  const bool asks = name.ends_with("-stand-in-request.mfm");
  const bool lists = is_proposal_name(name) || name.starts_with("charter-") || name.ends_with("-seal.mfm") ||
                     (name.find("-stand-in-") != std::string_view::npos && !asks);
  return lists ? kMostBytesOfLists : kMostBytesOfWords;
}

}  // namespace muffle::release
