#include "muffle/release/verification.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "artifact_header.hpp"
#include "muffle/core/container.hpp"
#include "muffle/core/text.hpp"
#include "muffle/privacy/accountant.hpp"
#include "muffle/release/message_names.hpp"
#include "muffle/release/rounds.hpp"
#include "recompute.hpp"

namespace muffle::release {
namespace {

constexpr long double kTolerance = 1e-9L;  // the accountant's promise
constexpr char kSecureNoise[] = "secure noise", kBudget[] = "budget", kLedger[] = "ledger",
               kRound[] = "round", kParts[] = "parts";

/// Whether the holder of the demanded key has a signed message in the release.
bool took_part(const Verification& v) {
  return v.trusted && std::ranges::find(v.parties, to_hex(v.trusted->key)) != v.parties.end();
}

bool near(long double a, long double b) { return std::fabs(a / b - 1) <= kTolerance; }

class Verifier {
 public:
  explicit Verifier(const Evidence& evidence) : evidence_(evidence) {
    out_.name = printable(evidence.name);
    out_.trusted = evidence.trusted;
    out_.may_be_unsigned = evidence_.may_be_unsigned;
    out_.ledger_named = evidence.ledger && evidence.ledger->named;
  }

  Verification run() && {
    attempt("file", [&] {
      container_ = parse_container(evidence_.release, "muffle-release", kArtifactVersion, evidence_.name);
      return "container version 1, lengths and SHA-256 agree";
    });
    check_signature_file();
    if (container_) {
      attempt("fields", [&] {
        out_.artifact = from_header(container_->header, evidence_.name);
        return "every field is there, of its type and in its range";
      });
    }
    if (out_.artifact) check_guarantee(*out_.artifact);
    if (out_.artifact) check_rest();
    check_parts();
    check_round();
    check_ledger();
    if (out_.artifact) make_printable(*out_.artifact);
    return std::move(out_);
  }

 private:
  void add(std::string name, Check::Outcome outcome, const std::string& detail) {
    out_.checks.push_back({std::move(name), outcome, printable(detail)});
  }
  void judge(std::string name, bool good, const std::string& detail) {
    add(std::move(name), good ? Check::Outcome::kPass : Check::Outcome::kFail, detail);
  }
  /// Passes, with the detail that `action` returns, unless it throws. @returns whether it passed.
  template <class Action>
  bool attempt(const char* name, const Action& action) {
    try {
      judge(name, true, action());
    } catch (const Error& e) {
      judge(name, false, e.what());
    }
    return out_.checks.back().outcome == Check::Outcome::kPass;
  }

  void check_signature_file() {
    constexpr char kName[] = "signature";
    const std::string file = crypto::signature_file(evidence_.name).string();
    if (!evidence_.signature && evidence_.messages)
      return add(kName, Check::Outcome::kSkipped, "none of its own: the messages of its round are signed");
    if (!evidence_.signature && !evidence_.trusted) return add(kName, Check::Outcome::kSkipped, "not signed");
    if (!evidence_.signature)
      return judge(
          kName, false,
          fmt::format("a signature of '{}' is demanded, and '{}' is missing", evidence_.trusted->name, file));
    attempt(kName, [&] {
      const crypto::ReleaseSignature signature = crypto::parse_signature(*evidence_.signature, file);
      crypto::check_signature(signature, evidence_.release, evidence_.name);
      if (evidence_.trusted && signature.key != evidence_.trusted->key) {
        throw ProtocolError(fmt::format(
            "it is signed by '{}' with public key {}, not with the demanded key {} of '{}'", signature.signer,
            crypto::to_hex(signature.key), crypto::to_hex(evidence_.trusted->key), evidence_.trusted->name));
      }
      out_.signature = signature;
      return fmt::format("by '{}', public key {}{}", signature.signer, crypto::to_hex(signature.key),
                         evidence_.trusted ? ", the demanded one"
                                           : "; whose key that is, only --key can tell: anybody can sign");
    });
  }

