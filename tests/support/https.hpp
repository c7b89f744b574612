#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <thread>

#include "muffle/http/server.hpp"
#include "muffle/http/settings.hpp"

namespace muffle::test {

/// An authority of a test's own, and certificates of it, made by OpenSSL.
class TestAuthority {
 public:
  /// Writes FOLDER/ca.pem. @param name  what it is called
  explicit TestAuthority(const std::filesystem::path& folder,
                         const std::string& name = "muffle test authority");
  ~TestAuthority();
  TestAuthority(const TestAuthority&) = delete;
  TestAuthority& operator=(const TestAuthority&) = delete;

  struct Pair {
    std::filesystem::path cert, key;
  };
  /// @param hosts  of its subjectAltName, as "IP:127.0.0.1,DNS:localhost"  @param from_s, to_s  seconds from
  /// now
  Pair certify(const std::string& file, const std::string& hosts, long from_s = -3600,
               long to_s = 86400) const;
  std::filesystem::path ca() const { return folder_ / "ca.pem"; }

 private:
  struct State;
  std::filesystem::path folder_;
  std::unique_ptr<State> state_;
};

/// A server in a thread, on loopback unless told otherwise; ends with the object.
class RunningServer {
 public:
  explicit RunningServer(const http::ServerSettings& settings, http::Admission admission = admits_all())
      : server_(settings, std::move(admission)), thread_([this] { server_.run(); }) {}
  ~RunningServer() {
    server_.stop();
    thread_.join();
  }
  std::string address() const { return server_.address(); }
  int port() const {
    const std::string all = address();
    return std::stoi(all.substr(all.rfind(':') + 1));
  }

  static http::Admission admits_all() {
    return [](const http::Arriving&) { return std::optional<http::Refusal>(); };
  }

 private:
  http::Server server_;
  std::thread thread_;
};

/// An authority, a certificate for 127.0.0.1 and a server that lets everything in.
struct HttpsPlace {
  explicit HttpsPlace(const std::filesystem::path& scratch);
  TestAuthority authority;
  RunningServer server;
  http::ClientSettings settings;
};

}  // namespace muffle::test
