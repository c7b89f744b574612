#include "muffle/round/exchange.hpp"

#include <algorithm>
#include <array>

#include "muffle/core/error.hpp"
#include "muffle/core/text.hpp"

namespace muffle::round {

#define MUFFLE_KIND(kind) const ExchangeKind& kind##_exchange_kind();
#include "exchange_kinds.inc"

std::span<const ExchangeKind> exchange_kinds() {
#define MUFFLE_KIND(kind) kind##_exchange_kind(),
  static const auto table = std::to_array<ExchangeKind>({
#include "exchange_kinds.inc"
  });
  return table;
}

std::unique_ptr<Exchange> make_exchange(const std::string& address, const http::ClientSettings& network) {
  const auto kinds = exchange_kinds();
  const auto found =
      std::find_if(kinds.begin(), kinds.end(), [&](const auto& kind) { return kind.serves(address); });
  if (found == kinds.end())
    throw ConfigError("'" + printable(address) + "' is no place where this muffle can leave messages.");
  return found->make(address, network);
}

}  // namespace muffle::round