  /// The arithmetic from (epsilon, delta) and the maps' bounds to sigma, and back.
  void check_guarantee(const Artifact& a) {
    const privacy::NoisePlan& noise = a.noise;
    // Written so that NaN fails.
    const bool known = noise.epsilon >= privacy::kMinEpsilon && noise.epsilon <= privacy::kMaxEpsilon &&
                       noise.delta >= privacy::kMinDelta && noise.delta <= privacy::kMaxDelta;
    judge("domain", known,
          fmt::format("epsilon {} and delta {}", exact_text(noise.epsilon), exact_text(noise.delta)));
    if (!known) return;

    check_maps(a);
    const long double sensitivity = plain_sensitivity(noise.sensitivity_input);
    judge("sensitivity", near(noise.sensitivity.value, sensitivity),
          fmt::format("stated {}, recombined from the maps' bounds {:.12g}",
                      exact_text(noise.sensitivity.value), sensitivity));
    const long double multiplier = plain_multiplier(noise.epsilon, noise.delta);
    judge("noise multiplier", near(noise.noise_multiplier, multiplier),
          fmt::format("stated {}, by calibration to epsilon and delta {:.12g}",
                      exact_text(noise.noise_multiplier), multiplier));
    const long double calibrated = multiplier * sensitivity;
    const long double multiplied = static_cast<long double>(noise.noise_multiplier) * sensitivity;
    const auto drawn = drawn_sigmas(a);
    long double least = 0;
    bool enough = !drawn.empty();
    std::string shown;
    for (const Drawn& d : drawn) {
      // A rounding error of long double is no lie.
      enough = enough && d.sigma >= noise.sigma * (1 - 1e-15L) &&
               d.sigma <= (noise.sigma + 1 / d.unit) * (1 + kTolerance);
      least = least > 0 ? std::min(least, d.sigma) : d.sigma;
      shown += fmt::format("{}{:.12g} ({} lattice units)", shown.empty() ? "" : ", ", d.sigma, d.lattice);
    }
    judge("sigma", near(noise.sigma, calibrated) && near(noise.sigma, multiplied) && enough,
          fmt::format("stated {}, by calibration {:.12g}, as stated multiplier x recombined sensitivity "
                      "{:.12g}, drawn {}",
                      exact_text(noise.sigma), calibrated, multiplied, shown));
    const long double delta = least > 0 ? plain_delta(noise.epsilon, sensitivity / least) : 1.0L;
    judge("delta", delta <= noise.delta * (1 + kTolerance),
          fmt::format("stated {}, from the least sigma drawn, at epsilon {}, {:.12g}",
                      exact_text(noise.delta), exact_text(noise.epsilon), delta));
  }

  /// Every map's bound and the units of its numbers, from its description and weight alone.
  void check_maps(const Artifact& a) {
    bool good = a.noise.parts.size() == a.maps.size() + (a.counts ? 1 : 0);
    std::string shown;
    for (std::size_t b = 0; good && b < a.maps.size(); ++b) {
      const features::BlockBound& bound = a.noise.sensitivity_input.blocks[b];
      const features::PlainFacts facts = a.maps[b].plain_facts(a.lattice);
      good = near(bound.norm, facts.norm) && bound.nonnegative_kernel == facts.nonnegative_kernel;
      const std::vector<privacy::NoiseRun>& stated = a.noise.parts[b].runs;
      good = good && facts.runs.size() == stated.size();
      for (std::size_t r = 0; good && r < facts.runs.size(); ++r)
        good = static_cast<long double>(stated[r].count) == facts.runs[r].count &&
               near(stated[r].unit, facts.runs[r].unit);
      shown += fmt::format("{}{} ({}{}) with a {} kernel and norm at most {}", shown.empty() ? "" : ", ",
                           a.maps[b].name, a.maps[b].map->kind(),
                           a.maps[b].round > 1 ? fmt::format(", round {}", a.maps[b].round) : "",
                           bound.nonnegative_kernel ? "non-negative" : "signed", exact_text(bound.norm));
    }
    judge("maps", good,
          good ? shown
               : "a map's bound, or the units of its numbers, are not those of its description and weight");
  }

