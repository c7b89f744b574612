#include <fmt/format.h>

#include <iostream>

#include "muffle/app/commands.hpp"
#include "muffle/core/container.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/release/verification.hpp"

namespace muffle::app {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kMaxSmallFile = std::size_t{1} << 16, kMaxLedger = std::size_t{1} << 28;

/// Where a release's ledger lies if nobody said otherwise: beside the run folder, or in it.
std::optional<release::Evidence::LedgerText> ledger_beside(const fs::path& release, const std::string& bytes) {
  std::string data_id;
  try {
    data_id = release::parse_artifact(bytes, release.string()).data_id;
  } catch (const Error&) {
    return std::nullopt;  // verify_release says why it cannot be read
  }
  if (!privacy::is_data_id(data_id)) return std::nullopt;
  const fs::path folder = watched::canonical(release).parent_path();
  for (const fs::path& place : {folder, folder.parent_path()}) {
    const fs::path file = place / ("ledger-" + data_id + ".jsonl");
    if (watched::exists(file))
      return release::Evidence::LedgerText{file.string(), read_file(file, kMaxLedger), false};
  }
  return std::nullopt;
}

std::string failures(const release::Verification& verification) {
  std::string out;
  for (const release::Check& check : verification.checks) {
    if (check.outcome == release::Check::Outcome::kFail)
      out += fmt::format("{}{}: {}", out.empty() ? "" : "; ", check.name, check.detail);
  }
  return out;
}

}  // namespace

void verify(const VerifyCommand& command) {
  const std::string bytes = read_file(command.file);
  release::Evidence evidence;
  evidence.name = command.file;
  evidence.release = bytes;
  if (!command.key.empty())
    evidence.trusted = crypto::parse_signer_key(read_file(command.key, kMaxSmallFile), command.key);
  if (const fs::path file = crypto::signature_file(command.file); watched::exists(file))
    evidence.signature = read_file(file, kMaxSmallFile);
  if (!command.ledger.empty()) {
    evidence.ledger = {command.ledger, read_file(command.ledger, kMaxLedger), true};
  } else {
    evidence.ledger = ledger_beside(command.file, bytes);
  }

  const release::Verification verification = release::verify_release(evidence);
  std::cout << (command.format == "json" ? release::verification_json(verification)
                                         : release::verification_text(verification))
            << std::flush;
  if (verification.code() == ExitCode::kProtocol)
    throw ProtocolError(fmt::format("'{}' is refused: {}", command.file, failures(verification)));
  if (verification.code() != ExitCode::kDone)
    throw PrivacyError(fmt::format("'{}' carries no guarantee: {}", command.file, failures(verification)));
}

}  // namespace muffle::app
