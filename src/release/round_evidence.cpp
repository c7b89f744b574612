#include "muffle/release/round_evidence.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>
#include <set>

#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/core/hash.hpp"
#include "muffle/release/later_rounds.hpp"
#include "muffle/release/message_names.hpp"
#include "muffle/release/plan_json.hpp"
#include "muffle/release/round_release.hpp"
#include "muffle/release/verification.hpp"

namespace muffle::release {
namespace {

void require_message(bool holds, const std::string& why) {
  if (!holds) throw ProtocolError(why);
}

class EvidenceCheck {
 public:
  EvidenceCheck(const Artifact& artifact, std::string_view release, const EvidenceReader& read)
      : artifact_(artifact), record_(*artifact.round), bytes_(release), read_(read) {}

  std::vector<Check> run(std::vector<std::string>& signers) && {
    const bool whole =
        attempt("proposal", [&] { return read_proposal(); }) &&
        (round_->first() == round_->id || attempt("earlier rounds", [&] { return add_up_earlier(); })) &&
        attempt("seal", [&] { return read_seal(); }) && attempt("sum", [&] { return add_up(); }) &&
        attempt("coordinator's word", [&] { return check_statement(); });
    if (whole) {
      signers.push_back(record_.coordinator);
      for (const RoundRecord::Site& site : record_.sites) signers.push_back(site.key);
      for (std::size_t h = 0; h < record_.holders.size(); ++h) {
        const auto has_opened = [&](const RoundRecord& r) { return !r.holders.at(h).opening.empty(); };
        if (has_opened(record_) || std::ranges::any_of(artifact_.rounds_before, has_opened))
          signers.push_back(record_.holders[h].key);
      }
    }
    return std::move(checks_);
  }

 private:
  template <class Action>
  bool attempt(const char* name, const Action& action) {
    try {
      checks_.push_back({std::string("round: ") + name, Check::Outcome::kPass, action()});
      return true;
    } catch (const Error& e) {
      checks_.push_back({std::string("round: ") + name, Check::Outcome::kFail, e.what()});
      return false;
    }
  }

  Message message(const std::string& name, std::uint64_t numbers) const {
    const std::optional<std::string> bytes = read_(name, most_bytes(name, numbers));
    require_message(bytes.has_value(), fmt::format("'{}' is not among the messages", name));
    return parse_message(*bytes, name);
  }

  std::string read_proposal() {
    crypto::RoundId id{};
    require_message(crypto::from_hex(record_.id, id), "the release names no round");
    const std::string name = proposal_name(id);
    round_ = std::make_unique<ProposedRound>(message(name, 0), name);
    const ProposedRound& round = *round_;
    require_message(to_hex(round.id) == record_.id,
                    fmt::format("'{}' is the proposal of another round", name));
    require_message(to_hex(round.coordinator) == record_.coordinator && round.proposal.title == record_.title,
                    "the release names another coordinator or title than the proposal");
    ReleasePlan proposed = round.proposal.plan;
    proposed.records = artifact_.records;  // under replace-one they are counted, and were bounded
    require_message(plan_text(proposed) == plan_text(artifact_),
                    "the release was made by another plan than was proposed");
    const privacy::Apart* apart = privacy::apart(artifact_.aggregation);
    require_message(apart != nullptr && apart->parties == round.proposal.parties,
                    "the release states other parties than were proposed");
    return fmt::format(
        "signed by the coordinator; its plan and its parties are the release's: {} sites invited, "
        "{} expected, {} the least, {} may collude; {} key holders, of whom {} may collude and {} be missing",
        apart->parties.sites, apart->parties.expected, apart->parties.least, apart->parties.colluding,
        apart->parties.holders, apart->parties.colluding_holders, apart->parties.missing_holders);
  }

  std::string read_seal() {
    const std::string name = seal_name(round_->id);
    seal_ = std::make_unique<SealedRound>(*round_, message(name, 0).header);
    require_message(to_hex(seal_->id) == record_.seal, "the release is of another seal");
    require_full_noise(*round_, *seal_);
    return fmt::format(
        "signed by the coordinator; {} contributions count; the noise of the honest among them and "
        "among the key holders is the full one (theorem 3)",
        seal_->sites.size());
  }

  /// Theorem 3 once more, in plain arithmetic.
  static void require_full_noise(const ProposedRound& round, const SealedRound& seal) {
    const auto sealed = static_cast<int>(seal.sites.size());
    const privacy::RoundParties& p = round.proposal.parties;
    const std::vector<privacy::NoisePart> top_ups = round.noise.top_ups(sealed);
    for (std::size_t i = 0; i < top_ups.size(); ++i) {
      for (std::size_t r = 0; r < top_ups[i].runs.size(); ++r) {
        const auto planned =
            static_cast<long double>(round.summed.noise.parts.at(i).runs.at(r).sigma_lattice);
        const auto share = static_cast<long double>(round.noise.shares().at(i).runs.at(r).sigma_lattice);
        const auto top_up = static_cast<long double>(top_ups[i].runs[r].sigma_lattice);
        const long double held = (sealed - p.colluding) * share * share +
                                 (p.holders - p.missing_holders - p.colluding_holders) * top_up * top_up;
        require_message(held >= planned * planned * (1 - 1e-15L),
                        "the noise of the honest is less than was promised");
      }
    }
  }

