#include "refusal_log.hpp"

#include <fmt/format.h>

#include "muffle/core/text.hpp"

namespace muffle::http {

RefusalLog::RefusalLog(std::function<double()> now_s, std::function<void(const std::string&)> write)
    : now_s_(std::move(now_s)), write_(std::move(write)), since_(now_s_()) {}

void RefusalLog::refused(const std::string& peer, std::string_view name, std::string_view why) {
  constexpr double kMinute_s = 60;
  constexpr std::size_t kMostOfAReason = 300;
  if (const double now = now_s_(); now - since_ >= kMinute_s) {
    if (left_out_ > 0) write_(fmt::format("serve: {} more refusals are not listed", left_out_));
    since_ = now;
    lines_ = 0;
    left_out_ = 0;
    peers_.clear();
  }
  if (lines_ >= kMostLines || (peers_.contains(peer) && peers_[peer] >= kMostOfAPeer)) {
    ++left_out_;
    return;
  }
  ++lines_;
  ++peers_[peer];
  write_(fmt::format("serve: refused {}: {}{}", peer,
                     name.empty() ? "" : fmt::format("'{}': ", printable(name)),
                     printable(why.substr(0, kMostOfAReason))));
}

}  // namespace muffle::http
