#include "muffle/round/transport.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "muffle/core/error.hpp"

namespace muffle::round {

#define MUFFLE_KIND(kind) const TransportKind& kind##_transport_kind();
#include "transport_kinds.inc"

std::span<const TransportKind> transport_kinds() {
#define MUFFLE_KIND(kind) kind##_transport_kind(),
  static const auto table = std::to_array<TransportKind>({
#include "transport_kinds.inc"
  });
  return table;
}

std::unique_ptr<Transport> make_transport(comm::HostComm& job) {
  const auto kinds = transport_kinds();
  const auto found =
      std::find_if(kinds.begin(), kinds.end(), [&](const auto& kind) { return kind.serves(job); });
  require(found != kinds.end(), "no transport serves this job: this is a bug in muffle.");
  return found->make(job);
}

std::vector<std::string> Transport::to_all(const std::string& message) {
  // Each message behind its length, in one that the coordinator sends back.
  std::string all;
  for (const std::string& one : to_coordinator(message)) {
    const std::uint64_t length = one.size();
    all.append(reinterpret_cast<const char*>(&length), sizeof length).append(one);
  }
  all = from_coordinator(all);
  std::vector<std::string> messages;
  for (std::size_t at = 0; at < all.size();) {
    std::uint64_t length = 0;
    const bool whole = all.size() - at >= sizeof length;
    if (whole) std::memcpy(&length, all.data() + at, sizeof length);
    if (!whole || all.size() - at - sizeof length < length)
      throw ProtocolError("the coordinator sent the sites' messages cut off. Nothing was revealed.");
    messages.push_back(all.substr(at + sizeof length, length));
    at += sizeof length + length;
  }
  if (messages.size() != static_cast<std::size_t>(sites()))
    throw ProtocolError(
        "the coordinator sent the messages of other sites than take part. Nothing was revealed.");
  return messages;
}

void Transport::agree(const std::string& what, bool share_message, const std::function<void()>& step) {
  comm::agree(
      site(), /*host=*/"", [this](const std::string& mine) { return to_all(mine); }, what, share_message,
      step);
}

bool Transport::coordinator_says(bool yes) { return from_coordinator(yes ? "yes" : "no") == "yes"; }

}  // namespace muffle::round
