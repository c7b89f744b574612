// The one file that includes libcurl.
#include "curl_request.hpp"

#include <curl/curl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <mutex>
#include <utility>

#include "muffle/core/error.hpp"
#include "muffle/core/text.hpp"
#include "shelf.hpp"

namespace muffle::http {
namespace {

constexpr std::size_t kMostHeaderBytes = std::size_t{64} << 10;
constexpr long kSlowBytesPerSecond = 200, kSlowSeconds = 30;

/// HOST of https://HOST[:PORT]/...
std::string host_of(const std::string& root) {
  std::unique_ptr<CURLU, decltype(&curl_url_cleanup)> url(curl_url(), curl_url_cleanup);
  char* host = nullptr;
  if (!url || curl_url_set(url.get(), CURLUPART_URL, root.c_str(), 0) != CURLUE_OK ||
      curl_url_get(url.get(), CURLUPART_HOST, &host, 0) != CURLUE_OK)
    return {};
  std::string out(host);
  curl_free(host);
  return out;
}

bool is_loopback(const std::string& host) {
  return host == "localhost" || host == "[::1]" ||
         (host.starts_with("127.") && host.find_first_not_of("0123456789.") == std::string::npos);
}

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return out;
}

/// libcurl's words may quote a proxy's whole address, http://NAME:PASSWORD@HOST.
std::string without_password(std::string text) {
  const std::size_t scheme = text.find("://"), at = text.rfind('@');
  if (at == std::string::npos) return text;
  const std::size_t begin = scheme < at ? scheme + 3 : 0;
  return text.replace(begin, at - begin, "...");
}

}  // namespace

struct CurlRequest::State {
  CURL* curl = nullptr;
  curl_slist* headers = nullptr;
  char error[CURL_ERROR_SIZE] = "";

  // Of the answer that is coming in.
  std::string body, content_range, location, type;
  bool ours = false, too_long = false;
  std::uint64_t most = 0;
  std::size_t header_bytes = 0;

  Heartbeat heartbeat;
  std::exception_ptr ended;  // by what the heartbeat threw

  /// libcurl calls it once a second or more often.
  static int live(void* self, curl_off_t, curl_off_t, curl_off_t, curl_off_t) noexcept {
    auto& s = *static_cast<State*>(self);
    try {
      beat(s.heartbeat);
      return 0;
    } catch (...) {
      s.ended = std::current_exception();
      return 1;
    }
  }

  static std::size_t take_body(char* data, std::size_t one, std::size_t bytes, void* self) {
    auto& s = *static_cast<State*>(self);
    s.too_long = s.too_long || s.body.size() + one * bytes > s.most;
    if (s.too_long) return 0;
    s.body.append(data, one * bytes);
    return one * bytes;
  }

  static std::size_t take_header(char* data, std::size_t one, std::size_t bytes, void* self) {
    auto& s = *static_cast<State*>(self);
    s.header_bytes += one * bytes;
    if (s.header_bytes > kMostHeaderBytes) return 0;
    std::string_view line(data, one * bytes);
    while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) line.remove_suffix(1);
    if (line.starts_with("HTTP/")) s.begin(s.most);
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) return one * bytes;
    const std::string key = lower(line.substr(0, colon));
    const std::size_t start = line.find_first_not_of(' ', colon + 1);
    const std::string_view value = start == std::string_view::npos ? std::string_view() : line.substr(start);
    if (key == lower(kOursHeader)) s.ours = value == kOursValue;
    if (key == "content-range") s.content_range = value;
    if (key == "location") s.location = value;
    if (key == "content-type") s.type = value;
    return one * bytes;
  }

  void begin(std::uint64_t most_bytes) {
    body.clear();
    content_range.clear();
    location.clear();
    type.clear();
    ours = too_long = false;
    most = most_bytes;
  }

  template <class Value>
  void set(CURLoption option, Value value) {
    if (const CURLcode code = curl_easy_setopt(curl, option, value); code != CURLE_OK)
      throw ConfigError(fmt::format("this machine's libcurl cannot do what an https:// exchange needs: {}.",
                                    curl_easy_strerror(code)));
  }
  long info(CURLINFO what) const {
    long value = 0;
    curl_easy_getinfo(curl, what, &value);
    return value;
  }
};

