#include "muffle/crypto/signature.hpp"

#include <gtest/gtest.h>

#include <string>

#include "muffle/core/error.hpp"
#include "support/expect_error.hpp"

namespace muffle::crypto {
namespace {

using test::expect_error;

TEST(Signature, IsTheSameEveryTimeAndVerifies) {
  const SiteKey key = SiteKey::generate("clinic-1");
  const std::string text = sign_release(key, "bytes");
  EXPECT_EQ(text, sign_release(key, "bytes"));
  const ReleaseSignature s = parse_signature(text, "x.sig");
  EXPECT_EQ(s.signer, "clinic-1");
  EXPECT_EQ(s.key, key.public_key());
  EXPECT_NO_THROW(check_signature(s, "bytes", "x"));
  expect_error(ExitCode::kProtocol, {"'x'", "another file"}, [&] { check_signature(s, "bytez", "x"); });
}

TEST(Signature, CoversTheSignersName) {
  const SiteKey key = SiteKey::generate("clinic-1");
  ReleaseSignature s = parse_signature(sign_release(key, "bytes"), "x.sig");
  s.signer = "clinic-2";
  expect_error(ExitCode::kProtocol, {"forged or damaged", "clinic-2"},
               [&] { check_signature(s, "bytes", "x"); });
}

TEST(Signature, IsNotOneOfASecureSumOrOfTheBareHash) {
  const SiteKey key = SiteKey::generate("clinic-1");
  ReleaseSignature s = parse_signature(sign_release(key, "bytes"), "x.sig");
  for (const std::string& other :
       {s.artifact_sha256, "muffle secure sum signature 2\nparty 0\n" + s.artifact_sha256,
        "signer clinic-1\nsha256 " + s.artifact_sha256 + "\n"}) {
    s.signature = key.sign(other);
    expect_error(ExitCode::kProtocol, {"forged"}, [&] { check_signature(s, "bytes", "x"); });
  }
}

TEST(Signature, EveryByteOfItsFileCounts) {
  const SiteKey key = SiteKey::generate("clinic-1");
  const std::string text = sign_release(key, "bytes");
  for (std::size_t i = 0; i < text.size(); ++i) {
    for (const int bit : {0, 5, 7}) {
      std::string damaged = text;
      damaged[i] = static_cast<char>(damaged[i] ^ 1 << bit);
      EXPECT_THROW(check_signature(parse_signature(damaged, "x.sig"), "bytes", "x"), ProtocolError)
          << "byte " << i << ", bit " << bit;
    }
    EXPECT_THROW(parse_signature(text.substr(0, i), "x.sig"), ProtocolError) << i;
  }
  EXPECT_THROW(parse_signature(text + " ", "x.sig"), ProtocolError);
  std::string future = text;
  future.replace(future.find("\"version\": 1"), 12, "\"version\": 2");
  expect_error(ExitCode::kProtocol, {"x.sig", "version 1"}, [&] { parse_signature(future, "x.sig"); });
}

TEST(SignerKeyFile, IsOneLineOfNameAndKey) {
  const SiteKey key = SiteKey::generate("clinic-1");
  const std::string hex = to_hex(key.public_key());
  const SignerKey read = parse_signer_key("# ours\n\n  clinic-1\t" + hex + " # since 2026\r\n", "x.pub");
  EXPECT_EQ(read.name, "clinic-1");
  EXPECT_EQ(read.key, key.public_key());
  for (const std::string& bad :
       {std::string(), "# " + hex, hex, "clinic-1 " + hex + " x", "clinic-1 " + hex.substr(1), "-x " + hex,
        "a " + hex + "\nb " + hex, "clinic-1 g" + hex.substr(1)})
    expect_error(ExitCode::kConfig, {"x.pub", "SITE PUBLIC-KEY"}, [&] { parse_signer_key(bad, "x.pub"); });
}

TEST(SignerKeyFile, ASecretKeysFileIsRefusedAndNotShown) {
  const std::string secret(64, 'a');
  const std::string message = expect_error(ExitCode::kConfig, {"not a public key file"}, [&] {
    parse_signer_key("muffle-site-key 1\nsite c\nsecret " + secret + "\n", "x.key");
  });
  EXPECT_EQ(message.find(secret), std::string::npos);
}

}  // namespace
}  // namespace muffle::crypto
