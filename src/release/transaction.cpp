#include "muffle/release/transaction.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/core/hash.hpp"
#include "muffle/core/text.hpp"
#include "muffle/core/watchdog.hpp"
#include "muffle/crypto/signature.hpp"

namespace muffle::release {
namespace {

/// Writes the file unless it is there with this text. @returns whether it did.
bool keep_file(const std::filesystem::path& file, const std::string& text) {
  if (is_there(file, "the release's", "The release itself is there.") && read_file(file) == text)
    return false;
  write_file_atomically(file, text);
  return true;
}

/// Of a release that is whole. What is left, nobody reads again.
void remove_rounds(const std::filesystem::path& release) {
  const std::filesystem::path file = rounds_file(release);
  const WatchedStep removing("removing", file);
  std::error_code left;
  std::filesystem::remove(file, left);
}

}  // namespace

std::filesystem::path rounds_file(const std::filesystem::path& release) {
  return release.string() + ".rounds";
}

bool release_is_there(const std::filesystem::path& file) {
  return is_there(file, "the release", "Nothing was charged or drawn.");
}

void require_ordered(const ReleaseOrder& order, const Artifact& artifact) {
  if (artifact.config_hash != order.config_hash) {
    const std::string differs = order.what_differs ? order.what_differs(artifact) : "";
    throw ConfigError(fmt::format(
        "'{}' holds a release made with other data, features or privacy settings{}. A release spends privacy "
        "budget, so it is never overwritten: choose another --out folder, or move that file away.",
        order.file.string(), differs.empty() ? "" : " (" + differs + ")"));
  }
  if (artifact.is_private == order.secure_noise) return;
  throw ConfigError(
      order.secure_noise
          ? fmt::format("'{}' holds a release with test noise (--insecure-seeded-noise, "
                        "--insecure-no-noise): it is NOT PRIVATE and cannot stand for the private release "
                        "that is asked for. Choose another --out folder, or delete that file and all that "
                        "was made from it. Nothing was charged or drawn.",
                        order.file.string())
          : fmt::format(
                "'{}' holds a private release, but --insecure-seeded-noise or --insecure-no-noise asks "
                "for one that is not. Choose another --out folder for the test. Nothing was charged or "
                "drawn.",
                order.file.string()));
}

ReleaseTransaction::ReleaseTransaction(ReleaseOrder order, const Heartbeat& heartbeat)
    : order_(std::move(order)),
      document_({order_.ledger, order_.data_id, order_.budget, order_.lock_deadline}, heartbeat) {}

privacy::ChargeTerms ReleaseTransaction::terms(const privacy::NoisePlan& plan, bool secure_noise) const {
  return {order_.file.string(), order_.config_hash, privacy::mu_of(plan),  plan.sensitivity.value,
          plan.sigma,           secure_noise,       privacy::unit_of(plan)};
}

bool ReleaseTransaction::settle() {
  require(state_ == State::kOpened, "a release was to be settled twice: this is a bug in muffle.");
  if (!release_is_there(order_.file)) {
    document_.settle({.run = order_.file.string(), .config_hash = order_.config_hash, .unit = {}},
                     std::nullopt);
    state_ = State::kSettled;
    return false;
  }
  const std::string bytes = read_file(order_.file);
  const Artifact artifact = parse_artifact(bytes, order_.file.string());
  require_ordered(order_, artifact);
  const privacy::ChargeTerms stated = terms(artifact.noise, artifact.is_private);
  document_.settle(stated,
                   privacy::FoundArtifact{artifact.ledger_charge, to_hex(sha256(PublicBytes(bytes)))});
  sign(bytes);
  // A job that was killed right after its COMMIT has none yet; and what is there may be another's.
  write_statements(artifact);
  remove_rounds(order_.file);
  state_ = State::kFinished;
  return true;
}

std::optional<KeptRounds> ReleaseTransaction::resume() {
  require(state_ == State::kSettled,
          "rounds were looked for in a release that was not settled: this is a bug in muffle.");
  const std::filesystem::path file = rounds_file(order_.file);
  if (!is_there(file, "what earlier rounds of the release kept", "Nothing was charged or drawn."))
    return std::nullopt;
  const std::string bytes = read_file(file);
  const auto useless = [&](const std::string& why) -> std::optional<KeptRounds> {
    spdlog::warn(
        "release: the rounds in '{}' cannot be gone on with ({}), and a new release is a new charge.",
        printable(file.string()), why);
    return std::nullopt;
  };
  KeptRounds kept;
  try {
    kept = parse_rounds(bytes, file.string());
  } catch (const ProtocolError& e) {
    return useless(e.what());
  }
  if (kept.config_hash != order_.config_hash || kept.is_private != order_.secure_noise)
    throw ConfigError(fmt::format(
        "'{}' holds {} finished rounds of a release with other settings (data, features, privacy or how sums "
        "come together), which charge {} has paid for. Go on with the settings that it began with. To begin "
        "anew, for a new charge, move that file away. Nothing was charged or drawn.",
        file.string(), kept.rounds(), kept.charge));
  const privacy::ChargeRecord* const charge = document_.state().find_charge(kept.charge);
  if (charge == nullptr || charge->terms.run != order_.file.string() ||
      charge->terms.config_hash != order_.config_hash || charge->terms.secure_noise != order_.secure_noise)
    return useless("the ledger has no such charge for this release");
  if (!charge->between_rounds() || charge->rounds_kept != kept.rounds() ||
      charge->kept.back() != to_hex(sha256(PublicBytes(bytes))))
    return useless(
        fmt::format("a job was cut off in a round of charge {}, or the file is not the one that it kept; "
                    "no noise is drawn twice for one charge",
                    charge->id));
  document_.resume(*charge);
  state_ = State::kResumed;
  return kept;
}

void ReleaseTransaction::begin_round(std::size_t round, const std::string& summed,
                                     const std::function<void(const Charge&)>& draw) {
  require(state_ == State::kResumed,
          "a later round was to be drawn without those before it: this is a bug in muffle.");
  state_ = State::kDrawn;  // whatever comes of it: a failed draw is not tried again
  document_.begin_round(round, summed, draw);
}

void ReleaseTransaction::keep(KeptRounds rounds) {
  require(state_ == State::kDrawn, "rounds were to be kept without a charge: this is a bug in muffle.");
  require(rounds.config_hash == order_.config_hash && rounds.is_private == document_.terms().secure_noise,
          "the rounds are not those that were charged: this is a bug in muffle.");
  state_ = State::kKept;
  rounds.charge = charge();
  const std::string bytes = rounds_bytes(rounds);
  document_.keep_round(rounds.rounds(), to_hex(sha256(PublicBytes(bytes))), rounds.summed);
  const std::filesystem::path file = rounds_file(order_.file);
  write_file_atomically(file, bytes);
  round_times(file);  // when it was written would tell how long a round took
}

void ReleaseTransaction::begin(const privacy::NoisePlan& plan, bool secure_noise,
                               const std::function<void(const Charge&)>& draw) {
  require(state_ == State::kSettled,
          "noise was to be drawn for a release that was not settled, or twice: this is a bug in muffle.");
  document_.begin(terms(plan, secure_noise), [&](const Charge& charge) {
    state_ = State::kDrawn;  // whatever comes of it: a failed draw is not tried again
    draw(charge);
  });
}

std::string ReleaseTransaction::finish(Artifact artifact) {
  require(state_ == State::kDrawn, "a release was to be written without a charge: this is a bug in muffle.");
  require(artifact.config_hash == order_.config_hash && artifact.data_id == order_.data_id &&
              artifact.is_private == document_.terms().secure_noise &&
              privacy::mu_of(artifact.noise) <= document_.terms().mu,
          "the release is not the one that was charged: this is a bug in muffle.");
  state_ = State::kFinished;
  artifact.ledger_charge = charge();
  const std::string bytes = artifact_bytes(artifact), hash = document_.write(order_.file, bytes);
  sign(bytes);
  document_.commit();
  write_statements(artifact);
  remove_rounds(order_.file);
  return hash;
}

void ReleaseTransaction::sign(std::string_view release) const {
  if (order_.signing_key.empty()) return;
  const crypto::SiteKey key = crypto::SiteKey::load(order_.signing_key);
  const std::filesystem::path file = crypto::signature_file(order_.file);
  // Ed25519 is deterministic: a job that is killed before makes the same bytes once more.
  if (keep_file(file, crypto::sign_release(key, release)))
    spdlog::info("release: signed by '{}' in {}", key.name(), file.string());
}

void ReleaseTransaction::write_statements(const Artifact& artifact) const {
  if (const std::string few = few_records(artifact); !few.empty()) spdlog::warn("release: {}", few);
  keep_file(order_.statement_json, privacy_statement_json(artifact));
  keep_file(order_.statement_text, privacy_statement_text(artifact, &document_.state()));
}

}  // namespace muffle::release
