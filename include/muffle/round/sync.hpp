#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "muffle/round/exchange.hpp"

namespace muffle::round {

/// What one synchronisation brought.
struct Synced {
  std::vector<std::string> fetched, sent;
};

/// Carries messages both ways between a folder and an exchange, until each has what the other had: the part
/// of a site's work that needs a network, and no key. Nothing is replaced or erased. Messages are checked by
/// those who read them.
/// @param own  messages of this party: where both sides have one, the bytes must be the same. (After a
/// restored backup a party may have made another one of what it had sent before.)
/// @throws ProtocolError  messages that one side does not take, or other bytes of an own one: after all
/// others were carried, and each is named. @throws IoError, CommError, ConfigError  as the exchanges.
Synced synchronise(Exchange& local, Exchange& remote, const std::vector<std::string>& own = {});

/// Where a party whose exchange has this address works: the address itself, if it is a folder's; else the
/// folder PARTY/exchange, made if need be, which is synchronised. @throws IoError.
std::string working_exchange(const std::filesystem::path& party, const std::string& address);

}  // namespace muffle::round
