#include <fmt/format.h>

#include <filesystem>

#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/release/verification.hpp"

namespace muffle::release {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxSmallFile = std::size_t{1} << 16, kMaxLedger = std::size_t{1} << 28;

/// Where a release's ledger lies if nobody said otherwise: beside the run folder, or in it.
std::optional<Evidence::LedgerText> ledger_beside(const fs::path& release, const std::string& bytes) {
  std::string data_id;
  try {
    data_id = parse_artifact(bytes, release.string()).data_id;
  } catch (const Error&) {
    return std::nullopt;  // verify_release says why it cannot be read
  }
  if (!privacy::is_data_id(data_id)) return std::nullopt;
  const fs::path folder = watched::canonical(release).parent_path();
  for (const fs::path& place : {folder, folder.parent_path()}) {
    const fs::path file = place / ("ledger-" + data_id + ".jsonl");
    if (watched::exists(file)) return Evidence::LedgerText{file.string(), read_file(file, kMaxLedger), false};
  }
  return std::nullopt;
}

std::string failures(const Verification& verification) {
  std::string out;
  for (const Check& check : verification.checks) {
    if (check.outcome == Check::Outcome::kFail)
      out += fmt::format("{}{}: {}", out.empty() ? "" : "; ", check.name, check.detail);
  }
  return out;
}

}  // namespace

Verification verify_file(const ReleaseFiles& files) {
  const std::string bytes = read_file(files.release);
  Evidence evidence;
  evidence.name = files.release;
  evidence.release = bytes;
  if (!files.key.empty())
    evidence.trusted = crypto::parse_signer_key(read_file(files.key, kMaxSmallFile), files.key);
  if (const fs::path file = crypto::signature_file(files.release); watched::exists(file))
    evidence.signature = read_file(file, kMaxSmallFile);
  if (!files.ledger.empty()) {
    evidence.ledger = {files.ledger, read_file(files.ledger, kMaxLedger), true};
  } else {
    evidence.ledger = ledger_beside(files.release, bytes);
  }
  return verify_release(evidence);
}

void require_passed(const Verification& v) {
  if (v.code() == ExitCode::kProtocol)
    throw ProtocolError(fmt::format("'{}' is refused: {}", v.name, failures(v)));
  if (v.code() != ExitCode::kDone)
    throw PrivacyError(fmt::format("'{}' carries no guarantee: {}", v.name, failures(v)));
}

}  // namespace muffle::release
