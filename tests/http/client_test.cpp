// What a client makes of networks that are not as they should be.
#include "muffle/http/client.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "http/raw_peer.hpp"
#include "support/expect_error.hpp"
#include "support/https.hpp"
#include "support/temporary_folder.hpp"

namespace muffle::http {
namespace {

using test::expect_error;
using test::RunningServer;
namespace fs = std::filesystem;

class ClientTest : public testing::Test {
 protected:
  ClientTest() {
    settings_.tries = 3;
    settings_.first_wait_s = 0.01;
  }
  RunningServer serve(const test::TestAuthority::Pair& pair) const {
    ServerSettings s;
    s.folder = scratch_.path();
    s.listen = "127.0.0.1:0";
    s.cert = pair.cert;
    s.key = pair.key;
    return RunningServer(s);
  }
  void list(const std::string& address) const { (void)Client(address, settings_).list(); }
  static std::string at(const Stranger& stranger) {
    return "http://127.0.0.1:" + std::to_string(stranger.port());
  }

  test::TemporaryFolder scratch_;
  test::TestAuthority authority_{scratch_ / "certificates"};
  ClientSettings settings_;
};

std::string page(const std::string& status, const std::string& headers, const std::string& body) {
  return "HTTP/1.1 " + status + "\r\n" + headers + "Content-Length: " + std::to_string(body.size()) +
         "\r\n\r\n" + body;
}

TEST_F(ClientTest, Addresses) {
  for (const char* address : {"http://round.example.org", "http://10.0.0.1:80/x",
                              "http://127.0.0.1.example.org", "http://localhost.example.org"})
    expect_error(ExitCode::kConfig, {address, "this machine alone"}, [&] { list(address); });
  for (const char* address : {"https://", "https://name:word@host/", "https://host/?x", "https://host/#x"})
    expect_error(ExitCode::kConfig, {"no address of an exchange"}, [&] { list(address); });
  settings_.ca = "nowhere.pem";
  expect_error(ExitCode::kConfig, {"ca = \"nowhere.pem\""}, [&] { list("https://127.0.0.1:1"); });
}

// Other ranks of a site's job wait for root's sign of life, and a request to stop must be heard.
TEST_F(ClientTest, LivesWhileItWaitsAndEndsWhenItIsTold) {
  const Stranger slow([](const auto&) {
    std::this_thread::sleep_for(std::chrono::milliseconds(3000));
    return page("200 OK", "", "late");
  });
  int beats = 0;
  settings_.tries = 1;
  settings_.heartbeat = [&] {
    if (++beats == 2) throw Error(ExitCode::kStopped, "told to stop");
  };
  const auto begun = std::chrono::steady_clock::now();
  expect_error(ExitCode::kStopped, {"told to stop"}, [&] { list(at(slow)); });
  EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(3));
  EXPECT_EQ(beats, 2);
}

TEST_F(ClientTest, NobodyThere) {
  int port = 0;
  {
    port = Stranger([](const auto&) { return ""; }).port();
  }
  expect_error(ExitCode::kPeer, {"cannot be reached", "proxy", "Tried 3 times", "run the same command again"},
               [&] { list("http://127.0.0.1:" + std::to_string(port)); });
  settings_.tries = 1;
  expect_error(ExitCode::kPeer, {"name", "not known here"}, [&] { list("https://nobody.invalid"); });
}

TEST_F(ClientTest, AnUnknownAuthority) {
  const RunningServer server = serve(authority_.certify("server", "IP:127.0.0.1"));
  const test::TestAuthority others(scratch_ / "others", "another authority");
  settings_.ca = others.ca();
  expect_error(ExitCode::kConfig, {"vouches", server.address(), "[exchange] ca", "ask IT"},
               [&] { list(server.address()); });
  settings_.ca = "";
  expect_error(ExitCode::kConfig, {"vouches"}, [&] { list(server.address()); });
  settings_.ca = authority_.ca();
  EXPECT_NO_THROW(list(server.address()));
  settings_.ca = authority_.certify("x", "IP:127.0.0.1").key;
  expect_error(ExitCode::kConfig, {"no PEM file of certificates"}, [&] { list(server.address()); });
}

TEST_F(ClientTest, AnExpiredCertificate) {
  settings_.ca = authority_.ca();
  const RunningServer expired = serve(authority_.certify("expired", "IP:127.0.0.1", -3600, -60));
  expect_error(ExitCode::kPeer, {"has expired", "coordinator", "clock"}, [&] { list(expired.address()); });
  const RunningServer early = serve(authority_.certify("early", "IP:127.0.0.1", 3600, 7200));
  expect_error(ExitCode::kPeer, {"not valid yet", "clock"}, [&] { list(early.address()); });
}

TEST_F(ClientTest, AnotherHostsCertificate) {
  settings_.ca = authority_.ca();
  const RunningServer server = serve(authority_.certify("server", "DNS:round.example.org"));
  expect_error(ExitCode::kConfig, {"another host's"}, [&] { list(server.address()); });
}

TEST_F(ClientTest, AProxysPageInPlaceOfOurs) {
  for (const char* status : {"200 OK", "403 Forbidden", "404 Not Found", "500 No"}) {
    const Stranger portal([&](const auto&) {
      return page(status, "Content-Type: text/html\r\n", "<html>Please accept our terms \x1b[31m</html>");
    });
    expect_error(ExitCode::kConfig,
                 {"not muffle's exchange", std::string(status).substr(0, 3), "text/html", "Ask IT"},
                 [&] { list(at(portal)); });
    expect_error(ExitCode::kConfig, {"not muffle's exchange"},
                 [&] { (void)Client(at(portal), settings_).get("m", 100); });
    expect_error(ExitCode::kConfig, {"not muffle's exchange"},
                 [&] { Client(at(portal), settings_).put("m", "bytes"); });
  }
  const Stranger login(
      [](const auto&) { return page("302 Found", "Location: http://portal.example/login\r\n", ""); });
  expect_error(ExitCode::kConfig, {"http://portal.example/login", "without one"}, [&] { list(at(login)); });
  const Stranger long_page(
      [](const auto&) { return page("200 OK", "Content-Type: text/html\r\n", std::string(200'000, 'x')); });
  expect_error(ExitCode::kConfig, {"not muffle's exchange"},
               [&] { Client(at(long_page), settings_).put("m", "bytes"); });
  const Stranger gateway([](const auto&) { return page("502 Bad Gateway", "", "nginx"); });
  expect_error(ExitCode::kPeer, {"502", "does not answer", "Tried 3 times"}, [&] { list(at(gateway)); });
  const Stranger garbled([](const auto&) { return page("200 OK", "Muffle-Exchange: 1\r\n", "<html>"); });
  expect_error(ExitCode::kPeer, {"garbled"}, [&] { list(at(garbled)); });
}

TEST_F(ClientTest, WhatANetworkLosesIsSentAgain) {
  const RunningServer server = serve({});
  std::atomic<int> asked = 0;
  // Two answers are lost, the third is the server's.
  const Stranger lossy([&](const std::string& request) -> std::string {
    if (++asked % 3 != 0)
      return asked % 3 == 1 ? "" : "HTTP/1.1 200 OK\r\nMuffle-Exchange: 1\r\nContent-Length: 50\r\n\r\nhalf";
    const RawPeer peer(server.port());
    peer.send(request);
    return peer.receive(300);
  });
  Client(at(lossy), settings_).put("m", "bytes");
  EXPECT_EQ(asked, 3);
  EXPECT_EQ(Client(at(lossy), settings_).get("m", 100), "bytes");
  EXPECT_EQ(asked, 6);
}

TEST_F(ClientTest, ProxiesThatRefuse) {
  settings_.ca = authority_.ca();
  const auto through = [&](const std::string& status, const std::string& headers = "") {
    const Stranger proxy([&](const std::string& request) {
      EXPECT_THAT(request, testing::StartsWith("CONNECT round.example.org:8443 HTTP/1.1"));
      return page(status, headers, "no");
    });
    settings_.proxy = at(proxy);
    list("https://round.example.org:8443");
  };
  expect_error(ExitCode::kConfig, {"wants a name and a password", "[exchange] proxy", "kinit"}, [&] {
    through("407 Proxy Authentication Required", "Proxy-Authenticate: Basic realm=\"x\"\r\n");
  });
  expect_error(ExitCode::kConfig, {"wants a name and a password"},
               [&] { through("401 Unauthorized", "WWW-Authenticate: Basic realm=\"x\"\r\n"); });
  expect_error(ExitCode::kConfig, {"refuses to connect", "403", "allow CONNECT"},
               [&] { through("403 Forbidden"); });
  expect_error(ExitCode::kPeer, {"the proxy cannot connect", "503"},
               [&] { through("503 Service Unavailable"); });
  settings_.proxy = "http://nobody.invalid:3128";
  expect_error(ExitCode::kConfig, {"proxy's name is not known"},
               [&] { list("https://round.example.org:8443"); });
}

TEST_F(ClientTest, AProxysPasswordIsNotSaid) {
  for (const char* proxy : {"gopher://me:hush@proxy.example:1", "http://me:hu/sh@proxy.example:1",
                            "http://me:hush@proxy.example:99999999", "http://me:hush@nobody.invalid:3128"}) {
    settings_.proxy = proxy;
    try {
      list("https://round.example.org:8443");
      ADD_FAILURE() << proxy;
    } catch (const Error& e) {
      EXPECT_THAT(e.what(), testing::Not(testing::ContainsRegex("hu/?sh"))) << proxy;
    }
  }
}

/// A server that gives a byte at a time, and another that gives more than there is.
TEST_F(ClientTest, AServerThatDripsIsLeftAfterADeadlineForAll) {
  std::size_t given = 0;
  const Stranger drips([&](const auto&) {
    const std::string range = "bytes " + std::to_string(given) + "-" + std::to_string(given) + "/1000000";
    ++given;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    return page("206 Partial Content", "Muffle-Exchange: 1\r\nContent-Range: " + range + "\r\n", "x");
  });
  settings_.total_s = 0.5;
  expect_error(ExitCode::kPeer, {"more than 0.5 s in all"},
               [&] { (void)Client(at(drips), settings_).get("m", 1 << 20); });
  EXPECT_GT(given, 1u);
  settings_.total_s = 60;
  const Stranger generous([](const auto&) {
    return page("206 Partial Content", "Muffle-Exchange: 1\r\nContent-Range: bytes 0-2/3\r\n", "many");
  });
  expect_error(ExitCode::kPeer, {"more of 'm' than there is"},
               [&] { (void)Client(at(generous), settings_).get("m", 100); });
  const Stranger endless([](const auto&) {
    return page("200 OK", "Muffle-Exchange: 1\r\nX: " + std::string(70'000, 'x') + "\r\n", "m");
  });
  expect_error(ExitCode::kPeer, {"was lost"}, [&] { (void)Client(at(endless), settings_).get("m", 100); });
}

TEST_F(ClientTest, AListHoldsMessagesAlone) {
  const Stranger liar([](const auto&) {
    return page(
        "200 OK", "Muffle-Exchange: 1\r\n",
        R"({"format":"muffle-exchange","version":1,"messages":[{"name":"../up","size":1},{"name":"b","size":2},{"name":"a","size":3}]})");
  });
  const auto listed = Client(at(liar), settings_).list();
  ASSERT_EQ(listed.size(), 2u);
  EXPECT_EQ(listed[0].name, "a");
  EXPECT_EQ(listed[1].size, 2u);
  const Stranger newer([](const auto&) {
    return page("200 OK", "Muffle-Exchange: 1\r\n",
                R"({"format":"muffle-exchange","version":2,"messages":[]})");
  });
  expect_error(ExitCode::kConfig, {"another version"}, [&] { list(at(newer)); });
}

}  // namespace
}  // namespace muffle::http
