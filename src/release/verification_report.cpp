#include <fmt/format.h>

#include "artifact_header.hpp"
#include "muffle/core/container.hpp"
#include "muffle/core/files.hpp"
#include "muffle/core/text.hpp"
#include "muffle/privacy/accountant.hpp"
#include "muffle/release/membership.hpp"
#include "muffle/release/plan_json.hpp"
#include "muffle/release/verification.hpp"

namespace muffle::release {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

constexpr std::size_t kMaxSmallFile = std::size_t{1} << 16, kMaxLedger = std::size_t{1} << 28;

constexpr std::string_view kWords[] = {"pass", "FAIL", "skipped"};  // by Outcome

std::string_view word(Check::Outcome outcome) { return kWords[static_cast<std::size_t>(outcome)]; }

bool refused(const Verification& v) { return v.code() == ExitCode::kProtocol || !v.artifact; }

struct Verdict {
  std::string_view word;  ///< for JSON
  std::string_view text;
};
Verdict verdict(const Verification& v) {
  if (refused(v)) return {"refused", "REFUSED: do not use this file"};
  if (!v.artifact->is_private) return {"not private", not_private(*v.artifact)};
  if (v.code() == ExitCode::kBudget)
    return {"no guarantee", "NO GUARANTEE: the data set's privacy budget is overspent"};
  if (!v.repeated())
    return {"not recomputed", "consistent, but what its later rounds count was not recomputed"};
  if (v.vouched()) return {"good", "good"};
  return {"consistent", v.ledger ? "consistent, but nobody vouches for it: no signature checked, and the "
                                   "ledger beside it is unsigned (--ledger names one that you trust)"
                                 : "consistent, but nobody vouches for it: no signature checked, no ledger"};
}

/// What was not looked at, behind the verdict.
std::string not_checked(const Verification& v) {
  for (const Check& c : v.checks) {
    if (!refused(v) && c.name == kFeatureMaps && c.outcome == Check::Outcome::kSkipped)
      return "; its feature maps are too large to be rebuilt here, and were not checked";
  }
  return "";
}

std::string signed_by(const Verification& v) {
  if (!v.signature) return "nobody";
  return fmt::format("'{}', public key {} ({})", printable(v.signature->signer),
                     crypto::to_hex(v.signature->key),
                     v.trusted ? "the key that was demanded" : "not compared with any key that you trust");
}

std::string ledger_line(const Verification& v) {
  if (!v.ledger) return "not looked at";
  const double mu = v.ledger->spent_mu(), delta = v.artifact->noise.delta;
  const auto epsilon = privacy::epsilon_to_tell(mu, delta);
  const std::size_t releases = v.ledger->charges.size();
  return fmt::format("{} of data set '{}'{}: mu {}, epsilon {} at delta {}{}",
                     releases == 1 ? "the one release" : fmt::format("all {} releases", releases),
                     v.ledger->data_id, releases == 1 ? "" : " together", rounded_up_text(mu, 6),
                     epsilon ? rounded_up_text(*epsilon, 6) : "above 100", delta,
                     v.ledger->insecure > 0 ? "; BUT SOME HAD SEEDED NOISE: NO GUARANTEE IS LEFT" : "");
}

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

/// Of a .pub file, or of the card of a party that makes releases with others.
crypto::SignerKey trusted_signer(const std::string& file) {
  const std::string bytes = read_file(file, kMaxSmallFile);
  if (container_format(bytes).empty()) return crypto::parse_signer_key(bytes, file);
  const SignedHeader header = parse_message(bytes, file).header;
  return {read_card(header, file).name, header.sender};
}

std::string failures(const Verification& verification) {
  std::string out;
  for (const Check& check : verification.checks) {
    if (check.outcome == Check::Outcome::kFail)
      out += fmt::format("{}{}: {}", out.empty() ? "" : "; ", check.name, check.detail);
  }
  return out;
}

std::string detail_of(const Verification& verification, std::string_view name) {
  for (const Check& check : verification.checks) {
    if (check.name == name) return check.detail;
  }
  return "";
}

}  // namespace

