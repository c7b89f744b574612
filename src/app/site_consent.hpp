// What people say of one round at a site or a key holder: muffle site show, approve and decline.
#pragma once

#include <iosfwd>

#include "muffle/app/commands.hpp"

namespace muffle::app {

/// The proposal in words, and what the party's policy says of it. @throws as party_command(), as the others.
void show_round(const PartyCommand& command, std::ostream& out);
/// A person lets the site contribute. Kept in its folder. @throws ConfigError  nobody asks that person.
void approve(const PartyCommand& command, std::ostream& out);
/// A person lets this key holder open the sum of the seal that is there, and of no other.
/// @throws ConfigError  as approve(); there is no seal yet.
void approve_opening(const PartyCommand& command, std::ostream& out);
/// The site takes no part, for all to see; who said so, with --key, stays in its folder.
void decline(const PartyCommand& command, std::ostream& out);

}  // namespace muffle::app