CurlRequest::CurlRequest(std::string root, const ClientSettings& settings)
    : root_(std::move(root)), settings_(settings), state_(std::make_unique<State>()) {
  static std::once_flag once;
  std::call_once(once, [] { curl_global_init(CURL_GLOBAL_DEFAULT); });
  while (root_.ends_with('/')) root_.pop_back();
  const bool plain = root_.starts_with("http://");
  const std::string host = host_of(root_);
  if (host.empty() || root_.find_first_of("?#@ ") != std::string::npos)
    throw ConfigError(
        fmt::format("'{}' is no address of an exchange: https://HOST[:PORT][/PATH] is.", printable(root_)));
  if (plain && !is_loopback(host))
    throw ConfigError(
        fmt::format("'{}': plain http:// goes to this machine alone. Use https://.", printable(root_)));
  for (const auto& [file, key] :
       {std::pair(settings.ca, "ca"), std::pair(settings.client_cert, "client_cert"),
        std::pair(settings.client_key, "client_key")}) {
    if (!file.empty() && ::access(file.c_str(), R_OK) != 0)
      throw ConfigError(
          fmt::format("[exchange] {} = \"{}\": there is no such file, or you may not read it.", key, file));
  }
  if (settings.client_cert.empty() != settings.client_key.empty())
    throw ConfigError("[exchange] client_cert and client_key go together.");
  State& s = *state_;
  s.curl = curl_easy_init();
  if (s.curl == nullptr) throw ConfigError("this machine's libcurl does not start.");
  s.set(CURLOPT_ERRORBUFFER, s.error);
  s.set(CURLOPT_NOSIGNAL, 1L);
  s.set(CURLOPT_PROTOCOLS_STR, plain ? "http" : "https");
  s.set(CURLOPT_FOLLOWLOCATION, 0L);
  s.set(CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  s.set(CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  s.set(CURLOPT_USERAGENT, "muffle");
  s.set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(settings.connect_s * 1000));
  s.set(CURLOPT_TIMEOUT_MS, static_cast<long>(settings.request_s * 1000));
  s.set(CURLOPT_LOW_SPEED_LIMIT, kSlowBytesPerSecond);
  s.set(CURLOPT_LOW_SPEED_TIME, kSlowSeconds);
  s.set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  s.set(CURLOPT_WRITEFUNCTION, &State::take_body);
  s.set(CURLOPT_WRITEDATA, &s);
  s.set(CURLOPT_HEADERFUNCTION, &State::take_header);
  s.set(CURLOPT_HEADERDATA, &s);
  if (settings.heartbeat) {
    s.heartbeat = settings.heartbeat;
    s.set(CURLOPT_NOPROGRESS, 0L);
    s.set(CURLOPT_XFERINFOFUNCTION, &State::live);
    s.set(CURLOPT_XFERINFODATA, &s);
  }
  if (!settings.ca.empty()) {
    s.set(CURLOPT_CAINFO, settings.ca.c_str());
    s.set(CURLOPT_CAPATH, static_cast<const char*>(nullptr));  // these alone
    s.set(CURLOPT_PROXY_CAINFO, settings.ca.c_str());
  }
  if (!settings.client_cert.empty()) {
    s.set(CURLOPT_SSLCERT, settings.client_cert.c_str());
    s.set(CURLOPT_SSLKEY, settings.client_key.c_str());
  }
  // Where there is a password, Negotiate would be tried first, and without a ticket end it all.
  const bool password = settings.proxy.find('@') != std::string::npos;
  s.set(CURLOPT_PROXYAUTH, static_cast<long>(password ? CURLAUTH_ANY & ~CURLAUTH_NEGOTIATE : CURLAUTH_ANY));
  if (!settings.proxy.empty()) {
    s.set(CURLOPT_PROXY, settings.proxy.c_str());
    s.set(CURLOPT_NOPROXY, "");
    if (!password) s.set(CURLOPT_PROXYUSERPWD, ":");  // the user's own ticket
  } else if (is_loopback(host)) {
    s.set(CURLOPT_NOPROXY, "*");
  }
  for (const char* line :
       {"Expect:", "Accept:", "Cache-Control: no-cache", "Content-Type: application/octet-stream"})
    s.headers = curl_slist_append(s.headers, line);
  s.set(CURLOPT_HTTPHEADER, s.headers);
}

CurlRequest::~CurlRequest() {
  curl_slist_free_all(state_->headers);
  if (state_->curl != nullptr) curl_easy_cleanup(state_->curl);
}

std::optional<Answer> CurlRequest::attempt(const std::string& path,
                                           const std::optional<std::string_view>& body,
                                           const std::string& range, std::uint64_t most, double limit_s,
                                           TryAgain& again) {
  State& s = *state_;
  s.begin(most);
  s.error[0] = '\0';
  s.header_bytes = 0;
  s.set(CURLOPT_TIMEOUT_MS, std::max(1L, static_cast<long>(1000 * std::min(limit_s, settings_.request_s))));
  s.set(CURLOPT_URL, (root_ + path).c_str());
  if (body) {
    s.set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body->size()));
    s.set(CURLOPT_POSTFIELDS, body->empty() ? "" : body->data());
    s.set(CURLOPT_CUSTOMREQUEST, "PUT");
  } else {
    s.set(CURLOPT_HTTPGET, 1L);
    s.set(CURLOPT_CUSTOMREQUEST, static_cast<const char*>(nullptr));
  }
  s.set(CURLOPT_RANGE, range.empty() ? static_cast<const char*>(nullptr) : range.c_str());
  const CURLcode code = curl_easy_perform(s.curl);
  if (s.ended) std::rethrow_exception(std::exchange(s.ended, nullptr));
  Answer answer{static_cast<int>(s.info(CURLINFO_RESPONSE_CODE)), s.body, s.content_range};
  if (code == CURLE_WRITE_ERROR && s.too_long && !s.ours) {  // a long page is somebody's page
    require_ours(answer, again);
    return std::nullopt;
  }
  if (code != CURLE_OK) {
    again = lost(code);
    return std::nullopt;
  }
  again = {};
  require_ours(answer, again);
  if (!again.why.empty()) return std::nullopt;
  return answer;
}