Verification verify_file(const ReleaseFiles& files) {
  const std::string bytes = read_file(files.release);
  Evidence evidence;
  evidence.name = files.release;
  evidence.may_be_unsigned = files.may_be_unsigned;
  evidence.repeat_choices = files.repeat_choices;
  evidence.release = bytes;
  if (!files.evidence.empty()) evidence.messages = evidence_in(files.evidence);
  if (!files.key.empty()) evidence.trusted = trusted_signer(files.key);
  std::vector<std::string> part_bytes;  // not moved while they are looked at
  part_bytes.reserve(files.parts.size());
  for (const std::string& part : files.parts) {
    part_bytes.push_back(read_file(part));
    evidence.parts.push_back({part, part_bytes.back(), {}});
    if (const fs::path file = crypto::signature_file(part); watched::exists(file))
      evidence.parts.back().signature = read_file(file, kMaxSmallFile);
  }
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
  if (v.code() == ExitCode::kBudget)
    throw PrivacyError(fmt::format("'{}' carries no guarantee: {}", v.name, failures(v)));
  if (v.code() == ExitCode::kUnvouched && !v.repeated())
    throw Error(ExitCode::kUnvouched,
                fmt::format("'{}' is consistent, but what its later rounds count was not recomputed, and "
                            "could carry data: {}",
                            v.name, detail_of(v, kRounds)));
  if (v.code() == ExitCode::kUnvouched)
    throw Error(
        ExitCode::kUnvouched,
        fmt::format("'{}' is consistent, but nobody vouches for it, and anybody can make such a file. "
                    "Demand a signature (--require-signature KEY.pub), name the ledger of somebody you "
                    "trust (--ledger FILE), or say that neither is needed (--allow-unsigned)",
                    v.name));
}

std::string verification_text(const Verification& v) {
  std::string out = v.name + "\n";
  for (const Check& c : v.checks) out += fmt::format("  {:<8}{:<26} {}\n", word(c.outcome), c.name, c.detail);
  out += fmt::format("verdict: {}{}\n", verdict(v).text, not_checked(v));
  if (refused(v)) return out;
  const std::string line(78, '*');
  if (!v.artifact->is_private) out += fmt::format("\n{}\n{:^78}\n{}\n", line, "N O T   P R I V A T E", line);
  out += fmt::format("\n{}\nPlan: {}\nSigned by: {}\nLedger: {}\n", privacy_statement_text(*v.artifact),
                     plan_hash(*v.artifact), signed_by(v), ledger_line(v));
  out += fmt::format(
      "No file can prove that the noise was drawn, that the sums were bounded, or how they came together "
      "(here: {}). For that {} vouches.\n",
      privacy::name_of(v.artifact->aggregation),
      v.trusted && v.signature ? "the signer"
      : v.vouched()            ? "whoever keeps the ledger"
                               : "nobody");
  return out;
}

std::string verification_json(const Verification& v) {
  Json checks = Json::array();
  for (const Check& c : v.checks) {
    checks.push_back({{"name", c.name},
                      {"result", c.outcome == Check::Outcome::kFail ? "fail" : std::string(word(c.outcome))},
                      {"detail", c.detail}});
  }
  Json out = {{"format", "muffle-verification"},
              {"version", 1},
              {"file", v.name},
              {"verdict", verdict(v).word},
              {"checks", checks},
              {"signer", nullptr},
              {"ledger", nullptr},
              {"statement", nullptr}};
  if (v.signature) {
    out["signer"] = {{"name", v.signature->signer},
                     {"public_key", crypto::to_hex(v.signature->key)},
                     {"demanded", v.trusted.has_value()}};
  }
  if (!refused(v)) {
    if (v.ledger) {
      const auto epsilon = privacy::epsilon_to_tell(v.ledger->spent_mu(), v.artifact->noise.delta);
      out["ledger"] = {
          {"data_id", v.ledger->data_id},     {"releases", v.ledger->charges.size()},
          {"mu", v.ledger->spent_mu()},       {"epsilon", epsilon ? Json(*epsilon) : Json(nullptr)},
          {"delta", v.artifact->noise.delta}, {"guarantee", v.ledger->insecure == 0}};
    }
    out["statement"] = Json::parse(privacy_statement_json(*v.artifact));
  }
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace muffle::release
