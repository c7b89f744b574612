#include "muffle/job/together.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "muffle/core/error.hpp"

namespace muffle::job {

#define MUFFLE_KIND(kind) const TogetherKind& kind##_together_kind();
#include "together_kinds.inc"

std::span<const TogetherKind> together_kinds() {
#define MUFFLE_KIND(kind) kind##_together_kind(),
  static const auto table = std::to_array<TogetherKind>({
#include "together_kinds.inc"
  });
  return table;
}

std::unique_ptr<Together> make_together(comm::HostComm& job) {
  const auto kinds = together_kinds();
  const auto found =
      std::find_if(kinds.begin(), kinds.end(), [&](const auto& kind) { return kind.serves(job); });
  require(found != kinds.end(), "no kind of Together serves this job: this is a bug in muffle.");
  return found->make(job);
}

std::vector<std::string> Together::to_all(const std::string& message) {
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
      throw ProtocolError("the coordinator sent the parties' messages cut off. Nothing was revealed.");
    messages.push_back(all.substr(at + sizeof length, length));
    at += sizeof length + length;
  }
  if (messages.size() != static_cast<std::size_t>(parties()))
    throw ProtocolError(
        "the coordinator sent the messages of other parties than take part. Nothing was revealed.");
  return messages;
}

void Together::agree(const std::string& what, bool share_message, const std::function<void()>& step) {
  comm::agree(
      party(), /*host=*/"", [this](const std::string& mine) { return to_all(mine); }, what, share_message,
      step);
}

bool Together::coordinator_says(bool yes) { return from_coordinator(yes ? "yes" : "no") == "yes"; }

}  // namespace muffle::job