void CurlRequest::require_ours(const Answer& answer, TryAgain& again) const {
  const State& s = *state_;
  if (s.ours) {
    if (answer.status == 503) again.why = fmt::format("{} has too much to do.", root_);
    return;
  }
  if (answer.status == 502 || answer.status == 503 || answer.status == 504 || answer.status == 429) {
    again.why = fmt::format(
        "a proxy or gateway in front of {} says {}: the server behind it does not answer. Ask who runs it.",
        root_, answer.status);
    return;
  }
  if (answer.status >= 300 && answer.status < 400)
    throw ConfigError(
        fmt::format("{} sends muffle on to '{}' (HTTP {}), and muffle goes nowhere but where it is told. "
                    "Either a proxy asks for a login in a browser: ask IT to let this machine reach the "
                    "address without one; or the exchange has moved: ask the coordinator for its address.",
                    root_, printable(s.location.substr(0, 200)), answer.status));
  throw ConfigError(fmt::format(
      "what answers at {} is not muffle's exchange (HTTP {}, {}): it may be a page of a proxy or a firewall "
      "of this network, or another server. Ask IT to let HTTPS to that name and port pass unchanged, and "
      "check the address with the coordinator. Nothing of what came was used.",
      root_, answer.status, s.type.empty() ? "no type" : "'" + printable(s.type.substr(0, 80)) + "'"));
}