  struct Drawn {
    long double sigma = 0, unit = 0;
    std::uint64_t lattice = 0;
  };
  /// What was drawn for each run, in units of the features as the maps have them.
  static std::vector<Drawn> drawn_sigmas(const Artifact& a) {
    std::vector<Drawn> out;
    for (std::size_t p = 0; p < a.noise.parts.size(); ++p) {
      std::vector<features::PlainFacts::Run> units{{0, std::ldexp(1.0L, a.lattice.bits)}};
      if (p < a.maps.size()) units = a.maps[p].plain_facts(a.lattice).runs;
      const std::vector<privacy::NoiseRun>& runs = a.noise.parts[p].runs;
      if (runs.size() != units.size()) return {};  // found by check_maps
      for (std::size_t r = 0; r < runs.size(); ++r)
        out.push_back({static_cast<long double>(runs[r].sigma_lattice) / units[r].unit, units[r].unit,
                       runs[r].sigma_lattice});
    }
    return out;
  }

  void check_rest() {
    // What every other reader of the release demands, in its own words.
    const bool whole = attempt("consistency", [&] {
      out_.artifact = parse_artifact(evidence_.release, evidence_.name);
      return "shapes, values and guarantee contradict nowhere";
    });
    const Artifact& stated = *out_.artifact;
    double numbers = 0.0;
    for (const features::NamedMap& map : stated.maps) numbers += whole ? map.map->numbers_in_map() : 0.0;
    if (!whole || numbers > static_cast<double>(evidence_.most_frequencies)) {
      add(kFeatureMaps, Check::Outcome::kSkipped,
          whole ? fmt::format("not rebuilt: {:.3g} numbers", numbers) : "not rebuilt");
    } else {
      attempt(kFeatureMaps, [&] {
        for (std::size_t b = 0; b < stated.maps.size(); ++b) check_map(stated, b);
        return "rebuilt from their description, they have the stated SHA-256. The description itself "
               "(bounds, bins, categories, settings) is public by its owner's word";
      });
    }
    if (whole) check_rounds(stated);
    judge(kSecureNoise, stated.is_private,
          stated.is_private ? "from the operating system's generator, as the file states"
                            : not_private(stated));
  }

  void check_rounds(const Artifact& stated) {
    std::optional<Check> check;
    if (evidence_.repeat_choices) {
      check = evidence_.repeat_choices(stated);
    } else if (stated.rounds() > 1) {
      check = {kRounds, Check::Outcome::kSkipped, "not recomputed"};
    }
    if (check) add(check->name, check->outcome, check->detail);
  }

  /// Of a release that was combined: adds it up again, and judges each of those that it is made of.
  void check_parts() {
    const bool several = out_.artifact && !out_.artifact->parts.empty();
    if (!several) {
      if (!evidence_.parts.empty())
        judge(kParts, false, "releases were given that it was combined from, and it is of one");
      return;
    }
    if (evidence_.parts.empty())
      return add(kParts, Check::Outcome::kSkipped,
                 "not added up again: --part names each release that it was combined from");
    const Artifact& a = *out_.artifact;
    attempt(kParts, [&] {
      const Artifact again =
          combine(evidence_.parts, privacy::combined(a.aggregation)->same_people, a.muffle_version);
      if (artifact_bytes(again) != evidence_.release)
        throw ProtocolError("it is not what these releases add up to, or states something else than they do");
      return fmt::format("the {} releases that were given add up to it, bit for bit", evidence_.parts.size());
    });
    for (const CombinedFrom& from : evidence_.parts) {
      Evidence of_part;
      of_part.name = from.name;
      of_part.release = from.release;
      of_part.signature = from.signature;
      of_part.may_be_unsigned = true;
      of_part.most_frequencies = evidence_.most_frequencies;
      of_part.repeat_choices = evidence_.repeat_choices;
      const std::string id = round_of(from);
      if (evidence_.messages && !id.empty()) of_part.messages = evidence_.messages;
      const Verification part = verify_release(of_part);
      std::string said = "consistent in itself";
      if (of_part.messages) said += "; added up again from its round's messages";
      for (const Check& check : part.checks) {
        if (check.outcome == Check::Outcome::kFail) said = check.name + ": " + check.detail;
      }
      judge("part", part.code() != ExitCode::kProtocol, fmt::format("'{}': {}", from.name, said));
    }
  }

