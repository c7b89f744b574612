// A muffle that was configured with MUFFLE_HTTPS=OFF.
#include "muffle/core/error.hpp"
#include "muffle/http/certificates.hpp"
#include "muffle/http/client.hpp"
#include "muffle/http/server.hpp"

namespace muffle::http {
namespace {

[[noreturn]] void refuse() {
  throw ConfigError(
      "this muffle was built without HTTPS (cmake -DMUFFLE_HTTPS=OFF). Build it with, or exchange messages "
      "by a folder.");
}

}  // namespace

class Client::Connection {};
Client::Client(const std::string&, const ClientSettings&) { refuse(); }
Client::~Client() = default;
Client::Client(Client&&) noexcept = default;
Client& Client::operator=(Client&&) noexcept = default;
std::vector<Client::Listed> Client::list() { refuse(); }
std::optional<std::string> Client::get(const std::string&, std::uint64_t) { refuse(); }
void Client::put(const std::string&, std::string_view) { refuse(); }

class Server::Listener {};
Server::Server(const ServerSettings&, Admission) { refuse(); }
Server::~Server() = default;
std::string Server::address() const { refuse(); }
void Server::run(bool) { refuse(); }
void Server::stop() { refuse(); }

bool request_client_certificate(const std::filesystem::path&, const std::filesystem::path&,
                                const std::string&) {
  return false;
}
void make_loopback_certificate(const std::filesystem::path&, const std::filesystem::path&) { refuse(); }

}  // namespace muffle::http
