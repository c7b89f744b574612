#pragma once

#include <filesystem>
#include <string>

namespace muffle::http {

// Keys and certificates of TLS, made by OpenSSL. They let a connection through firewalls and servers; what a
// round promises rests on none of them, but on the parties' own signatures and masks.

/// Asks for a certificate by which a server knows who connects (`muffle coordinator serve --client-ca`): a
/// request in PEM (PKCS #10, P-256), to be signed by whoever the server's people trust.
/// @param key      gets the key, its owner's alone (0600); never overwritten
/// @param request  gets the request, which is public  @param name  the subject's, 1 to 64 characters
/// @returns false: this muffle was built without HTTPS, and nothing was written. @throws IoError.
bool request_client_certificate(const std::filesystem::path& key, const std::filesystem::path& request,
                                const std::string& name);

/// A key, and a certificate for 127.0.0.1 that it signs itself: of a server on this machine alone, for ten
/// days. Whoever connects names the certificate as its authority.
/// @throws ConfigError  this muffle was built without HTTPS. IoError.
void make_loopback_certificate(const std::filesystem::path& key, const std::filesystem::path& certificate);

}  // namespace muffle::http
