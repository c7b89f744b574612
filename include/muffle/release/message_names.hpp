#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "muffle/crypto/pair_keys.hpp"

namespace muffle::release {

// What the files of a consortium are called, in its one folder. A name is where to look, and vouches for
// nothing: who says what stands in the signed header. "r16" are the first 16 hexadecimal digits of the
// round's id, "fp16" those of a party's fingerprint (crypto::short_fingerprint).

std::string card_name(const crypto::SitePublicKey& party);  ///< card-FP16.mfm
std::string charter_name(std::uint64_t version);            ///< charter-VERSION.mfm
std::string countersignature_name(std::uint64_t version,    ///< charter-VERSION-FP16.mfm
                                  const crypto::SitePublicKey& member);
std::string round_keys_name(const crypto::SitePublicKey& holder,  ///< round-keys-FP16-FIRST.mfm
                            std::uint64_t first);

std::string short_id(const crypto::RoundId& round);                ///< R16
std::string proposal_name(const crypto::RoundId& round);           ///< R16-proposal.mfm
std::string seal_name(const crypto::RoundId& round);               ///< R16-seal.mfm
std::string stand_in_request_name(const crypto::RoundId& round);   ///< R16-stand-in-request.mfm
std::string release_name(const crypto::RoundId& round);            ///< R16-release.mfl
std::string release_statement_name(const crypto::RoundId& round);  ///< R16-release.mfm
std::string abandonment_name(const crypto::RoundId& round);        ///< R16-abandonment.mfm
std::string sum_name(const crypto::RoundId& round);                ///< R16-sum.mfm
// R16-KIND-FP16.mfm
std::string contribution_name(const crypto::RoundId& round, const crypto::SitePublicKey& site);
std::string decline_name(const crypto::RoundId& round, const crypto::SitePublicKey& site);
std::string opening_name(const crypto::RoundId& round, const crypto::SitePublicKey& holder);
std::string stand_in_name(const crypto::RoundId& round, const crypto::SitePublicKey& holder);
std::string receipt_name(const crypto::RoundId& round, const crypto::SitePublicKey& party);

/// Whether any message of a consortium, or any release, may be called so.
bool is_name_of_ours(std::string_view name);
/// Whether it is called like some round's proposal.
bool is_proposal_name(std::string_view name);
/// Whether it is called like a message of this round.
bool is_of_round(std::string_view name, const crypto::RoundId& round);

/// The most bytes of a message without numbers, wherever it lies or comes from: of a charter, proposal or
/// seal, which hold other messages, and of a stand-in, which holds shares for every site; of the rest.
inline constexpr std::uint64_t kMostBytesOfLists = std::uint64_t{4} << 20;
inline constexpr std::uint64_t kMostBytesOfWords = std::uint64_t{64} << 10;
/// The most bytes of a message that has so many numbers, of 8 bytes each.
std::uint64_t most_bytes(std::uint64_t numbers);
/// Likewise of a message that is called so. @param numbers  0: it has none
std::uint64_t most_bytes(std::string_view name, std::uint64_t numbers);

}  // namespace muffle::release
