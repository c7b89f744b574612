#include "muffle/http/settings.hpp"

#include <cstdlib>

namespace muffle::http {

void declare(settings::Keys& keys, ClientSettings& settings) {
  keys.text("ca", settings.ca,
            "PEM file of the authorities that may vouch for an https:// exchange; empty: the system's. Where "
            "a middlebox of your network ends TLS, its authority belongs in here");
  keys.text("client_cert", settings.client_cert,
            "PEM file of the certificate that this party shows; empty: none");
  keys.text("client_key", settings.client_key, "PEM file of that certificate's key");
  keys.text("proxy", settings.proxy,
            "http://[NAME:PASSWORD@]HOST:PORT of the proxy; empty: as the environment's https_proxy and "
            "no_proxy say");
}

bool is_address(std::string_view address) {
  return address.starts_with("https://") || address.starts_with("http://");
}

ClientSettings settings_from_environment() {
  const auto from = [](const char* variable) {
    const char* value = std::getenv(variable);
    return std::string(value == nullptr ? "" : value);
  };
  ClientSettings out;
  out.ca = from("MUFFLE_EXCHANGE_CA");
  out.client_cert = from("MUFFLE_EXCHANGE_CLIENT_CERT");
  out.client_key = from("MUFFLE_EXCHANGE_CLIENT_KEY");
  out.proxy = from("MUFFLE_EXCHANGE_PROXY");
  return out;
}

}  // namespace muffle::http
