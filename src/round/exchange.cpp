#include "muffle/round/exchange.hpp"

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

namespace {

/// None: no kind has such addresses.
const ExchangeKind* kind_of(std::string_view address) {
  for (const ExchangeKind& kind : exchange_kinds()) {
    if (kind.serves(address)) return &kind;
  }
  return nullptr;
}

}  // namespace

bool is_far(std::string_view address) {
  const ExchangeKind* const kind = kind_of(address);
  return kind != nullptr && kind->is_far;
}

std::unique_ptr<Exchange> make_exchange(const std::string& address, const http::ClientSettings& network) {
  const ExchangeKind* const found = kind_of(address);
  if (found == nullptr)
    throw ConfigError("'" + printable(address) + "' is no place where this muffle can leave messages.");
  return found->make(address, network);
}

}  // namespace muffle::round