  /// Empty: it is of none, or cannot be read.
  static std::string round_of(const CombinedFrom& from) {
    try {
      const Artifact a = parse_artifact(from.release, from.name);
      return a.round ? a.round->id : "";
    } catch (const ProtocolError&) {
      return "";
    }
  }

  /// Of a release that institutions made together.
  void check_round() {
    if (!out_.artifact || !out_.artifact->round) {
      if (evidence_.messages && (!out_.artifact || out_.artifact->parts.empty()))
        judge(kRound, false, "messages of a round were given, and the release is of none");
      return;
    }
    if (!evidence_.messages)
      return add(kRound, Check::Outcome::kSkipped,
                 "not added up again: --evidence names the folder with the messages of its round");
    std::vector<Check> found =
        check_evidence(*out_.artifact, evidence_.release, evidence_.messages, out_.parties);
    for (Check& check : found) add(std::move(check.name), check.outcome, check.detail);
    if (!evidence_.trusted || out_.parties.empty()) return;
    judge("round: party", took_part(out_),
          fmt::format("'{}', public key {}, {} in the round", evidence_.trusted->name,
                      to_hex(evidence_.trusted->key), took_part(out_) ? "took part" : "had no part"));
  }

  void check_ledger() {
    if (out_.artifact && out_.artifact->round && evidence_.ledger) return check_site_ledger();
    if (!evidence_.ledger) {
      add(kLedger, Check::Outcome::kSkipped, "no ledger was given, and none lies beside the release");
      return;
    }
    const std::string& file = evidence_.ledger->name;
    const auto demand = [&](bool holds, const std::string& why) {
      if (!holds) throw ProtocolError(fmt::format("the ledger '{}' {}", file, why));
    };
    const bool good = attempt(kLedger, [&] {
      out_.ledger = privacy::parse_ledger(evidence_.ledger->text, file);
      const privacy::LedgerState& state = *out_.ledger;
      demand(out_.artifact.has_value(), "cannot be compared with a release that cannot be read");
      const Artifact& a = *out_.artifact;
      demand(!a.ledger_charge.empty(), "is there, but the release was made without a ledger");
      demand(state.data_id == a.data_id,
             fmt::format("is of data set '{}', the release of '{}'", state.data_id, a.data_id));
      const privacy::ChargeRecord* charge = state.find_charge(a.ledger_charge);
      demand(charge != nullptr,
             fmt::format("has no charge {}: it was rolled back, or is another, or the charge is made up",
                         a.ledger_charge));
      demand(charge->artifact.has_value(),
             fmt::format("has no COMMIT for charge {}: the job that paid for it was cut off, and only that "
                         "job, run again, can tell whether this is its release",
                         a.ledger_charge));
      const std::string hash = to_hex(sha256(PublicBytes(evidence_.release)));
      demand(*charge->artifact == hash,
             fmt::format("committed charge {} for a file with SHA-256 {}, and this one has {}",
                         a.ledger_charge, *charge->artifact, hash));
      const double mu = privacy::mu_of(a.noise);
      demand(charge->terms.mu == mu,
             fmt::format("charged mu {}, but the release states sensitivity and sigma of mu {}",
                         exact_text(charge->terms.mu), exact_text(mu)));
      const privacy::PrivacyUnit unit{a.adjacency, a.max_records_per_person};
      demand(charge->terms.unit == unit, fmt::format("charged for {}, but the release states {}",
                                                     in_words(charge->terms.unit), in_words(unit)));
      demand(charge->terms.config_hash == a.config_hash && charge->terms.secure_noise == a.is_private,
             "charged a release of other settings or another source of noise");
      demand(charge->rounds_drawn == a.rounds(),
             fmt::format("charged {} rounds, but the release states {}", charge->rounds_drawn, a.rounds()));
      require_one_way(*charge, a, demand);
      return fmt::format("'{}' has the charge and its COMMIT with this file's hash", file);
    });
    if (!good) return;
    const privacy::LedgerState& state = *out_.ledger;
    if (!state.budget) {
      add(kBudget, Check::Outcome::kSkipped, "the ledger has no budget");
    } else {
      judge(kBudget, state.spent_mu() <= state.budget->mu && state.insecure == 0,
            fmt::format("{} releases spent mu {:.6g} of {:.6g}{}", state.charges.size(), state.spent_mu(),
                        state.budget->mu,
                        state.insecure > 0 ? ", some with seeded noise: no guarantee is left" : ""));
    }
  }

