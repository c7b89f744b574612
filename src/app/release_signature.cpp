#include "release_signature.hpp"

#include <spdlog/spdlog.h>

#include "muffle/core/files.hpp"
#include "muffle/embed/signature.hpp"

namespace muffle::app {

std::optional<comm::SiteKey> signing_key(const Config& config) {
  if (config.signing_key.empty()) return std::nullopt;
  return comm::SiteKey::load(config.signing_key);
}

void sign_release_file(const Context& context) {
  const auto key = signing_key(context.config);
  if (!key) return;
  const auto release = context.out / kReleaseFile, file = embed::signature_file(release);
  const std::string text = embed::sign_release(*key, read_file(release));
  if (std::filesystem::exists(file) && read_file(file) == text) return;
  write_file_atomically(file, text);
  spdlog::info("release: signed by '{}' in {}", key->name(), file.string());
}

}  // namespace muffle::app
