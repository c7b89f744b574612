// Messages in the memory of a process that plays all parties of a round: tests, and programs that link
// muffle.
#include <fmt/format.h>

#include <map>
#include <mutex>

#include "muffle/core/error.hpp"
#include "muffle/core/text.hpp"
#include "muffle/round/exchange.hpp"

namespace muffle::round {
namespace {

constexpr std::string_view kScheme = "memory://";

/// What lies at one address.
struct Shelf {
  std::mutex mutex;
  std::map<std::string, std::string> messages;
};

/// The same shelf for all who have the address open at a time; the last one takes it along.
std::shared_ptr<Shelf> shelf_at(const std::string& address) {
  static std::mutex mutex;
  static std::map<std::string, std::weak_ptr<Shelf>> all;
  const std::lock_guard lock(mutex);
  std::erase_if(all, [](const auto& entry) { return entry.second.expired(); });
  if (const auto found = all.find(address); found != all.end()) {
    if (std::shared_ptr<Shelf> shelf = found->second.lock()) return shelf;
  }
  auto shelf = std::make_shared<Shelf>();
  all[address] = shelf;
  return shelf;
}

class MemoryExchange final : public Exchange {
 public:
  explicit MemoryExchange(const std::string& address) : address_(address), shelf_(shelf_at(address)) {}

  void put(const std::string& name, std::string_view bytes) override {
    check(name);
    const std::lock_guard lock(shelf_->mutex);
    if (shelf_->messages.emplace(name, bytes).first->second != bytes)
      throw ProtocolError(fmt::format(
          "'{}/{}' is there already, and is another message: it was left as it is.", address_, name));
  }

  std::vector<std::string> list() override {
    const std::lock_guard lock(shelf_->mutex);
    std::vector<std::string> names;
    for (const auto& [name, bytes] : shelf_->messages) names.push_back(name);
    return names;
  }

  std::optional<std::string> get(const std::string& name, std::uint64_t most) override {
    check(name);
    const std::lock_guard lock(shelf_->mutex);
    const auto found = shelf_->messages.find(name);
    if (found == shelf_->messages.end()) return std::nullopt;
    if (found->second.size() > most)
      throw ProtocolError(fmt::format("'{}/{}' has {} bytes, and such a message has {} at most.", address_,
                                      name, found->second.size(), most));
    return found->second;
  }

 private:
  static void check(const std::string& name) {
    require(is_message_name(name), "a message was to have no name of a message: this is a bug in muffle.");
  }

  std::string address_;
  std::shared_ptr<Shelf> shelf_;
};

}  // namespace

const ExchangeKind& memory_exchange_kind() {
  static const ExchangeKind kind{
      "memory", /*is_far=*/false, [](std::string_view address) { return address.starts_with(kScheme); },
      [](const std::string& address, const http::ClientSettings&) -> std::unique_ptr<Exchange> {
        if (!is_message_name(address.substr(kScheme.size())))
          throw ConfigError("'" + printable(address) +
                            "' needs a name behind memory://, of letters and digits.");
        return std::make_unique<MemoryExchange>(address);
      }};
  return kind;
}

}  // namespace muffle::round
