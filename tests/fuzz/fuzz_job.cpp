// What a party of a job makes of its coordinator's proposal. Input: 0, 1 or 2, which proposal the party makes
// itself (a single coordinator's; masked; the first of several rounds, with distributed noise), and the text.
#include <array>

#include "fuzz.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/hash.hpp"
#include "muffle/job/proposal.hpp"
#include "release/sample_artifact.hpp"

namespace {

using namespace muffle;
namespace testing_artifact = release::testing_artifact;

const job::Proposal& own_proposal(std::uint8_t which) {
  static const std::array<job::Proposal, 3> all = [] {
    const release::ReleasePlan plan = testing_artifact::sample_plan({.classes = 1, .features = 2});
    const privacy::SignedSites sites{2, 1};
    return std::array<job::Proposal, 3>{
        {{plan, privacy::SingleCoordinator{2}, 1, "stays"},
         {plan, privacy::Masked{2, sites}, 1, ""},
         {testing_artifact::rounds_plan(), privacy::DistributedNoise{3, 1}, 1, ""}}};
  }();
  return all[which % all.size()];
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input(data, size);
  const job::Proposal& own = own_proposal(input.byte() - '0');
  const std::string_view said = input.rest();
  try {
    const job::ProposedRound round(own, said);
    fuzz::demand(job::proposal_text(round.proposal) == said, "one proposal, one spelling");
    fuzz::demand(round.id == sha256(PublicBytes(said)), "its hash names the round");
    job::Proposal same = round.proposal;
    same.data_id = own.data_id;
    fuzz::demand(job::proposal_text(same) == job::proposal_text(own),
                 "all but the data id is what the party proposes itself");
  } catch (const ProtocolError&) {
  }
  return 0;
}
