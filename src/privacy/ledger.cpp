#include "muffle/privacy/ledger.hpp"

#include <fmt/format.h>
#include <sodium.h>

#include <array>

#include "ledger_entry.hpp"
#include "ledger_file.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/core/float_text.hpp"
#include "muffle/core/hash.hpp"
#include "muffle/core/round_up.hpp"

namespace muffle::privacy {
namespace {

std::filesystem::path lock_of(const std::filesystem::path& file) { return file.string() + ".lock"; }

std::string in_words(const std::optional<Budget>& budget) {
  if (!budget) return "no budget";
  std::string text = "mu " + exact_text(budget->mu);
  if (budget->epsilon)
    text += fmt::format(" (epsilon {} at delta {})", exact_text(*budget->epsilon), exact_text(budget->delta));
  return text;
}

std::string random_id() {
  require(sodium_init() >= 0, "libsodium could not be set up, so nothing can be charged or drawn.");
  std::array<unsigned char, 16> bytes{};
  randombytes_buf(bytes.data(), bytes.size());
  std::string id;
  for (const unsigned char b : bytes) id += fmt::format("{:02x}", b);
  return id;
}

void require_id(const std::string& data_id) {
  if (is_data_id(data_id)) return;
  std::string shown = data_id;
  for (char& c : shown) c = c >= ' ' && c <= '~' ? c : '?';
  throw ConfigError(
      fmt::format("'{}' is no name of a data set: use 1 to 128 letters, digits, '.', '_' and '-', beginning "
                  "with a letter or digit.",
                  shown));
}

void require_data_set(const LedgerState& state, const std::string& data_id,
                      const std::filesystem::path& file) {
  if (state.data_id != data_id) {
    throw ProtocolError(
        fmt::format("The ledger '{}' belongs to data set '{}', not '{}': name the right file "
                    "(privacy.ledger) or the right data set (data.id). Nothing was charged or drawn.",
                    file.string(), state.data_id, data_id));
  }
}

/// A budget that both name must be the same.
void require_budget(const LedgerState& state, const std::optional<Budget>& budget,
                    const std::filesystem::path& file) {
  if (budget && state.budget && *budget != *state.budget) {
    throw ConfigError(fmt::format(
        "The ledger '{}' holds data set '{}' to {}, but the configuration says {}. A budget does not change "
        "by the way: leave privacy.budget_epsilon and privacy.budget_delta as they were (or unset), or "
        "decide on a new one with `muffle ledger budget`. Nothing was charged or drawn.",
        file.string(), state.data_id, in_words(state.budget), in_words(budget)));
  }
}

/// As it will be read back from the line, so that two spellings of one run cannot differ.
ChargeTerms storable(ChargeTerms terms) {
  terms.run = ledger::storable(terms.run);
  terms.config_hash = ledger::storable(terms.config_hash);
  return terms;
}

bool is_there(const std::filesystem::path& file) {
  return muffle::is_there(file, "the ledger", "Nothing was charged or drawn.");
}

/// One file, one lock, by whatever link it is reached.
std::filesystem::path resolved(const std::filesystem::path& path) {
  try {
    return watched::canonical(path);
  } catch (const std::filesystem::filesystem_error& e) {
    throw IoError(fmt::format("the ledger's path '{}' leads nowhere: {}. Nothing was charged or drawn.",
                              path.string(), e.code().message()));
  }
}

}  // namespace

class Ledger::Impl {
 public:
  Impl(std::filesystem::path file, const std::string& data_id, const std::optional<Budget>& budget,
       std::chrono::milliseconds deadline, const Heartbeat& heartbeat)
      : file_(std::move(file)), lock_(lock_of(file_), deadline, heartbeat) {
    if (!is_there(file_)) create(data_id, budget);
    ledger::require_one_name(file_);
    state_ = read_ledger(file_);
    require_data_set(state_, data_id, file_);
    if (!state_.torn.empty()) repair();
    if (budget && !state_.budget) append(ledger::BudgetLine{budget});
    require_budget(state_, budget, file_);
  }

  const LedgerState& state() const { return state_; }
  bool created() const { return created_; }

  bool settle(const ChargeTerms& terms, const std::optional<FoundArtifact>& found) {
    return found ? settle_found(*found) : settle_missing(terms);
  }

  std::string begin(const ChargeTerms& terms) { return charge(terms, random_id()); }