  /// A site's own ledger: that it was charged for its contribution to this round.
  void check_site_ledger() {
    const std::string& file = evidence_.ledger->name;
    attempt(kLedger, [&] {
      out_.ledger = privacy::parse_ledger(evidence_.ledger->text, file);
      const Artifact& a = *out_.artifact;
      const privacy::ChargeRecord* charge = nullptr;
      const RoundRecord::Site* whose = nullptr;
      for (const RoundRecord::Site& site : a.round->sites) {
        if (const privacy::ChargeRecord* found = out_.ledger->find_charge(site.charge))
          charge = found, whose = &site;
      }
      if (charge == nullptr || charge->terms.run != "round " + first_round(a) || !charge->artifact)
        throw ProtocolError(
            fmt::format("the ledger '{}' has no charge for a contribution to this round that counts", file));
      if (out_.ledger->data_id != whose->data_id)
        throw ProtocolError(
            fmt::format("the ledger '{}' is of data set '{}', and the contribution of '{}' was of '{}'", file,
                        out_.ledger->data_id, whose->name, whose->data_id));
      if (charge->terms.mu != privacy::mu_of(a.noise) ||
          charge->terms.unit != privacy::PrivacyUnit{a.adjacency, a.max_records_per_person})
        throw ProtocolError(fmt::format(
            "the ledger '{}' charged another mu, or for other people, than the release states", file));
      if (charge->released && *charge->released != to_hex(sha256(PublicBytes(evidence_.release))))
        throw ProtocolError(fmt::format("the ledger '{}' has seen another release of this round", file));
      return fmt::format("'{}' has the charge of '{}' for its contribution of data set '{}'{}", file,
                         whose->name, whose->data_id, compare_contribution(*charge, *whose));
    });
  }

  /// Under which its sites are charged.
  static const std::string& first_round(const Artifact& a) {
    return a.rounds_before.empty() ? a.round->id : a.rounds_before.front().id;
  }

  /// The very bytes that the charge is bound to, round by round, are those that count. @returns what is to be
  /// said of it
  std::string compare_contribution(const privacy::ChargeRecord& charge,
                                   const RoundRecord::Site& whose) const {
    const Artifact& a = *out_.artifact;
    if (charge.rounds_drawn != a.rounds() || charge.kept.size() + 1 != a.rounds())
      throw ProtocolError(fmt::format("the ledger '{}' charged {} rounds, but the release has {}",
                                      evidence_.ledger->name, charge.rounds_drawn, a.rounds()));
    if (!evidence_.messages) return "; whether it is bound to the one that counts, --evidence tells";
    for (std::size_t r = 0; r < a.rounds(); ++r) {
      const bool last = r + 1 == a.rounds();
      compare_contribution(last ? *a.round : a.rounds_before.at(r), whose,
                           last ? *charge.artifact : charge.kept[r]);
    }
    return ", which is the one that counts";
  }

