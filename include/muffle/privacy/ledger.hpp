#pragma once

#include <chrono>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "muffle/core/chained_file.hpp"
#include "muffle/privacy/release.hpp"

namespace muffle::privacy {

/// The most that all releases of one data set may spend together: a mu, in which Gaussian releases compose
/// exactly (accountant.hpp). delta only decides at which delta it is also told as an epsilon.
struct Budget {
  double mu = 0.0;
  double delta = 0.0;
  std::optional<double> epsilon;  ///< as the user gave it, if so

  /// The largest mu that the accountant grants for (epsilon, delta). @throws ConfigError outside its domain.
  static Budget from_epsilon(double epsilon, double delta);
  bool operator==(const Budget&) const = default;
};

/// Where a configuration has the data set's releases written down, and the most that they may spend.
struct LedgerSettings {
  std::string data_id;                   ///< data.id; empty: a name made from the record file's path
  std::string file;                      ///< empty: ledger-<data set>.jsonl beside the run folder
  std::optional<double> budget_epsilon;  ///< none: no limit but the one that the ledger has already
  double budget_delta = 1e-5;

  /// Of [privacy].
  void declare(settings::Keys& keys);
  void problems(settings::Problems& problems) const;
};

/// A charge may not be smaller (its square must not vanish in rounding) nor larger than these.
inline constexpr double kMinChargeMu = 1e-7, kMaxChargeMu = 1e4;

/// Whom a mu protects. The mu of different units do not add up: under replace-one m may be known, which
/// add/remove-one forbids, and q records of one person cost q times the mu of one.
struct PrivacyUnit {
  Adjacency adjacency = Adjacency::kReplaceOne;
  std::uint64_t max_records_per_person = 1;  ///< q, 1 to 1,000,000
  bool operator==(const PrivacyUnit&) const = default;
};
/// "replace-one adjacency, at most 1 record a person".
std::string in_words(const PrivacyUnit& unit);

/// What one release asks of the ledger. Public values only.
struct ChargeTerms {
  /// Which file the release writes (absolute path): a requeued job has the same. Of a contribution to a round
  /// between institutions: "round " and the round's id.
  std::string run;
  std::string config_hash;   ///< of the keys that the release depends on
  double mu = 0.0;           ///< sensitivity / sigma, rounded up (mu_of)
  double sensitivity = 0.0;  ///< for people who read the ledger; decides nothing
  double sigma = 0.0;        ///< same
  bool secure_noise = true;  ///< false: seeded test noise, which protects nobody
  PrivacyUnit unit;          ///< the same for all charges of a ledger
  /// Of a contribution: the mu that is left if everybody else, and the cryptography, betray the site; its own
  /// share of the noise alone. For people; 0 of a release.
  double alone_mu = 0.0;
};

/// mu of the noise that is really drawn: the largest sensitivity x unit / sigma_lattice, rounded up.
double mu_of(const NoisePlan& plan);
/// Whom that mu protects.
PrivacyUnit unit_of(const NoisePlan& plan);

/// One INTENT line, and its ROUND, PENDING, COMMIT and RELEASED lines, if they are there.
struct ChargeRecord {
  std::string id;  ///< 32 hexadecimal digits, random; the artifact carries it
  ChargeTerms terms;
  std::string time, host;               ///< of the INTENT
  std::optional<std::string> pending;   ///< SHA-256 of the artifact that its job made; none: no PENDING
  std::optional<std::string> artifact;  ///< the same, once that artifact was on the disk; none: no COMMIT
  // Of a release of several rounds:
  std::uint64_t rounds_drawn = 1;  ///< whose noise was, or was about to be, drawn
  std::uint64_t rounds_kept = 0;   ///< whose numbers were, or were about to be, written
  /// Round by round: SHA-256 of the file of the rounds so far or, of a contribution, of that round's.
  std::vector<std::string> kept{};
  /// How the sums of its rounds came together, ROUND by ROUND (release::summed_by); empty: the line does not
  /// say.
  std::vector<std::string> summed{};
  /// Of a contribution: SHA-256 of the round's release, once it was seen; none: no RELEASED.
  std::optional<std::string> released{};

