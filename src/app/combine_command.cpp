// muffle release combine: a late site's release joins an earlier one.
#include <fmt/format.h>

#include <ostream>

#include "muffle/app/commands.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/crypto/signature.hpp"
#include "muffle/release/combine.hpp"
#include "muffle/release/verification.hpp"

namespace muffle::app {

void combine(const CombineCommand& command, std::ostream& printed) {
  constexpr std::size_t kMostSignature = std::size_t{1} << 16;
  const std::filesystem::path folder = command.out, file = folder / kReleaseFile;
  if (watched::exists(file))
    throw ConfigError(fmt::format("'{}' is there already: choose another folder.", file.string()));
  std::vector<std::string> bytes;
  bytes.reserve(command.releases.size());  // not moved while they are looked at
  std::vector<release::CombinedFrom> releases;
  for (const std::string& name : command.releases) {
    bytes.push_back(read_file(name));
    releases.push_back({name, bytes.back(), {}});
    if (const auto signature = crypto::signature_file(name); watched::exists(signature))
      releases.back().signature = read_file(signature, kMostSignature);
  }
  const release::Artifact sum = release::combine(releases, command.people == "shared", MUFFLE_VERSION);
  const std::string made = release::artifact_bytes(sum);
  ensure_writable_folder(folder);
  if (!command.signing_key.empty()) {
    const crypto::SiteKey key = crypto::SiteKey::load(command.signing_key);
    write_file_atomically(crypto::signature_file(file), crypto::sign_release(key, made));
  }
  write_file_atomically(file, made);
  write_file_atomically(folder / kPrivacyJson, release::privacy_statement_json(sum));
  const std::string statement = release::privacy_statement_text(sum);
  write_file_atomically(folder / kPrivacyText, statement);
  printed << fmt::format("combined {} releases: {}\n\n", sum.parts.size(), file.string()) << statement;
}

}  // namespace muffle::app
