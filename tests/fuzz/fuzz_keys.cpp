// Key files, rosters, public key files and signatures. Input: one of K R P S, and the text.
#include "fuzz.hpp"
#include "muffle/core/error.hpp"
#include "muffle/crypto/signature.hpp"
#include "muffle/crypto/site_keys.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace muffle;
  fuzz::Input input(data, size);
  const std::uint8_t kind = input.byte();
  const std::string_view text = input.rest();
  try {
    if (kind == 'K') {
      const crypto::SiteKey key = crypto::SiteKey::parse(text, "x.key");
      fuzz::demand(crypto::verify(key.public_key(), "m", key.sign("m")), "keys sign");
    } else if (kind == 'R') {
      const crypto::SiteRoster roster = crypto::SiteRoster::parse(text, "roster");
      std::string canonical;
      for (int r = 0; r < roster.parties(); ++r)
        canonical +=
            std::to_string(r) + " " + roster.at(r).name + " " + crypto::to_hex(roster.at(r).key) + "\n";
      fuzz::demand(crypto::SiteRoster::parse(canonical, "again").hash() == roster.hash(),
                   "one roster, one hash");
    } else if (kind == 'P') {
      const crypto::SignerKey key = crypto::parse_signer_key(text, "x.pub");
      fuzz::demand(crypto::parse_signer_key(key.name + " " + crypto::to_hex(key.key), "again").key == key.key,
                   "one file, one key");
    } else {
      const crypto::ReleaseSignature signature = crypto::parse_signature(text, "x.sig");
      crypto::check_signature(signature, "release", "x");
    }
  } catch (const ConfigError&) {
  } catch (const ProtocolError&) {
    fuzz::demand(kind != 'K' && kind != 'R' && kind != 'P', "settings are configuration errors");
  }
  return 0;
}
