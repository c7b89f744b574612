#include "doors.hpp"

#include <arpa/inet.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace muffle::http {

std::string peer_of(const std::string& address) {
  std::array<unsigned char, 16> bytes{};
  std::array<char, INET6_ADDRSTRLEN> text{};
  const std::string without_zone = address.substr(0, address.find('%'));
  if (::inet_pton(AF_INET6, without_zone.c_str(), bytes.data()) != 1) return address;
  constexpr std::array<unsigned char, 12> kMapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  if (std::equal(kMapped.begin(), kMapped.end(), bytes.begin())) {
    ::inet_ntop(AF_INET, bytes.data() + kMapped.size(), text.data(), text.size());
    return text.data();
  }
  constexpr std::array<unsigned char, 16> kLoopback{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1};
  if (bytes == kLoopback) return "::1";
  std::fill(bytes.begin() + 8, bytes.end(), static_cast<unsigned char>(0));
  ::inet_ntop(AF_INET6, bytes.data(), text.data(), text.size());
  return std::string(text.data()) + "/64";
}

bool is_loopback_peer(const std::string& peer) { return peer == "::1" || peer.starts_with("127."); }

std::optional<std::string> Doors::enter(const std::string& peer) {
  if (open_ >= limits_.connections)
    return fmt::format("{} connections are open, and no more are taken", open_);
  if (const auto own = peers_.find(peer);
      !is_loopback_peer(peer) && own != peers_.end() && own->second >= limits_.connections_of_a_peer)
    return fmt::format("it has {} connections open, and no peer gets more", own->second);
  ++open_;
  ++peers_[peer];
  return std::nullopt;
}

void Doors::leave(const std::string& peer) {
  --open_;
  if (--peers_[peer] == 0) peers_.erase(peer);
}

}  // namespace muffle::http
