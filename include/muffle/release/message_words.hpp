#pragma once

#include <string>

#include "muffle/release/messages.hpp"

namespace muffle::release {

/// One file of a round in words, for somebody who is to let it pass a firewall and knows nothing else of the
/// round: what it is, of which round, whose signature, how large, and what its numbers are. Several lines.
/// Public.
/// @param file  its name, with folders or without  @param bytes  all of it
/// @throws ProtocolError  it is no message: cut off, changed, or something else.
std::string message_in_words(const std::string& file, std::string_view bytes);

}  // namespace muffle::release
