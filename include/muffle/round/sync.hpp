#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "muffle/round/consortium_folder.hpp"

namespace muffle::round {

/// How much a party takes from whoever serves its exchange: that may be anybody, and disk and time are the
/// party's.
struct SyncLimits {
  /// Whose rounds are fetched: the pinned coordinator's. None: who is who, and proposals, and nothing else.
  std::optional<crypto::SitePublicKey> coordinator{};
  /// Whose steps are to come: what none of them reads is left there, such as the others' contributions, and
  /// that they accept a charter (release::is_for()). None: everything is fetched, as the coordinator and who
  /// verifies releases need it.
  std::optional<crypto::SitePublicKey> reader{};
  std::size_t messages = 20'000;                 ///< that may lie here, of no round or proposing one
  std::uint64_t bytes = std::uint64_t{1} << 38;  ///< fetched at once
  double seconds = 4 * 3600;                     ///< likewise; what is under way then is still fetched
};

/// What one synchronisation brought.
struct Synced {
  std::vector<std::string> fetched, sent;
  std::vector<SetAside>
      refused;  ///< what one side did not take, and why; the others were carried all the same
  std::vector<SetAside>
      conflicts;  ///< own messages that are others there: somebody acts with the party's key
  /// Contributions, openings and stand-ins that lie here, and whose round is abandoned: they stay.
  std::vector<std::string> held{};
  std::string unfinished{};  ///< why not all was carried; empty: it was
  std::size_t left = 0;      ///< messages of the known rounds that the reader's steps do not need
};

/// Carries messages both ways between a folder and an exchange, until the exchange has what the folder had,
/// and the folder what its party needs: the part of a site's work that needs a network, and no key. Nothing
/// is replaced or erased. It fetches before it sends, and of a round that is abandoned by then nothing is
/// sent that comes of records or of round keys. What is fetched is called as messages are, is signed, and is
/// of who is in the consortium or takes part in a known round; it is no larger, and there are no more of
/// them, than that needs. What messages mean is checked by those who read them.
/// @param own  messages of this party: where both sides have one, the bytes must be the same. (After a
/// restored backup a party may have made another one of what it had sent before.)
/// @throws IoError, CommError, ConfigError  as the exchanges.
Synced synchronise(Exchange& local, Exchange& remote, const std::vector<std::string>& own = {},
                   const SyncLimits& limits = {});

/// What was carried, a line each, and what was not.
std::string in_words(const Synced& synced);

/// Where a party whose exchange has this address works: the address itself, if it is a folder's; else the
/// folder PARTY/exchange, made if need be, which is synchronised. @throws IoError.
std::string working_exchange(const std::filesystem::path& party, const std::string& address);

}  // namespace muffle::round
