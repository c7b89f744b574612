#include "muffle/crypto/keygen.hpp"

#include <fmt/format.h>

#include <ostream>

#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/crypto/site_keys.hpp"

namespace muffle::crypto {

void make_site_key(const KeygenRequest& request, std::ostream& out) {
  const SiteKey key = SiteKey::generate(request.name);
  ensure_writable_folder(request.out);
  const auto secret = request.out / (request.name + ".key"), open = request.out / (request.name + ".pub");
  // A public key without its secret would go into rosters and lock the site out.
  if (watched::exists(open)) {
    throw IoError(
        fmt::format("'{}' is there already, and a key is never overwritten: choose another folder or "
                    "name.",
                    open.string()));
  }
  key.save(secret);
  write_file_atomically(open, fmt::format("{} {}\n", key.name(), to_hex(key.public_key())));
  out << fmt::format(
      "secret key  {}  (keep it on this site; readable by its owner only)\n"
      "public key  {}  {}\n"
      "A line of the site roster is the rank, then the public key file's line: 0 {} {}\n",
      secret.string(), open.string(), to_hex(key.public_key()), key.name(), to_hex(key.public_key()));
}

}  // namespace muffle::crypto