  /// The next round's noise was not drawn yet: a job may go on, if it has the file.
  bool between_rounds() const { return !pending && rounds_kept > 0 && rounds_kept == rounds_drawn; }
};

/// What a ledger's lines add up to.
struct LedgerState : Chain {
  std::string data_id;
  std::optional<Budget> budget;       ///< of the last BUDGET line
  std::optional<PrivacyUnit> unit;    ///< of all charges; none: nothing was charged yet
  std::vector<ChargeRecord> charges;  ///< in the order of their INTENTs
  double spent_squares = 0.0;         ///< sum of mu^2 over INTENTs (committed or not) and REPAIRs, rounded up
  std::uint64_t insecure = 0;         ///< charges with seeded noise: no guarantee is left if there is any
  std::uint64_t repairs = 0;          ///< REPAIR lines

  /// sqrt(spent_squares), rounded up.
  double spent_mu() const;
  const ChargeRecord* find_charge(std::string_view id) const;
  /// The charges for this run, in their order.
  std::vector<const ChargeRecord*> charges_for(std::string_view run) const;
};

/// Parses and verifies a ledger's bytes: every line's own hash, the chain, the order of INTENTs and COMMITs.
/// A torn last line (no newline, or NULs where a crash left a hole) is no error: it is returned as `torn`.
/// @param name  what messages call the file. @throws ProtocolError naming the line.
LedgerState parse_ledger(std::string_view bytes, const std::string& name);
/// Same, of a file; takes no lock, writes nothing. @throws IoError, ProtocolError.
LedgerState read_ledger(const std::filesystem::path& path);

/// @throws PrivacyError  the ledger's charges are of another unit of privacy; says what can be done.
void require_unit(const LedgerState& state, const PrivacyUnit& unit);

/// Whether one more charge fits, and the arithmetic in words. All roundings go against the asker.
struct Quote {
  bool allowed = false;
  double total_mu = 0.0;               ///< with the charge, rounded up
  std::optional<double> remaining_mu;  ///< of the budget before the charge, rounded down
  std::string text;  ///< one paragraph: spent, asked, together, budget, what remains; in mu and epsilon
};
/// @param delta  at which mu is told as an epsilon if there is no budget.
/// @throws ConfigError  mu outside [kMinChargeMu, kMaxChargeMu], or NaN.
Quote quote(const LedgerState& state, double mu, bool secure_noise, double delta);

/// A release artifact found where this job would write its own.
struct FoundArtifact {
  std::string charge_id;  ///< that it carries; empty if it was made without a ledger
  std::string sha256;     ///< of the whole file, hexadecimal
};

/// The privacy ledger of one data set: an append-only file of hash-chained JSON lines
/// (docs/reference/ledger-format.md), locked by this object for as long as it lives (flock on FILE.lock;
/// released by the kernel however the process ends). One release: open(), settle(), begin(), the noise is
/// drawn ONCE and added, bind(), those very bytes are written atomically, commit(). After a crash settle()
/// commits an artifact whose hash stands in PENDING, and no other: whoever can write to the run folder alone
/// cannot put another file in its place. Without the artifact the budget stays spent, and a new release is a
/// new charge. Called by the coordinator alone; not thread-safe.
class Ledger {
 public:
  /// Locks, verifies, and mends a torn last line; creates the ledger if there is none. A budget that it does
  /// not have yet is recorded. Blocks up to `deadline` while another process holds the lock.
  /// @param data_id    1-128 letters, digits, '.', '_', '-'.
  /// @throws CommError      the lock was not to be had: names who holds it.
  /// @throws ConfigError    a data-set id that is not one; a budget other than the recorded one.
  /// @throws ProtocolError  a damaged ledger, or another data set's, or a file with a second name (hard
  ///                        link), through which it could be written under another lock. @throws IoError.
  static Ledger open(const std::filesystem::path& path, const std::string& data_id,
                     const std::optional<Budget>& budget, std::chrono::milliseconds deadline,
                     const Heartbeat& heartbeat = {});
  /// What open() would find, without a lock and without writing: for dry runs and for refusing early.
  /// @throws ConfigError, ProtocolError, IoError as open().
  static LedgerState preview(const std::filesystem::path& path, const std::string& data_id,
                             const std::optional<Budget>& budget);
  const LedgerState& state() const { return state_; }
  /// Whether open() had to make the file: then nothing is known to be spent, which people should be told.
  bool created() const { return book_.created(); }