  void bind(const std::string& id, const std::string& artifact) {
    const ChargeRecord* record = state_.find_charge(id);
    require(record != nullptr && !record->pending && ledger::is_hex(artifact, 64),
            "a release was to be bound to a charge that is not in the ledger, or twice: this is a bug in "
            "muffle.");
    append(ledger::PendingLine{id, artifact});
  }

  void commit(const std::string& id, const std::string& artifact) {
    const ChargeRecord* record = state_.find_charge(id);
    require(record != nullptr && !record->artifact && record->pending == artifact,
            "a release was to be committed to the ledger that was not charged and bound, or twice: this is a "
            "bug in muffle.");
    append(ledger::CommitLine{id, artifact});
  }

  void set_budget(const std::optional<Budget>& budget) { append(ledger::BudgetLine{budget}); }

 private:
  static constexpr double kDeltaOfMessages = 1e-5;

  std::string charge(const ChargeTerms& terms, const std::string& id) {
    require_unit(state_, terms.unit);
    const Quote asked = quote(state_, terms.mu, terms.secure_noise, kDeltaOfMessages);
    if (!asked.allowed) {
      throw PrivacyError(fmt::format(
          "The privacy budget refuses: {}. Nothing was charged, drawn or released. The ledger is '{}'.",
          asked.text, file_.string()));
    }
    const std::string line = write(ledger::IntentLine{id, terms});
    try {
      believe(line);
    } catch (const Error& e) {
      throw Error(
          e.code(),
          fmt::format("{} The charge {} was written before that: it stays spent, and nothing was drawn.",
                      e.what(), id),
          e.where());
    }
    return id;
  }

  template <class Content>
  ledger::Entry next(Content content) const {
    return {state_.lines,      state_.head,         state_.data_id,
            ledger::utc_now(), ledger::host_name(), std::move(content)};
  }

  void create(const std::string& data_id, const std::optional<Budget>& budget) {
    const ledger::Entry first{
        0, std::string(64, '0'), data_id, ledger::utc_now(), ledger::host_name(), ledger::BudgetLine{budget}};
    ledger::create_with_line(file_, ledger::render(first));
    created_ = true;
  }

  template <class Content>
  void append(Content content) {
    believe(write(std::move(content)));
  }

  /// @returns the line that the file now ends with.
  template <class Content>
  std::string write(Content content) const {
    std::string line = ledger::render(next(std::move(content)));
    if (state_.good_bytes + line.size() + 1 > ledger::kMaxFile) {
      throw IoError(
          fmt::format("The ledger '{}' is full: with one line more it would exceed the {} bytes that its "
                      "readers accept. Nothing was written, charged or drawn.",
                      file_.string(), ledger::kMaxFile));
    }
    ledger::append_line(file_, state_.good_bytes, line);
    return line;
  }

  /// After a write: only what a reader of the file would believe.
  void believe(const std::string& line) {
    state_ = read_ledger(file_);
    require(state_.torn.empty() && state_.head == to_hex(sha256(line)),
            "the ledger '" + file_.string() + "' does not end with the line that was just written to it.");
  }

  /// Cuts the torn line off and says so, in one atomic step. Nothing was drawn for an INTENT that is torn,
  /// for begin() had not returned; but a disk that lost what it had acknowledged, or a copy that ended
  /// early, looks the same. So a charge that can still be read is kept as spent.
  void repair() {
    const std::string whole = read_file(file_, ledger::kMaxFile).substr(0, state_.good_bytes);
    ledger::RepairLine line{state_.torn.size(), to_hex(sha256(state_.torn)), 0.0, std::nullopt};
    if (const auto torn = ledger::charge_of_fragment(state_.torn)) {
      require_unit(state_, torn->unit);  // muffle writes none that is refused here
      line.mu = torn->mu;
      line.unit = torn->unit;
    }
    write_file_atomically(file_, whole + ledger::render(next(line)) + "\n");
    state_ = read_ledger(file_);
  }

