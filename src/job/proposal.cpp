#include "muffle/job/proposal.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "muffle/core/error.hpp"
#include "muffle/core/hash.hpp"
#include "muffle/core/json_fields.hpp"
#include "muffle/core/json_text.hpp"
#include "muffle/core/text.hpp"
#include "muffle/release/aggregation_json.hpp"
#include "muffle/release/plan_json.hpp"

namespace muffle::job {
namespace {

using nlohmann::json;

constexpr char kFormat[] = "muffle-job-proposal";
constexpr std::uint64_t kVersion = 1;

json proposal_json(const Proposal& p) {
  return {{"format", kFormat},
          {"version", kVersion},
          {"plan", release::plan_json(p.plan)},
          {"aggregation", release::aggregation_json(p.aggregation)},
          {"round", p.number},
          {"data_id", p.data_id}};
}

/// A value of a proposal, for people.
std::string shown(const json* value) {
  constexpr std::size_t kMost = 60;
  if (value == nullptr) return "nothing";
  const std::string text = printable(value->dump());
  return text.size() <= kMost ? text : text.substr(0, kMost) + "...";
}

const json* find(const json& object, const std::string& key) {
  const auto at = object.find(key);
  return at == object.end() ? nullptr : &*at;
}

/// "plan.privacy.sigma (7.46 there, 7.47 here)", of the first few fields that differ. @param there, here
/// null: there is none
void note_differences(const json* there, const json* here, const std::string& path,
                      std::vector<std::string>& differ) {
  constexpr std::size_t kMost = 3;
  const bool both = there != nullptr && here != nullptr;
  if (differ.size() >= kMost || (both && *there == *here)) return;
  if (both && there->is_object() && here->is_object()) {
    json all = *there;
    all.update(*here);
    for (const auto& field : all.items())
      note_differences(find(*there, field.key()), find(*here, field.key()),
                       (path.empty() ? "" : path + ".") + printable(field.key().substr(0, 64)), differ);
  } else if (both && there->is_array() && here->is_array() && there->size() == here->size()) {
    for (std::size_t i = 0; i < there->size(); ++i)
      note_differences(&(*there)[i], &(*here)[i], fmt::format("{}.{}", path, i + 1), differ);
  } else {
    differ.push_back(fmt::format("{} ({} there, {} here)", path, shown(there), shown(here)));
  }
}

/// What this party proposes, with the data id that the coordinator says.
Proposal compared(Proposal own, std::string_view said) {
  const json theirs = parse_json(said);
  const JsonDocument document{"the coordinator's message", "a proposal that muffle can use",
                              "Run the same muffle on all ranks. Nothing was summed or drawn for it."};
  own.data_id = JsonFields(theirs, document).text("data_id", 128);
  const json mine = proposal_json(own);
  if (mine.dump() == said) return own;
  std::vector<std::string> differ;
  note_differences(&theirs, &mine, "", differ);
  if (differ.empty()) differ.emplace_back("it is spelled otherwise");
  throw ProtocolError(fmt::format(
      "The coordinator proposes another round than this rank would: {}. Start all ranks anew with "
      "the same muffle, configuration and site roster. Nothing was summed or drawn for it.",
      fmt::join(differ, "; ")));
}

}  // namespace

std::string proposal_text(const Proposal& proposal) { return proposal_json(proposal).dump(); }

ProposedRound::ProposedRound(Proposal own)
    : id(sha256(PublicBytes(proposal_text(own)))),
      proposal(std::move(own)),
      summed(proposal.plan.rounds() > 1 ? proposal.plan.of_round(proposal.number) : proposal.plan),
      shares(shares_of(summed.noise, proposal.aggregation)),
      length(privacy::length_of(summed.noise.parts)) {}

ProposedRound::ProposedRound(Proposal own, std::string_view said)
    : ProposedRound(compared(std::move(own), said)) {}

std::optional<privacy::DistributedNoisePlan> shares_of(const privacy::NoisePlan& noise,
                                                       const privacy::AggregationMode& mode) {
  privacy::require_valid(mode);
  const privacy::DistributedNoise* const apart = privacy::distributed(mode);
  if (apart == nullptr) return std::nullopt;
  return privacy::plan_distributed_noise(noise, apart->ranks, apart->colluding);
}

}  // namespace muffle::job
