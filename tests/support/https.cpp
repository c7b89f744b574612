#include "support/https.hpp"

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <cstdio>
#include <stdexcept>

namespace muffle::test {

namespace fs = std::filesystem;

namespace openssl {
template <class Type, void (*kFree)(Type*)>
struct Freed {
  void operator()(Type* object) const { kFree(object); }
};
using Key = std::unique_ptr<EVP_PKEY, Freed<EVP_PKEY, EVP_PKEY_free>>;
using Certificate = std::unique_ptr<X509, Freed<X509, X509_free>>;
}  // namespace openssl

namespace {

using openssl::Certificate;
using openssl::Key;

void check(bool good) {
  if (!good) throw std::runtime_error("OpenSSL makes no certificate");
}

Certificate make(EVP_PKEY* key, const std::string& name, long serial, long from_s, long to_s) {
  Certificate out(X509_new());
  X509* x = out.get();
  check(X509_set_version(x, 2) == 1);
  ASN1_INTEGER_set(X509_get_serialNumber(x), serial);
  X509_gmtime_adj(X509_getm_notBefore(x), from_s);
  X509_gmtime_adj(X509_getm_notAfter(x), to_s);
  check(X509_set_pubkey(x, key) == 1);
  check(X509_NAME_add_entry_by_txt(X509_get_subject_name(x), "CN", MBSTRING_UTF8,
                                   reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0) == 1);
  return out;
}

void extend(X509* x, X509* issuer, int what, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, x, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, what, value.c_str());
  check(extension != nullptr && X509_add_ext(x, extension, -1) == 1);
  X509_EXTENSION_free(extension);
}

template <class Write>
void write(const fs::path& path, const Write& pem) {
  std::FILE* file = std::fopen(path.c_str(), "wb");
  check(file != nullptr);
  const bool written = pem(file) == 1;
  check(std::fclose(file) == 0 && written);
}

}  // namespace

struct TestAuthority::State {
  Key key{EVP_EC_gen("P-256")};
  Certificate certificate;
  long serial = 1;
};

TestAuthority::TestAuthority(const fs::path& folder, const std::string& name)
    : folder_(folder), state_(std::make_unique<State>()) {
  fs::create_directories(folder);
  State& s = *state_;
  s.certificate = make(s.key.get(), name, s.serial++, -7200, 864000);
  X509* x = s.certificate.get();
  check(X509_set_issuer_name(x, X509_get_subject_name(x)) == 1);
  extend(x, x, NID_basic_constraints, "critical,CA:TRUE");
  extend(x, x, NID_key_usage, "critical,keyCertSign,cRLSign");
  extend(x, x, NID_subject_key_identifier, "hash");
  check(X509_sign(x, s.key.get(), EVP_sha256()) > 0);
  write(ca(), [&](std::FILE* file) { return PEM_write_X509(file, x); });
}

TestAuthority::~TestAuthority() = default;

TestAuthority::Pair TestAuthority::certify(const std::string& file, const std::string& hosts, long from_s,
                                           long to_s) const {
  State& s = *state_;
  const Key key(EVP_EC_gen("P-256"));
  const Certificate certificate = make(key.get(), file, s.serial++, from_s, to_s);
  X509* x = certificate.get();
  check(X509_set_issuer_name(x, X509_get_subject_name(s.certificate.get())) == 1);
  extend(x, s.certificate.get(), NID_subject_alt_name, hosts);
  extend(x, s.certificate.get(), NID_authority_key_identifier, "keyid");
  check(X509_sign(x, s.key.get(), EVP_sha256()) > 0);
  const Pair out{folder_ / (file + ".pem"), folder_ / (file + ".key")};
  write(out.cert, [&](std::FILE* f) { return PEM_write_X509(f, x); });
  write(out.key, [&](std::FILE* f) {
    return PEM_write_PrivateKey(f, key.get(), nullptr, nullptr, 0, nullptr, nullptr);
  });
  return out;
}

namespace {

http::ServerSettings on_loopback(const fs::path& scratch, const TestAuthority& authority) {
  fs::create_directories(scratch / "served");
  const TestAuthority::Pair pair = authority.certify("server", "IP:127.0.0.1,DNS:localhost");
  http::ServerSettings settings;
  settings.folder = scratch / "served";
  settings.listen = "127.0.0.1:0";
  settings.cert = pair.cert;
  settings.key = pair.key;
  return settings;
}

}  // namespace

HttpsPlace::HttpsPlace(const fs::path& scratch)
    : authority(scratch / "certificates"), server(on_loopback(scratch, authority)) {
  settings.ca = authority.ca();
  settings.first_wait_s = 0.01;
}

}  // namespace muffle::test
