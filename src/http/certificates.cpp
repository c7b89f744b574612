#include "muffle/http/certificates.hpp"

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <memory>
#include <string_view>

#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/crypto/secret_file.hpp"

namespace muffle::http {
namespace {

namespace fs = std::filesystem;

constexpr long kLoopbackSeconds = 10L * 24 * 3600;
/// Clocks of one machine agree; a file system's may be a little behind.
constexpr long kEarlier = -3600;

template <auto kFree>
struct FreedBy {
  template <class Object>
  void operator()(Object* object) const {
    kFree(object);
  }
};
using PrivateKey = std::unique_ptr<EVP_PKEY, FreedBy<EVP_PKEY_free>>;
using Text = std::unique_ptr<BIO, FreedBy<BIO_free_all>>;
using SigningRequest = std::unique_ptr<X509_REQ, FreedBy<X509_REQ_free>>;
using Certificate = std::unique_ptr<X509, FreedBy<X509_free>>;
using Extension = std::unique_ptr<X509_EXTENSION, FreedBy<X509_EXTENSION_free>>;

/// Of what fails when memory is short or OpenSSL is not what it was built against.
void must(bool good) {
  if (!good) throw Error(ExitCode::kInternal, "OpenSSL could not make a key or a certificate.");
}

std::string_view text_of(const Text& memory) {
  char* begin = nullptr;
  const long size = BIO_get_mem_data(memory.get(), &begin);
  return {begin, static_cast<std::size_t>(size)};
}

/// A new key, which is in the file from then on.
PrivateKey make_key(const fs::path& file) {
  PrivateKey key(EVP_EC_gen("P-256"));
  must(key != nullptr);
  const Text pem(BIO_new(BIO_s_secmem()));  // wiped when it is freed
  must(pem != nullptr &&
       PEM_write_bio_PrivateKey(pem.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr) == 1);
  crypto::write_secret_file(file, text_of(pem), "the key of TLS");
  return key;
}

void set_name(X509_NAME* subject, const std::string& name) {
  must(X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8,
                                  reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0) == 1);
}

/// @param context  null: of a request, which has no issuer yet
Extension extension(X509V3_CTX* context, int what, const char* value) {
  Extension out(X509V3_EXT_conf_nid(nullptr, context, what, value));
  must(out != nullptr);
  return out;
}

template <class Write>
void write_pem(const fs::path& file, const Write& write) {
  const Text pem(BIO_new(BIO_s_mem()));
  must(pem != nullptr && write(pem.get()) == 1);
  write_file_atomically(file, text_of(pem));
}

}  // namespace

bool request_client_certificate(const fs::path& key, const fs::path& request, const std::string& name) {
  const PrivateKey made = make_key(key);
  const SigningRequest asks(X509_REQ_new());
  X509_REQ* r = asks.get();
  must(r != nullptr && X509_REQ_set_version(r, 0) == 1 && X509_REQ_set_pubkey(r, made.get()) == 1);
  set_name(X509_REQ_get_subject_name(r), name);
  const Extension use = extension(nullptr, NID_ext_key_usage, "clientAuth");
  STACK_OF(X509_EXTENSION)* all = sk_X509_EXTENSION_new_null();
  const bool added =
      all != nullptr && sk_X509_EXTENSION_push(all, use.get()) == 1 && X509_REQ_add_extensions(r, all) == 1;
  sk_X509_EXTENSION_free(all);
  must(added && X509_REQ_sign(r, made.get(), EVP_sha256()) > 0);
  write_pem(request, [&](BIO* out) { return PEM_write_bio_X509_REQ(out, r); });
  return true;
}

void make_loopback_certificate(const fs::path& key, const fs::path& certificate) {
  const PrivateKey made = make_key(key);
  const Certificate signs(X509_new());
  X509* x = signs.get();
  must(x != nullptr && X509_set_version(x, 2) == 1 && ASN1_INTEGER_set(X509_get_serialNumber(x), 1) == 1 &&
       X509_gmtime_adj(X509_getm_notBefore(x), kEarlier) != nullptr &&
       X509_gmtime_adj(X509_getm_notAfter(x), kLoopbackSeconds) != nullptr &&
       X509_set_pubkey(x, made.get()) == 1);
  set_name(X509_get_subject_name(x), "muffle on this machine");
  must(X509_set_issuer_name(x, X509_get_subject_name(x)) == 1);
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, x, x, nullptr, nullptr, 0);
  for (const auto& [what, value] : {std::pair(NID_subject_alt_name, "IP:127.0.0.1"),
                                    std::pair(NID_basic_constraints, "critical,CA:TRUE")}) {
    must(X509_add_ext(x, extension(&context, what, value).get(), -1) == 1);
  }
  must(X509_sign(x, made.get(), EVP_sha256()) > 0);
  write_pem(certificate, [&](BIO* out) { return PEM_write_bio_X509(out, x); });
}

}  // namespace muffle::http
