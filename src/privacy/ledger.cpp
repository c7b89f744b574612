#include "muffle/privacy/ledger.hpp"

#include <fmt/format.h>
#include <sodium.h>

#include "ledger_entry.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/core/hash.hpp"
#include "muffle/core/round_up.hpp"
#include "muffle/core/text.hpp"
#include "muffle/privacy/accountant.hpp"

namespace muffle::privacy {
namespace {

constexpr double kDeltaOfMessages = 1e-5;
constexpr BookWords kWords{.noun = "ledger",
                           .in_use = "The privacy ledger is in use",
                           .turns = "Releases of one data set take turns",
                           .two_names = "two releases could spend the same budget",
                           .half = "what it charges counts as spent",
                           .nothing = "Nothing was charged or drawn."};

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
  return to_hex(bytes);
}

void require_id(const std::string& data_id) {
  if (is_data_id(data_id)) return;
  throw ConfigError(
      fmt::format("'{}' is no name of a data set: use 1 to 128 letters, digits, '.', '_' and '-', beginning "
                  "with a letter or digit.",
                  printable(data_id)));
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
  terms.run = muffle::storable(terms.run);
  terms.config_hash = muffle::storable(terms.config_hash);
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

/// The line that continues a ledger.
template <class Content>
std::string line_after(const LedgerState& state, Content content) {
  return ledger::render({state.lines, state.head, state.data_id, today(), host_name(), std::move(content)});
}

}  // namespace

void LedgerSettings::declare(settings::Keys& keys) {
  keys.stage(settings::Stage::kRuntime);
  keys.text("ledger", file,
            "the data set's ledger of releases; empty: ledger-<data.id>.jsonl beside the run folder");
  keys.optional_number(
      "budget_epsilon", budget_epsilon,
      "the most that all releases of the data set may spend together; needs data.id and privacy.ledger");
  keys.number("budget_delta", budget_delta, {kMinDelta, kMaxDelta}, "the budget's delta");
}

void LedgerSettings::problems(settings::Problems& p) const {
  p.unless(data_id.empty() || is_data_id(data_id),
           "data.id names the data set in files: use 1 to 128 letters, digits, '.', '_' and '-', beginning "
           "with a letter or digit");
  if (!budget_epsilon) return;
  // A budget binds only if every release of the data set is written down in one place.
  p.unless(!data_id.empty() && !file.empty(),
           "privacy.budget_epsilon needs data.id and privacy.ledger: name the data set, and the one file, "
           "beside the data, in which every release of it is written down");
  // A relative path means another ledger, with nothing spent, in every folder that a job is started in.
  p.unless(
      file.empty() || std::filesystem::path(file).is_absolute(),
      "privacy.ledger must be an absolute path where privacy.budget_epsilon is set: from another working "
      "folder a relative one is another ledger, with nothing spent");
  p.unless(*budget_epsilon >= kMinEpsilon && *budget_epsilon <= kMaxEpsilon,
           "privacy.budget_epsilon must be from 0.001 to 100");
}

Ledger Ledger::open(const std::filesystem::path& path, const std::string& data_id,
                    const std::optional<Budget>& budget, std::chrono::milliseconds deadline,
                    const Heartbeat& heartbeat) {
  require_id(data_id);
  const auto file = resolved(path);
  Ledger out(Book(
      file, kWords,
      [&] {
        LedgerState none;
        none.data_id = data_id;
        return line_after(none, ledger::BudgetLine{budget});
      },
      deadline, heartbeat));
  out.state_ = read_ledger(file);
  require_data_set(out.state_, data_id, file);
  if (!out.state_.torn.empty()) out.repair();
  if (budget && !out.state_.budget) out.set_budget(budget);
  require_budget(out.state_, budget, file);
  return out;
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

std::string Ledger::begin(const ChargeTerms& asked) {
  const ChargeTerms terms = storable(asked);
  require_unit(state_, terms.unit);
  const Quote answer = quote(state_, terms.mu, terms.secure_noise, kDeltaOfMessages);
  if (!answer.allowed) {
    throw PrivacyError(fmt::format(
        "The privacy budget refuses: {}. Nothing was charged, drawn or released. The ledger is '{}'.",
        answer.text, file().string()));
  }
  const std::string id = random_id(), line = line_after(state_, ledger::IntentLine{id, terms});
  book_.append(state_.good_bytes, line);
  try {
    believe(line);
  } catch (const Error& e) {
    throw Error(
        e.code(),
        fmt::format("{} The charge {} was written before that: it stays spent, and nothing was drawn.",
                    e.what(), id),
        {}, e.where());
  }
  return id;
}

void Ledger::keep_round(const std::string& id, std::uint64_t round, const std::string& sha256,
                        const std::string& summed) {
  const ChargeRecord* record = state_.find_charge(id);
  require(record != nullptr && !record->pending && record->rounds_drawn == round &&
              record->rounds_kept + 1 == round && is_hex(sha256, 64),
          "a round was to be kept that is not the charge's last one, or twice: this is a bug in muffle.");
  append(line_after(state_, ledger::RoundLine{id, round, sha256, summed}));
}

void Ledger::begin_round(const std::string& id, std::uint64_t round, const std::string& summed) {
  const ChargeRecord* record = state_.find_charge(id);
  require(record != nullptr && record->between_rounds() && record->rounds_kept + 1 == round,
          "a round was to be drawn before the one before it was kept, or twice: this is a bug in muffle.");
  append(line_after(state_, ledger::RoundLine{id, round, std::nullopt, summed}));
}

void Ledger::bind(const std::string& id, const std::string& artifact) {
  const ChargeRecord* record = state_.find_charge(id);
  require(
      record != nullptr && !record->pending && is_hex(artifact, 64),
      "a release was to be bound to a charge that is not in the ledger, or twice: this is a bug in muffle.");
  append(line_after(state_, ledger::ArtifactLine{id, artifact, false}));
}

void Ledger::commit(const std::string& id, const std::string& artifact) {
  const ChargeRecord* record = state_.find_charge(id);
  require(record != nullptr && !record->artifact && record->pending == artifact,
          "a release was to be committed to the ledger that was not charged and bound, or twice: this is a "
          "bug in muffle.");
  append(line_after(state_, ledger::ArtifactLine{id, artifact, true}));
}

void Ledger::note_release(const std::string& id, const std::string& release) {
  const ChargeRecord* record = state_.find_charge(id);
  require(
      record != nullptr && record->artifact && !record->released && is_hex(release, 64),
      "a release was to be noted for a charge that was not committed, or twice: this is a bug in muffle.");
  append(line_after(state_, ledger::ReleasedLine{id, release}));
}

void Ledger::set_budget(const std::optional<Budget>& budget) {
  append(line_after(state_, ledger::BudgetLine{budget}));
}

void Ledger::append(const std::string& line) {
  book_.append(state_.good_bytes, line);
  believe(line);
}

void Ledger::believe(const std::string& line) {
  state_ = read_ledger(file());
  require(state_.torn.empty() && state_.head == to_hex(sha256(PublicBytes(line))),
          "the ledger '" + file().string() + "' does not end with the line that was just written to it.");
  if (!state_.unit || state_.unit->adjacency != Adjacency::kAddRemoveOne) return;
  round_times(file());
  round_times(file().string() + ".lock");
}

void Ledger::repair() {
  const std::string whole = read_file(file(), kMaxBook).substr(0, state_.good_bytes);
  ledger::RepairLine line{state_.torn.size(), to_hex(sha256(PublicBytes(state_.torn))), 0.0, std::nullopt};
  if (const auto torn = ledger::charge_of_fragment(state_.torn)) {
    require_unit(state_, torn->unit);  // muffle writes none that is refused here
    line.mu = torn->mu;
    line.unit = torn->unit;
  }
  book_.rewrite(whole + line_after(state_, line) + "\n");
  state_ = read_ledger(file());
}

bool Ledger::settle(const ChargeTerms& terms, const std::optional<FoundArtifact>& found) {
  if (found) {
    adopt(terms, *found);
    return true;
  }
  const ChargeTerms wanted = storable(terms);
  for (const ChargeRecord& known : state_.charges) {
    if (known.artifact && known.terms.run == wanted.run && known.terms.config_hash == wanted.config_hash) {
      throw ProtocolError(fmt::format(
          "The ledger '{}' says that this release was made and committed (charge {}, {} on {}): '{}' with "
          "SHA-256 {}; but no file is there (SHA-256 none). Its noise is not drawn again: put the file back "
          "from a copy, or choose another --out folder, which is a new charge.",
          file().string(), known.id, known.time, known.host, wanted.run, *known.artifact));
    }
  }
  return false;
}

void Ledger::adopt(const ChargeTerms& terms, const FoundArtifact& found) {
  for (const ChargeRecord& known : state_.charges) {
    if (known.artifact == found.sha256) return;
  }
  const ChargeRecord* known = state_.find_charge(found.charge_id);
  if (known == nullptr) {
    throw ProtocolError(
        fmt::format("'{}' (SHA-256 {}) is a release that the ledger '{}' does not know: {}. It is neither "
                    "used nor signed, and nothing was charged. If another ledger paid for it, name that one "
                    "(privacy.ledger); if this ledger was rolled back, restore it. Else move the file away, "
                    "or choose another --out folder; if it is a true release of these data, its mu {} is "
                    "spent all the same: leave it out of the budget (`muffle ledger budget`).",
                    terms.run, found.sha256, file().string(),
                    found.charge_id.empty() ? "it was made without a ledger" : "its charge is not there",
                    exact_text(terms.mu)));
  }
  if (known->artifact) {
    throw ProtocolError(
        fmt::format("'{}' is not the release that the ledger '{}' committed for charge {}: its SHA-256 is "
                    "{}, the committed one's is {}. Put the committed file back, or move this one away and "
                    "use another --out folder, which is a new charge.",
                    terms.run, file().string(), known->id, found.sha256, *known->artifact));
  }
  if (known->terms.config_hash != terms.config_hash || terms.mu > known->terms.mu) {
    throw ProtocolError(fmt::format(
        "'{}' carries charge {}, but the ledger '{}' has that charge for other settings (configuration {} "
        "instead of {}, mu {} instead of {}). Move the file away; the charge stays spent.",
        terms.run, known->id, file().string(), known->terms.config_hash, terms.config_hash,
        exact_text(known->terms.mu), exact_text(terms.mu)));
  }
  if (known->pending != found.sha256) {
    throw ProtocolError(
        fmt::format("'{}' carries charge {}, but the job that paid for it {}. The file's SHA-256 is {}: it "
                    "was put there by somebody else, and is neither used nor signed. Move it away and find "
                    "out who wrote it; the charge stays spent, and a new release is a new one.",
                    terms.run, known->id,
                    known->pending ? "made a release with SHA-256 " + *known->pending
                                   : "was cut off before it had made a release",
                    found.sha256));
  }
  commit(found.charge_id, found.sha256);
}

}  // namespace muffle::privacy