  bool settle_found(const FoundArtifact& found) {
    for (const ChargeRecord& known : state_.charges) {
      if (known.artifact == found.sha256) return true;
    }
    if (const ChargeRecord* known = state_.find_charge(found.charge_id)) {
      if (known->artifact) {
        throw ProtocolError(
            fmt::format("'{}' is not the release that the ledger '{}' committed for charge {}: its SHA-256 "
                        "is {}, the committed one's is {}. Put the committed file back, or move this one "
                        "away and use another --out folder, which is a new charge.",
                        found.terms.run, file_.string(), known->id, found.sha256, *known->artifact));
      }
      if (known->terms.config_hash != found.terms.config_hash || found.terms.mu > known->terms.mu) {
        throw ProtocolError(fmt::format(
            "'{}' carries charge {}, but the ledger '{}' has that charge for other settings (configuration "
            "{} instead of {}, mu {} instead of {}). Move the file away; the charge stays spent.",
            found.terms.run, known->id, file_.string(), known->terms.config_hash, found.terms.config_hash,
            exact_text(known->terms.mu), exact_text(found.terms.mu)));
      }
      if (known->pending != found.sha256) {
        throw ProtocolError(
            fmt::format("'{}' carries charge {}, but the job that paid for it {}. The file's SHA-256 is {}: "
                        "it was put there by somebody else, and is neither used nor signed. Move it away and "
                        "find out who wrote it; the charge stays spent, and a new release is a new one.",
                        found.terms.run, known->id,
                        known->pending ? "made a release with SHA-256 " + *known->pending
                                       : "was cut off before it had made a release",
                        found.sha256));
      }
      commit(known->id, found.sha256);
      return true;
    }
    throw ProtocolError(
        fmt::format("'{}' (SHA-256 {}) is a release that the ledger '{}' does not know: {}. It is neither "
                    "used nor signed, and nothing was charged. If another ledger paid for it, name that one "
                    "(privacy.ledger); if this ledger was rolled back, restore it. Else move the file away, "
                    "or choose another --out folder; if it is a true release of these data, its mu {} is "
                    "spent all the same: leave it out of the budget (`muffle ledger budget`).",
                    found.terms.run, found.sha256, file_.string(),
                    found.charge_id.empty() ? "it was made without a ledger" : "its charge is not there",
                    exact_text(found.terms.mu)));
  }

  bool settle_missing(const ChargeTerms& terms) {
    const ChargeTerms wanted = storable(terms);
    for (const ChargeRecord& known : state_.charges) {
      if (known.artifact && known.terms.run == wanted.run && known.terms.config_hash == wanted.config_hash) {
        throw ProtocolError(fmt::format(
            "The ledger '{}' says that this release was made and committed (charge {}, {} on {}): '{}' with "
            "SHA-256 {}; but no file is there (SHA-256 none). Its noise is not drawn again: put the file "
            "back from a copy, or choose another --out folder, which is a new charge.",
            file_.string(), known.id, known.time, known.host, wanted.run, *known.artifact));
      }
    }
    return false;
  }

  std::filesystem::path file_;
  ledger::Lock lock_;
  bool created_ = false;
  LedgerState state_;
};

Ledger::Ledger(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Ledger::Ledger(Ledger&&) noexcept = default;
Ledger::~Ledger() = default;

Ledger Ledger::open(const std::filesystem::path& path, const std::string& data_id,
                    const std::optional<Budget>& budget, std::chrono::milliseconds deadline,
                    const Heartbeat& heartbeat) {
  require_id(data_id);
  const auto file = resolved(path);
  if (!is_there(file)) ensure_writable_folder(file.parent_path());
  return Ledger(std::make_unique<Impl>(file, data_id, budget, deadline, heartbeat));
}

LedgerState Ledger::preview(const std::filesystem::path& path, const std::string& data_id,
                            const std::optional<Budget>& budget) {
  require_id(data_id);
  LedgerState state;
  state.data_id = data_id;
  if (const auto file = resolved(path); is_there(file)) state = read_ledger(file);
  require_data_set(state, data_id, path);
  require_budget(state, budget, path);
  if (budget) state.budget = budget;
  if (const auto torn = ledger::charge_of_fragment(state.torn)) {
    state.spent_squares = add_up(state.spent_squares, multiply_up(torn->mu, torn->mu));
    if (!state.unit) state.unit = torn->unit;
  }
  return state;
}

const LedgerState& Ledger::state() const { return impl_->state(); }
bool Ledger::created() const { return impl_->created(); }

bool Ledger::settle(const ChargeTerms& terms, const std::optional<FoundArtifact>& found) {
  return impl_->settle(terms, found);
}

std::string Ledger::begin(const ChargeTerms& terms) { return impl_->begin(storable(terms)); }

void Ledger::bind(const std::string& charge_id, const std::string& artifact_sha256) {
  impl_->bind(charge_id, artifact_sha256);
}

void Ledger::commit(const std::string& charge_id, const std::string& artifact_sha256) {
  impl_->commit(charge_id, artifact_sha256);
}

void Ledger::set_budget(const std::optional<Budget>& budget) { impl_->set_budget(budget); }

}  // namespace muffle::privacy