void CurlRequest::refuse_certificate(long verdict) const {
  constexpr long kNone = 1, kNotYet = 9, kExpired = 10, kOthersName = 62;  // kNone: libcurl's own check
  const std::string detail = printable(state_->error);
  if (verdict == kExpired)
    throw CommError(
        fmt::format("the certificate of {} has expired. Tell the coordinator to renew it; if your network's "
                    "proxy ends TLS, it is the proxy's: tell IT. (Is this machine's clock right?)",
                    root_));
  if (verdict == kNotYet)
    throw CommError(fmt::format("the certificate of {} is not valid yet. Set this machine's clock.", root_));
  if (verdict <= kNone || verdict == kOthersName)
    throw ConfigError(fmt::format(
        "the certificate that {} shows is another host's ({}). Check the address with the coordinator; if it "
        "is right, something in between answers in the server's place: ask IT.",
        root_, detail));
  throw ConfigError(fmt::format(
      "nobody whom this machine trusts vouches for the certificate of {} ({}). If the coordinator has an "
      "authority of its own, set [exchange] ca to its PEM file. If your network's proxy ends TLS, ask IT for "
      "its authority's PEM file, and set ca to a file with that.",
      root_, detail));
}

TryAgain CurlRequest::lost(int code) const {
  const State& s = *state_;
  const std::string detail = without_password(
      printable(s.error[0] != '\0' ? s.error : curl_easy_strerror(static_cast<CURLcode>(code))));
  const long connect = s.info(CURLINFO_HTTP_CONNECTCODE);
  if (connect == 407 || connect == 401)  // tinyproxy says 401
    throw ConfigError(
        fmt::format("the proxy wants a name and a password for {}, or refuses those that it got. Set "
                    "[exchange] proxy = \"http://NAME:PASSWORD@HOST:PORT\", or get a Kerberos ticket "
                    "(kinit), or ask IT to let this machine pass.",
                    root_));
  if (connect == 403 || connect == 405 || connect == 451)
    throw ConfigError(fmt::format(
        "the proxy refuses to connect to {} (HTTP {}). Ask IT to allow CONNECT to that name and port.", root_,
        connect));
  if (connect >= 400)
    return {fmt::format("the proxy cannot connect to {} (HTTP {}).", root_, connect), false};
  switch (code) {
    case CURLE_PEER_FAILED_VERIFICATION:
      refuse_certificate(s.info(CURLINFO_SSL_VERIFYRESULT));
    case CURLE_SSL_CACERT_BADFILE:
      throw ConfigError(
          fmt::format("[exchange] ca = \"{}\" is no PEM file of certificates: {}.", settings_.ca, detail));
    case CURLE_SSL_CERTPROBLEM:
      throw ConfigError(fmt::format(
          "the client certificate cannot be used: {}. Check [exchange] client_cert and client_key.", detail));
    case CURLE_COULDNT_RESOLVE_PROXY:
      throw ConfigError(fmt::format(
          "the proxy's name is not known here: {}. Check [exchange] proxy, or https_proxy.", detail));
    case CURLE_OPERATION_TIMEDOUT:
      return {fmt::format("{} did not answer in time ({}).", root_, detail), true};
    case CURLE_COULDNT_RESOLVE_HOST:
      return {fmt::format("the name in {} is not known here ({}). Behind a proxy, set [exchange] proxy.",
                          root_, detail),
              false};
    case CURLE_COULDNT_CONNECT:
      return {fmt::format("{} cannot be reached ({}). If your network lets out through a proxy alone, set "
                          "[exchange] proxy; else ask IT to open outbound TCP to that name and port.",
                          root_, detail),
              false};
    case CURLE_SSL_CONNECT_ERROR:
      return {
          fmt::format(
              "no TLS connection to {} ({}): something in between cuts it, or what answers speaks no TLS.",
              root_, detail),
          false};
    default:
      return {fmt::format("the connection to {} was lost ({}).", root_, detail), true};
  }
}

}  // namespace muffle::http