  /// Before anything is drawn. @param found  the artifact at terms.run, if any; then `terms` are its own.
  /// @returns whether it is this job's release, and committed now; if nothing is there, begin() may follow.
  /// @throws ProtocolError  a COMMIT exists, but the artifact is missing or another: names both hashes. Or
  ///                        the artifact is none that a charge of this ledger is bound to.
  bool settle(const ChargeTerms& terms, const std::optional<FoundArtifact>& found);

  /// Charges mu: the INTENT is on the disk when this returns, and mu is spent, whatever happens.
  /// @returns the charge's id.
  /// @throws PrivacyError  the budget refuses (with the arithmetic), or require_unit(): nothing was charged.
  /// @throws IoError       the INTENT could not be written; the partial line was cut back. Nothing is drawn.
  std::string begin(const ChargeTerms& terms);

  /// Of a release of several rounds, which one charge pays for: binds the charge to the file with the numbers
  /// of all rounds up to `round`, before any file has its name; then, before the next round's noise is drawn,
  /// says that it will be. So no round is drawn twice for one charge, and between two of them a job may be
  /// cut off. @throws IoError: write no file, draw nothing; the charge stays spent.
  /// @param summed  how the round's sums came together (ChargeRecord::summed)
  void keep_round(const std::string& charge_id, std::uint64_t round, const std::string& sha256,
                  const std::string& summed);
  void begin_round(const std::string& charge_id, std::uint64_t round, const std::string& summed);

  /// Binds the charge, once, to the artifact that was made for it and carries its id, before any file has its
  /// name: the PENDING is on the disk then. @throws IoError: write no artifact, the charge stays spent.
  void bind(const std::string& charge_id, const std::string& artifact_sha256);

  /// The artifact that this charge is bound to is on the disk. @throws IoError: the next settle() does it.
  void commit(const std::string& charge_id, const std::string& artifact_sha256);

  /// The round that a committed contribution was charged for has a release: for people, once; costs nothing.
  void note_release(const std::string& charge_id, const std::string& release_sha256);

  /// A line of its own, for ever visible: a new budget, or none. People decide this. @throws IoError.
  void set_budget(const std::optional<Budget>& budget);

 private:
  explicit Ledger(Book&& book) : book_(std::move(book)) {}

  const std::filesystem::path& file() const { return book_.file(); }
  void append(const std::string& line);
  /// After a write: only what a reader of the file would believe.
  void believe(const std::string& line);
  /// Cuts the torn line off and says so, in one atomic step. Nothing was drawn for an INTENT that is torn,
  /// for begin() had not returned; but a disk that lost what it had acknowledged, or a copy that ended
  /// early, looks the same. So a charge that can still be read is kept as spent.
  void repair();
  /// Commits the artifact, unless it was; or says why it is not this ledger's.
  void adopt(const ChargeTerms& terms, const FoundArtifact& found);

  Book book_;
  LedgerState state_;
};

/// What a ledger's lines add up to, for people: spent, budget, what remains, every charge.
std::string ledger_text(const LedgerState& state);
/// "format": "muffle-ledger-state" (docs/reference/ledger-format.md).
std::string ledger_json(const LedgerState& state, const std::string& file);

/// Of a ledger that read_ledger() has accepted: it ends with a whole line and still has the line whose
/// SHA-256 was noted earlier (`head`; empty: none), or it was rolled back. @throws ProtocolError, IoError.
void require_whole(const LedgerState& state, const std::string& file, const std::string& head);

/// True for 1-128 letters, digits, '.', '_', '-', not beginning with '.' or '-'.
bool is_data_id(std::string_view text);

}  // namespace muffle::privacy