  /// Adds a round up from its contributions and from what its end names: what came later does not count.
  Summation added_up(const ProposedRound& round, const SealedRound& seal,
                     const std::vector<OpenedBy>& named) const {
    Summation sum(round, seal);
    for (const std::size_t site : seal.sites)
      sum.add_contribution(
          message(contribution_name(round.id, round.proposal.sites[site].key), round.length));
    std::set<Sha256Digest> stand_ins;
    for (const OpenedBy& by : named) stand_ins.insert(by.stand_ins.begin(), by.stand_ins.end());
    std::optional<AskedRound> request;
    if (!stand_ins.empty()) request.emplace(round, seal, message(stand_in_request_name(round.id), 0).header);
    for (std::size_t h = 0; h < named.size(); ++h) {
      const crypto::SitePublicKey& key = round.proposal.holders.at(h).holder.key;
      if (named[h].opening) {
        const std::string name = opening_name(round.id, key);
        const Message opening = message(name, round.length);
        require_message(opening.header.sender == key, fmt::format("'{}' is not its holder's", name));
        sum.take_opening(opening);
      }
      if (!request) continue;
      const std::string name = stand_in_name(round.id, key);
      const std::optional<std::string> bytes = read_(name, most_bytes(name, 0));
      if (!bytes) continue;
      const SignedHeader header = parse_message(*bytes, name).header;
      if (!stand_ins.contains(header.id())) continue;
      require_message(header.sender == key, fmt::format("'{}' is not its holder's", name));
      sum.take_stand_in(*request, header);
    }
    return sum;
  }

  /// The rounds before the last, from their contributions and openings to the sums that were signed.
  std::string add_up_earlier() {
    earlier_ = earlier_rounds(*round_, read_);
    int missing = 0;
    for (const EndedRound& ended : earlier_) {
      require_full_noise(ended.round, ended.seal);
      Summation sum = added_up(ended.round, ended.seal, ended.sum.opened);
      const std::vector<OpenedBy> opened = sum.opened();
      const privacy::NoisySum again = std::move(sum).finish();
      require_message(opened == ended.sum.opened,
                      fmt::format("the sum of round {} names other openings or stand-ins than there are",
                                  ended.round.proposal.number()));
      require_message(again.values == ended.values && again.is_private == ended.sum.secure_noise,
                      fmt::format("the sum of round {} is not what contributions and openings add up to",
                                  ended.round.proposal.number()));
      missing += missing_in(opened);
    }
    return fmt::format(
        "of the {} before the last, contributions and openings add up to the sums that the coordinator "
        "has signed{}; all count the same sites under the same charges",
        earlier_.size(), keys_of_missing(missing));
  }

  /// @param missing  how many were
  static std::string keys_of_missing(int missing) {
    if (missing == 0) return "";
    return fmt::format(
        "; of {} key holders who were missing others gave the keys that the sites had committed to", missing);
  }

  std::string add_up() {
    Summation sum = added_up(*round_, *seal_, opened_in(record_));
    const std::string objections =
        sum.objections().empty()
            ? ""
            : fmt::format(
                  "; key holders object to the contributions of {}, and the sum shows that they were "
                  "wrong{}: with other keys it would be uniform",
                  fmt::join(sum.objections(), ", "),
                  round_->shares_keys() ? ", or of shares that stand-ins would have needed" : "");
    const std::vector<OpenedBy> opened = sum.opened();
    const Artifact again = artifact_of_round(*round_, *seal_, earlier_, opened, std::move(sum).finish(),
                                             artifact_.muffle_version);
    require_message(again.round == artifact_.round && again.rounds_before == artifact_.rounds_before,
                    "the release names other messages, keys or charges than there are");
    require_message(again.values == artifact_.values,
                    "the numbers of the release are not what contributions and openings add up to");
    require_message(artifact_bytes(again) == bytes_,
                    "the release states something else than its messages do");
    return "contributions and openings, each signed, add up to the release, bit for bit" +
           keys_of_missing(missing_in(opened)) + objections;
  }

  std::string check_statement() {
    const std::string name = release_statement_name(round_->id);
    check_release_statement(*round_, seal_->id, message(name, 0).header, bytes_);
    return "the coordinator has signed that this file is the round's release";
  }

  const Artifact& artifact_;
  const RoundRecord& record_;
  std::string_view bytes_;
  const EvidenceReader& read_;
  std::unique_ptr<ProposedRound> round_;
  std::unique_ptr<SealedRound> seal_;
  std::vector<EndedRound> earlier_;
  std::vector<Check> checks_;
};

}  // namespace

EvidenceReader evidence_in(const std::string& folder) {
  if (!std::filesystem::is_directory(folder))
    throw IoError(
        fmt::format("there is no folder '{}' with a round's messages: name it with --evidence.", folder));
  return [folder](const std::string& name, std::uint64_t most) -> std::optional<std::string> {
    const std::filesystem::path file = std::filesystem::path(folder) / name;
    if (!is_there(file, "the message", "Nothing was verified.")) return std::nullopt;
    return read_file(file, most);
  };
}

std::vector<Check> check_evidence(const Artifact& artifact, std::string_view release,
                                  const EvidenceReader& read, std::vector<std::string>& signers) {
  return EvidenceCheck(artifact, release, read).run(signers);
}

}  // namespace muffle::release
