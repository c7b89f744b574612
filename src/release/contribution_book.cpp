#include "muffle/release/contribution_book.hpp"

#include <fmt/format.h>

#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/core/hash.hpp"
#include "muffle/crypto/secret_file.hpp"
#include "muffle/release/plan_json.hpp"

namespace muffle::release {
namespace {

constexpr char kDraft[] = "the contribution's draft";

std::string hash_of(std::string_view message) { return to_hex(sha256(PublicBytes(message))); }

}  // namespace

std::string charged_as(const crypto::RoundId& round) { return "round " + to_hex(round); }

std::optional<std::string> bound_contribution(const ProposedRound& round,
                                              const privacy::ChargeRecord& charge) {
  if (round.last()) return charge.pending;
  const std::size_t number = round.proposal.number();
  return number <= charge.kept.size() ? std::optional(charge.kept[number - 1]) : std::nullopt;
}

privacy::ChargeTerms contribution_terms(const ProposedRound& round, bool secure_noise) {
  const privacy::NoisePlan& noise = round.proposal.plan.noise;
  privacy::NoisePlan alone = noise;
  alone.parts = privacy::SiteNoisePlan(noise, round.proposal.parties).shares();  // of all rounds
  return {charged_as(round.first()),
          plan_hash(round.proposal.plan),
          privacy::mu_of(noise),
          noise.sensitivity.value,
          noise.sigma,
          secure_noise,
          privacy::unit_of(noise),
          privacy::mu_of(alone)};
}

ContributionBook::ContributionBook(const ProposedRound& round, const crypto::SitePublicKey& site,
                                   const ChargeBook& book, std::filesystem::path file,
                                   std::filesystem::path draft, const Heartbeat& heartbeat)
    : round_(round),
      site_(site),
      file_(std::move(file)),
      draft_(std::move(draft)),
      document_(book, heartbeat) {}

bool ContributionBook::is_own(const std::string& bytes) const {
  try {
    const Message message = parse_message(bytes, "a contribution");
    return message.header.sender == site_ && message.header.round == round_.id &&
           message.header.kind == MessageKind::kContribution;
  } catch (const ProtocolError&) {
    return false;
  }
}

const privacy::ChargeRecord* ContributionBook::charged() const {
  const auto charges = document_.state().charges_for(charged_as(round_.first()));
  return charges.empty() ? nullptr : charges.back();
}

bool ContributionBook::may_begin(const privacy::ChargeRecord& charge) const {
  return charge.between_rounds() && charge.rounds_kept + 1 == round_.proposal.number();
}

ContributionBook::Standing ContributionBook::settle(const std::optional<std::string>& in_exchange) {
  const std::string round = to_hex(round_.id);
  if (in_exchange && !is_own(*in_exchange))
    throw ProtocolError(
        fmt::format("what lies in the exchange under the name of this site's contribution to round {} is not "
                    "signed by it: somebody else put it there, or it is damaged. Remove it, and find out "
                    "who. Nothing was charged or drawn.",
                    round));
  std::optional<std::string> kept;
  if (is_there(file_, "the contribution", "Nothing was charged or drawn.")) kept = read_file(file_);
  const privacy::ChargeRecord* const charge = charged();
  for (const std::optional<std::string>& found : {kept, in_exchange}) {
    if (!found || (charge != nullptr && bound_contribution(round_, *charge) == hash_of(*found))) continue;
    throw ProtocolError(fmt::format(
        "there is a contribution of this site to round {} that its ledger {}. Either the ledger, or the "
        "site's folder, was restored from an older copy, or somebody else acts with the site's key. This "
        "site does nothing more in the round. Restore the newest ledger; nothing was charged or drawn.",
        round, charge == nullptr ? "does not know" : "has not made for its charge " + charge->id));
  }
  if (charge == nullptr) return standing_ = Standing::kNew;
  if (may_begin(*charge)) return standing_ = Standing::kNew;
  charge_ = charge->id;
  if (!kept && !in_exchange && is_there(draft_, kDraft, "Nothing was drawn.")) {
    std::string draft = read_file(draft_);
    if (bound_contribution(round_, *charge) == hash_of(draft)) kept = draft;
    if (kept) write_file_atomically(file_, *kept);
  }
  crypto::erase_secret_file(draft_, kDraft);
  if (!kept && !in_exchange) return standing_ = Standing::kSpent;
  bytes_ = kept ? *kept : *in_exchange;
  if (!kept) write_file_atomically(file_, bytes_);
  if (round_.last()) document_.settle(charge->terms, privacy::FoundArtifact{charge->id, hash_of(bytes_)});
  return standing_ = Standing::kMade;
}

void ContributionBook::make(bool secure_noise,
                            const std::function<std::string(const Charge& charge)>& contribution) {
  require(standing_ == Standing::kNew && charge_.empty(),
          "a contribution was to be made twice: this is a bug in muffle.");
  const privacy::ChargeTerms terms = contribution_terms(round_, secure_noise);
  const auto draw = [&](const Charge& charge) {
    charge_ = document_.charge();
    bytes_ = contribution(charge);
    crypto::replace_secret_file(draft_, bytes_, kDraft);
  };
  const std::uint64_t number = round_.proposal.number();
  if (number == 1) {
    document_.begin(terms, draw);
  } else {
    const privacy::ChargeRecord* const first = charged();
    if (first == nullptr)
      throw ProtocolError(fmt::format(
          "this site's ledger has no charge for the first round of this release, {}, and a later one goes on "
          "under it. Restore the newest ledger; nothing was drawn.",
          to_hex(round_.first())));
    const privacy::ChargeRecord& charge = *first;
    if (terms.mu > charge.terms.mu || terms.alone_mu > charge.terms.alone_mu ||
        terms.unit != charge.terms.unit || terms.secure_noise != charge.terms.secure_noise)
      throw ProtocolError(fmt::format(
          "round {} of this release would cost more than charge {} was for, or has another kind of "
          "noise: it is not what the first proposal said. Nothing was drawn.",
          number, charge.id));
    document_.resume(charge);
    document_.begin_round(number, "", draw);
  }
  if (round_.last()) {
    document_.write(file_, bytes_);
    document_.commit();
  } else {
    document_.keep_round(number, hash_of(bytes_), "");
    write_file_atomically(file_, bytes_);
  }
  crypto::erase_secret_file(draft_, kDraft);
  standing_ = Standing::kMade;
}

void ContributionBook::give_up() {
  require(standing_ == Standing::kMade, "nothing was made that could be given up: this is a bug in muffle.");
  crypto::erase_secret_file(file_, "the contribution");
  crypto::erase_secret_file(draft_, kDraft);
}

void ContributionBook::note_release(std::string_view release) {
  const privacy::ChargeRecord* const charge = charged();
  if (standing_ == Standing::kMade && charge != nullptr && charge->artifact && !charge->released)
    document_.note_release(charge->id, hash_of(release));
}

}  // namespace muffle::release
