// Messages at a `muffle coordinator serve`.
#include "muffle/core/error.hpp"
#include "muffle/http/client.hpp"
#include "muffle/round/exchange.hpp"

namespace muffle::round {
namespace {

class HttpsExchange final : public Exchange {
 public:
  HttpsExchange(const std::string& address, const http::ClientSettings& network)
      : client_(address, network) {}

  void put(const std::string& name, std::string_view bytes) override { client_.put(checked(name), bytes); }
  std::vector<std::string> list() override {
    std::vector<std::string> names;
    for (auto& message : client_.list()) names.push_back(std::move(message.name));
    return names;
  }
  std::optional<std::string> get(const std::string& name, std::uint64_t most) override {
    return client_.get(checked(name), most);
  }

 private:
  static const std::string& checked(const std::string& name) {
    require(is_message_name(name), "a message was to have no name of a message: this is a bug in muffle.");
    return name;
  }

  http::Client client_;
};

}  // namespace

const ExchangeKind& https_exchange_kind() {
  static const ExchangeKind kind{
      "https", /*is_far=*/true, http::is_address,
      [](const std::string& address, const http::ClientSettings& network) -> std::unique_ptr<Exchange> {
        return std::make_unique<HttpsExchange>(address, network);
      }};
  return kind;
}

}  // namespace muffle::round
