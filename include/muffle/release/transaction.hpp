#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "muffle/release/charged_document.hpp"
#include "muffle/release/rounds.hpp"

namespace muffle::release {

/// Where one release goes and what it is written down as. Public values only.
struct ReleaseOrder {
  std::filesystem::path file;  ///< release.mfl: absolute and canonical, for the ledger knows the job by it
  std::filesystem::path statement_json, statement_text;  ///< privacy.json, privacy.txt
  std::string config_hash;                               ///< of the keys that the release depends on
  std::filesystem::path ledger;
  std::string data_id;
  std::optional<privacy::Budget> budget;      ///< none: no limit but the one that the ledger has already
  std::chrono::milliseconds lock_deadline{};  ///< how long to wait for other releases of the data set
  std::filesystem::path signing_key;          ///< empty: the release is not signed
  std::string left_open;                      ///< of data.id and privacy.ledger: those that have a default
  bool secure_noise = true;                   ///< false: seeded noise, for tests; the release is NOT PRIVATE
  /// Which settings another release, found at its place, was made with, for people; empty: it is not known.
  std::function<std::string(const Artifact&)> what_differs{};
};

/// Where a release of several rounds keeps those that are finished, until it is whole.
std::filesystem::path rounds_file(const std::filesystem::path& release);

/// Whether a release is at its place. @throws IoError  it cannot be told.
bool release_is_there(const std::filesystem::path& file);

/// That `artifact`, which lies where the order's release goes, is that release. Purely local.
/// @throws ConfigError  it was made by another configuration, or is NOT PRIVATE where a private release is
///                      ordered, or the other way round.
void require_ordered(const ReleaseOrder& order, const Artifact& artifact);

/// The one way from noise to a file: charge, draw, write, sign, commit, in this order (docs/math.md,
/// "noise"). It holds the ledger's lock for as long as it lives, so that releases of one data set take turns.
///   settle()       is this job's release there already? then the same bytes are handed out
///   resume()       did an earlier transaction keep finished rounds of it?
///   begin()        INTENT on the disk, and only then the noise, once
///   begin_round()  the same for a later round, which costs nothing more
///   ...            the caller adds the noise to the sum
///   keep()         between two rounds: ROUND {hash}, and the rounds' file
///   finish()       PENDING {hash}, artifact, signature, COMMIT, privacy statement
/// The process may end at any point, and a new transaction of the same order takes up (privacy::Ledger). No
/// other file is ever committed or signed. Called by the coordinator alone; not thread-safe.
/// tests/release/release_kill_test.cpp kills it at every step.
class ReleaseTransaction {
 public:
  /// Opens (or creates) the ledger and locks it; blocks up to order.lock_deadline. As privacy::Ledger::open.
  explicit ReleaseTransaction(ReleaseOrder order, const Heartbeat& heartbeat = {});

  /// Whether this job's release is there; if so it is committed and signed, and its statement is there too.
  /// @throws ConfigError    another release is there (require_ordered); the ledger is as it was.
  /// @throws ProtocolError  a damaged artifact; and as privacy::Ledger::settle().
  bool settle();

  /// The rounds of this job's release that an earlier transaction kept, if the ledger has a charge that is
  /// bound to them and no later round's noise was drawn; then begin_round() goes on. Says so where there are
  /// some that cannot be gone on with: begin() is a new charge.
  /// @throws InvariantError  settle() was not asked first or found a release.
  std::optional<KeptRounds> resume();
  /// Says in the ledger that the noise of `round` (2 ..) is drawn, then calls `draw`, once. As begin().
  /// @param summed  summed_by() of the round
  void begin_round(std::size_t round, const std::string& summed,
                   const std::function<void(const Charge&)>& draw);
  /// Binds the finished rounds to the charge and writes their file; the next transaction of this order goes
  /// on with them. @throws IoError  nothing is kept; the charge stays spent. @throws InvariantError  no
  /// charge is open.
  void keep(KeptRounds rounds);

  /// Charges for `plan`, then calls `draw`, once, to draw the noise: never before the charge is on the disk.
  /// A draw that fails leaves the charge spent. @param secure_noise  false: seeded noise, for tests.
  /// @throws PrivacyError, IoError  the budget refuses, or the charge cannot be written: nothing was drawn.
  /// @throws InvariantError         settle() was not asked first or found a release, or a second begin().
  void begin(const privacy::NoisePlan& plan, bool secure_noise,
             const std::function<void(const Charge&)>& draw);

  /// Binds the release, with the charge's id in it, to the charge; writes, signs and commits it, writes its
  /// statements. @returns SHA-256 of the release in hex.
  /// @throws IoError         nothing is handed out; the next transaction of this order settles the charge.
  /// @throws InvariantError  no charge is open, or the artifact is of another configuration or other noise.
  std::string finish(Artifact artifact);

  /// Id of the open or finished charge; empty before begin().
  const std::string& charge() const { return document_.charge(); }

 private:
  enum class State { kOpened, kSettled, kResumed, kDrawn, kKept, kFinished };

  privacy::ChargeTerms terms(const privacy::NoisePlan& plan, bool secure_noise) const;
  /// @param release  the bytes that were hashed: the file may have been changed since.
  void sign(std::string_view release) const;
  void write_statements(const Artifact& artifact) const;

  ReleaseOrder order_;
  ChargedDocument document_;
  State state_ = State::kOpened;
};

}  // namespace muffle::release
