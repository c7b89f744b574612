// Limits and TLS, with peers that do as they like.
#include "muffle/http/server.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <spdlog/sinks/ostream_sink.h>
#include <spdlog/spdlog.h>

#include <cstdlib>
#include <sstream>

#include "http/doors.hpp"
#include "http/raw_peer.hpp"
#include "http/refusal_log.hpp"
#include "muffle/http/client.hpp"
#include "support/expect_error.hpp"
#include "support/https.hpp"
#include "support/temporary_folder.hpp"

namespace muffle::http {
namespace {

using test::expect_error;
using test::RunningServer;
using testing::HasSubstr;
using testing::StartsWith;
namespace fs = std::filesystem;

class PlainServer : public testing::Test {
 protected:
  ServerSettings settings() const {
    ServerSettings out;
    out.folder = scratch_.path();
    out.listen = "127.0.0.1:0";
    out.limits = limits_;
    return out;
  }
  /// The answer to a request, to whose end the connection stays open or not.
  static std::string ask(const RunningServer& server, std::string_view request) {
    const RawPeer peer(server.port());
    peer.send(request);
    return peer.receive(1000);
  }
  test::TemporaryFolder scratch_;
  Limits limits_;
};

TEST_F(PlainServer, OneConnectionManyRequests) {
  const RunningServer server(settings());
  const RawPeer peer(server.port());
  for (int i = 0; i < 3; ++i) {
    peer.send("GET /v1/messages HTTP/1.1\r\nHost: x\r\n\r\n");
    const std::string answer = peer.receive(300);
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 200"));
    EXPECT_THAT(answer, HasSubstr("Muffle-Exchange: 1\r\n"));
    EXPECT_FALSE(peer.closed());
  }
}

TEST_F(PlainServer, LimitsOfARequest) {
  const RunningServer server(settings());
  const std::string put =
      "PUT /v1/messages/m?offset=0&size=1&sha256=" + std::string(64, 'a') + " HTTP/1.1\r\nHost: x\r\n";
  const std::vector<std::pair<std::string, std::string>> cases{
      {"GET /v1/messages HTTP/1.1\r\nX: " + std::string(9000, 'x') + "\r\n\r\n", "HTTP/1.1 431"},
      {put + "\r\n", "HTTP/1.1 411"},
      {put + "Transfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n", "HTTP/1.1 411"},
      {put + "Content-Length: 4194305\r\n\r\n", "HTTP/1.1 413"},
      {put + "Content-Length: 99999999999999999999\r\n\r\n", "HTTP/1.1 400"},
      {put + "Content-Length: -2\r\n\r\n", "HTTP/1.1 400"},
      {put + "Content-Length: 1\r\nContent-Length: 2\r\n\r\nx", "HTTP/1.1 400"},
      {put + "Content-Length: 1\r\nExpect: 100-continue\r\n\r\n", "HTTP/1.1 417"},
      {"GET /v1/messages HTTP/1.1\r\nContent-Length: 1\r\n\r\nx", "HTTP/1.1 400"},
      {"GET /chat HTTP/1.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n", "HTTP/1.1 400"},
      {"CONNECT other.example:443 HTTP/1.1\r\n\r\n", "HTTP/1.1 400"},
      {"\x16\x03\x01 no HTTP at all\r\n\r\n", "HTTP/1.1 400"},
  };
  for (const auto& [request, begins] : cases)
    EXPECT_THAT(ask(server, request), StartsWith(begins)) << request.substr(0, 120);
  EXPECT_EQ(fs::directory_iterator(scratch_ / ".incoming"), fs::directory_iterator()) << "nothing was kept";
  EXPECT_THAT(ask(server, "GET /v1/messages HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 200")) << "it goes on";
}

TEST_F(PlainServer, ASlowSenderIsCutAtTheDeadlineWhateverItSends) {
  limits_.request_s = 0.6;
  const RunningServer server(settings());
  const RawPeer peer(server.port());
  peer.send("PUT /v1/messages/m?offset=0&size=100&sha256=" + std::string(64, 'a') +
            " HTTP/1.1\r\nContent-Length: 100\r\n\r\n");
  const auto start = std::chrono::steady_clock::now();
  int sent = 0;
  while (!peer.closed() && sent < 100) {
    peer.send("x");
    ++sent;
    EXPECT_EQ(peer.receive(50), "");
  }
  EXPECT_TRUE(peer.closed());
  EXPECT_LT(sent, 60) << "each byte would put off a deadline that is none of the whole request";
  EXPECT_GE(std::chrono::steady_clock::now() - start, std::chrono::milliseconds(500));
}

TEST_F(PlainServer, ConnectionsAreCounted) {
  limits_.connections = 3;
  const RunningServer server(settings());
  const auto served = [](const RawPeer& peer) {
    peer.send("GET /v1/messages HTTP/1.1\r\n\r\n");
    return !peer.receive(300).empty();
  };
  {
    const RawPeer one(server.port()), two(server.port()), three(server.port());
    EXPECT_TRUE(served(one) && served(two) && served(three));
    EXPECT_FALSE(served(RawPeer(server.port())));
  }
  for (int i = 0; i < 50 && !served(RawPeer(server.port())); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_TRUE(served(RawPeer(server.port()))) << "room again";
}

TEST(Doors, APeerIsAnAddressOrTheNetworkOfOne) {
  EXPECT_EQ(peer_of("10.0.0.1"), "10.0.0.1");
  EXPECT_EQ(peer_of("::ffff:10.0.0.1"), "10.0.0.1") << "of a socket for both";
  EXPECT_EQ(peer_of("2001:db8:1:2:aaaa::1"), peer_of("2001:db8:1:2::b"));
  EXPECT_NE(peer_of("2001:db8:1:2::1"), peer_of("2001:db8:1:3::1"));
  EXPECT_EQ(peer_of("fe80::1%eth0"), "fe80::/64");
  for (const char* own : {"127.0.0.1", "::1", "::ffff:127.0.0.1"})
    EXPECT_TRUE(is_loopback_peer(peer_of(own))) << own;
  EXPECT_FALSE(is_loopback_peer(peer_of("::2")));
}

TEST(Doors, WhoHoldsANetworkDoesNotTakeAllConnections) {
  const Limits limits{.connections = 20, .connections_of_a_peer = 8};
  Doors doors(limits);
  int in = 0;
  for (int i = 0; i < 20; ++i) in += !doors.enter(peer_of("2001:db8::" + std::to_string(i)));
  EXPECT_EQ(in, 8);
  EXPECT_EQ(doors.enter("10.0.0.1"), std::nullopt);
  doors.leave(peer_of("2001:db8::77"));
  EXPECT_EQ(doors.enter(peer_of("2001:db8::5")), std::nullopt);
  EXPECT_THAT(doors.enter(peer_of("2001:db8::6")).value_or(""), HasSubstr("8 connections"));
  while (!doors.enter("127.0.0.1")) ++in;
  EXPECT_EQ(in, 8 + 20 - 9) << "a proxy on this machine has all that are left";
  EXPECT_THAT(doors.enter("10.0.0.2").value_or(""), HasSubstr("20 connections"));
}

TEST(RefusalLog, SaysWhoseWhatAndWhyAndFillsNoDisk) {
  double now = 1000;
  std::vector<std::string> lines;
  RefusalLog log([&] { return now; }, [&](const std::string& line) { lines.push_back(line); });
  log.refused("10.0.0.1", "card-1.mfm", "nobody knows\nits sender.");
  EXPECT_EQ(lines.back(), "serve: refused 10.0.0.1: 'card-1.mfm': nobody knows?its sender.");
  log.refused("10.0.0.2", "", std::string(5000, 'x'));
  EXPECT_LT(lines.back().size(), 400u);
  for (int i = 0; i < 1000; ++i) log.refused("10.0.0.1", "", "again");
  EXPECT_EQ(lines.size(), 1u + RefusalLog::kMostOfAPeer);
  for (int i = 0; i < 1000; ++i) log.refused("10.1.0." + std::to_string(i), "", "many");
  EXPECT_EQ(lines.size(), static_cast<std::size_t>(RefusalLog::kMostLines));
  now += 61;
  log.refused("10.0.0.1", "", "later");
  EXPECT_THAT(lines.at(RefusalLog::kMostLines), HasSubstr("1972 more"));
  EXPECT_THAT(lines.back(), HasSubstr("later"));
}

TEST_F(PlainServer, SaysInItsLogWhatItRefuses) {
  limits_.request_s = 0.3;
  limits_.connections = 2;
  std::ostringstream said;
  const auto before = spdlog::default_logger();
  spdlog::set_default_logger(
      std::make_shared<spdlog::logger>("refusals", std::make_shared<spdlog::sinks::ostream_sink_mt>(said)));
  {
    const RunningServer server(settings(), [](const Arriving&) -> std::optional<Refusal> {
      return Refusal{403, "its sender is in no charter."};
    });
    const std::string put = "PUT /v1/messages/card-7.mfm?offset=0&size=6&sha256=" + std::string(64, 'a') +
                            " HTTP/1.1\r\nContent-Length: ";
    EXPECT_THAT(ask(server, put + "6\r\n\r\nSECRET"), StartsWith("HTTP/1.1 403"));
    EXPECT_THAT(ask(server, "GET /v1/messages/none.mfm HTTP/1.1\r\n\r\n"), StartsWith("HTTP/1.1 404"));
    ask(server, put + "7\r\n\r\nSECRET");
    const RawPeer one(server.port()), two(server.port());
    EXPECT_EQ(ask(server, "GET /v1/messages HTTP/1.1\r\n\r\n"), "");
  }
  spdlog::set_default_logger(before);
  EXPECT_THAT(said.str(), HasSubstr("refused 127.0.0.1: 'card-7.mfm': its sender is in no charter."));
  EXPECT_THAT(said.str(), HasSubstr("'card-7.mfm': its request was not here within 0.3 s"));
  EXPECT_THAT(said.str(), HasSubstr("refused 127.0.0.1: 2 connections are open"));
  EXPECT_THAT(said.str(), testing::Not(HasSubstr("none.mfm"))) << "what is not there yet is asked for often";
  EXPECT_THAT(said.str(), testing::Not(HasSubstr("SECRET")));
}

TEST_F(PlainServer, APeerBeyondLoopbackHasEight) {
  bool may = true;
  std::thread([&] {  // a network namespace belongs to a thread
    if (::unshare(CLONE_NEWNET) != 0 ||
        std::system("ip link set lo up && ip addr add 10.77.9.1/32 dev lo") != 0) {
      may = false;
      return;
    }
    test::TestAuthority authority(scratch_ / "certificates");
    const auto pair = authority.certify("server", "IP:10.77.9.1");
    ServerSettings beyond = settings();
    beyond.listen = "10.77.9.1:0";
    beyond.cert = pair.cert;
    beyond.key = pair.key;
    const RunningServer server(beyond);
    std::vector<std::unique_ptr<RawPeer>> peers;
    for (int i = 0; i < 10; ++i) peers.push_back(std::make_unique<RawPeer>(server.port(), "10.77.9.1"));
    int closed = 0;
    for (const auto& peer : peers) {
      EXPECT_EQ(peer->receive(100), "");
      closed += peer->closed();
    }
    EXPECT_EQ(closed, 2);
    expect_error(ExitCode::kConfig, {"10.77.9.1:0", "--cert", "reverse proxy"}, [&] {
      beyond.cert = beyond.key = "";
      Server(beyond, RunningServer::admits_all());
    });
  })
      .join();
  if (!may) GTEST_SKIP() << "no network namespace can be had here";
}

TEST_F(PlainServer, PlainHttpStaysOnThisMachine) {
  for (const char* listen : {"0.0.0.0:0", "[::]:0", "192.0.2.1:80"}) {
    ServerSettings s = settings();
    s.listen = listen;
    expect_error(ExitCode::kConfig, {listen, "--cert", "127.0.0.1", "nginx"},
                 [&] { Server(s, RunningServer::admits_all()); });
  }
  for (const char* listen :
       {"", "8443", "host.example:80", "127.0.0.1:", "127.0.0.1:70000", "127.0.0.1:8x"}) {
    ServerSettings s = settings();
    s.listen = listen;
    expect_error(ExitCode::kConfig, {"no address to listen on"},
                 [&] { Server(s, RunningServer::admits_all()); });
  }
  ServerSettings s = settings();
  const RunningServer first(s);
  s.listen = "127.0.0.1:" + std::to_string(first.port());
  expect_error(ExitCode::kIo, {s.listen, "another address or port"},
               [&] { Server(s, RunningServer::admits_all()); });
  s.listen = "127.0.0.1:0";
  s.folder /= "none";
  expect_error(ExitCode::kIo, {"/none'"}, [&] { Server(s, RunningServer::admits_all()); });
}

class TlsServer : public PlainServer {
 protected:
  ServerSettings tls() const {
    ServerSettings out = settings();
    out.cert = pair_.cert;
    out.key = pair_.key;
    return out;
  }
  ClientSettings client() const {
    ClientSettings out;
    out.ca = authority_.ca();
    out.tries = 1;
    return out;
  }
  test::TestAuthority authority_{scratch_ / "certificates"};
  test::TestAuthority::Pair pair_ = authority_.certify("server", "IP:127.0.0.1");
};

TEST_F(TlsServer, SpeaksTls13Alone) {
  const RunningServer server(tls());
  const std::string connect =
      "timeout 10 openssl s_client -connect 127.0.0.1:" + std::to_string(server.port()) + " ";
  EXPECT_NE(std::system((connect + "-tls1_2 </dev/null >/dev/null 2>&1").c_str()), 0);
  EXPECT_EQ(std::system((connect + "-tls1_3 </dev/null >/dev/null 2>&1").c_str()), 0);
  // A peer that speaks plain HTTP to it hears nothing.
  EXPECT_THAT(ask(server, "GET /v1/messages HTTP/1.1\r\n\r\n"), testing::Not(HasSubstr("HTTP/1.1 200")));
}

TEST_F(TlsServer, AsksForCertificatesIfToldTo) {
  ServerSettings s = tls();
  s.client_ca = authority_.ca();
  const RunningServer server(s);
  ClientSettings c = client();
  expect_error(ExitCode::kPeer, {server.address()}, [&] { Client(server.address(), c).list(); });
  const auto mine = authority_.certify("site", "DNS:north");
  c.client_cert = mine.cert;
  c.client_key = mine.key;
  EXPECT_TRUE(Client(server.address(), c).list().empty());
  const test::TestAuthority others(scratch_ / "others", "another authority");
  const auto theirs = others.certify("site", "DNS:north");
  c.client_cert = theirs.cert;
  c.client_key = theirs.key;
  expect_error(ExitCode::kPeer, {server.address()}, [&] { Client(server.address(), c).list(); });
}

TEST_F(TlsServer, CertificatesThatDoNotFitAreSaid) {
  const auto other = authority_.certify("other", "IP:127.0.0.1");
  const auto refused = [&](std::initializer_list<std::string> parts, auto change) {
    ServerSettings s = tls();
    change(s);
    expect_error(ExitCode::kConfig, parts, [&] { Server(s, RunningServer::admits_all()); });
  };
  refused({"other.key", "certificate"}, [&](auto& s) { s.key = other.key; });
  refused({"nothing.pem", "PEM"}, [&](auto& s) { s.cert = "nothing.pem"; });
  refused({"go together"}, [&](auto& s) { s.key = ""; });
  refused({"nothing.pem", "clients"}, [&](auto& s) { s.client_ca = "nothing.pem"; });
  refused({"--client-ca needs"}, [&](auto& s) {
    s.cert = s.key = "";
    s.client_ca = authority_.ca();
  });
}

}  // namespace
}  // namespace muffle::http
