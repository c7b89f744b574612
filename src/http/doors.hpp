#pragma once

#include <map>
#include <optional>
#include <string>

#include "muffle/http/server.hpp"

namespace muffle::http {

/// Who counts as one peer: an IPv4 address, or the /64 of an IPv6 address, whose holder has all the others in
/// it. @param address  as text; an IPv4 address in IPv6 (::ffff:...) is the IPv4 address
std::string peer_of(const std::string& address);
bool is_loopback_peer(const std::string& peer);

/// How many connections there are, in all and of each peer. Not thread-safe.
class Doors {
 public:
  /// @param limits  outlives it
  explicit Doors(const Limits& limits) : limits_(limits) {}
  /// None: it is in, until it leaves. Else why it is not.
  std::optional<std::string> enter(const std::string& peer);
  void leave(const std::string& peer);

 private:
  const Limits& limits_;
  int open_ = 0;
  std::map<std::string, int> peers_;
};

}  // namespace muffle::http