  void compare_contribution(const RoundRecord& round, const RoundRecord::Site& whose,
                            const std::string& bound) const {
    crypto::RoundId id{};
    crypto::SitePublicKey key{};
    if (!crypto::from_hex(round.id, id) || !crypto::from_hex(whose.key, key)) return;
    const std::string name = contribution_name(id, key);
    const auto bytes = evidence_.messages(name, most_bytes(out_.artifact->values.size()));
    if (!bytes) throw ProtocolError(fmt::format("'{}' is not among the messages", name));
    if (to_hex(sha256(PublicBytes(*bytes))) != bound)
      throw ProtocolError(
          fmt::format("the ledger '{}' charged for another contribution than '{}', which counts: either the "
                      "site's folder was restored from an older copy, or somebody else acts with its key",
                      evidence_.ledger->name, name));
  }

  /// What the release states of its sums is so of every round.
  template <class Demand>
  static void require_one_way(const privacy::ChargeRecord& charge, const Artifact& a, const Demand& demand) {
    if (std::all_of(charge.summed.begin(), charge.summed.end(), [](const auto& way) { return way.empty(); }))
      return;  // none of one round; nor of one that an earlier muffle made
    const std::string stated = summed_by(a.aggregation, "");
    for (const std::string& way : charge.summed) {
      const bool fits =
          way == stated || (privacy::sites_of(a.aggregation) && way.starts_with(stated + ", roster "));
      demand(
          fits && way == charge.summed.front(),
          fmt::format("says that the sums of a round came together otherwise ({}) than the release states "
                      "for all of them ({})",
                      way == charge.summed.front() ? way : charge.summed.front() + "; then " + way, stated));
    }
  }

  /// The card is printed: no text of the file may draw lines of its own there.
  static void make_printable(Artifact& a) {
    for (std::string* text :
         {&a.config_hash, &a.muffle_version, &a.data_id, &a.ledger_charge, &a.noise.sensitivity.derivation})
      *text = printable(*text);
    for (features::NamedMap& map : a.maps) map.name = printable(map.name);
    for (std::string& hash : a.map_hashes) hash = printable(hash);
    for (features::BlockBound& block : a.noise.sensitivity_input.blocks)
      block.theorem = printable(block.theorem);
  }

  const Evidence& evidence_;
  std::optional<Container> container_;
  Verification out_;
};

}  // namespace

bool Verification::vouched() const {
  return (trusted && signature) || took_part(*this) ||
         (ledger_named && std::any_of(checks.begin(), checks.end(), [](const Check& check) {
            return check.name == kLedger && check.outcome == Check::Outcome::kPass;
          }));
}

bool Verification::repeated() const {
  return std::none_of(checks.begin(), checks.end(), [](const Check& check) {
    return check.name == kRounds && check.outcome == Check::Outcome::kSkipped;
  });
}

ExitCode Verification::code() const {
  ExitCode code = ExitCode::kDone;
  for (const Check& check : checks) {
    if (check.outcome != Check::Outcome::kFail) continue;
    if (check.name != kSecureNoise && check.name != kBudget) return ExitCode::kProtocol;
    code = ExitCode::kBudget;
  }
  const bool good = repeated() && (vouched() || may_be_unsigned);
  return code == ExitCode::kDone && !good ? ExitCode::kUnvouched : code;
}

Verification verify_release(const Evidence& evidence) { return Verifier(evidence).run(); }

}  // namespace muffle::release
