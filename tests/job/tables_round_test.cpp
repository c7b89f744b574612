// Counts of a table through whole rounds: with masks or without, with the coordinator's noise or a share of
// it from every site, on 1 to 4 sites, one of them without a record, what comes out is the same sum and the
// noise that was drawn.
#include <gtest/gtest.h>

#include "embed/shards.hpp"
#include "job/job_setup.hpp"
#include "support/planned_release.hpp"
#include "support/thread_comm.hpp"

namespace muffle::job {
namespace {

const std::vector<std::size_t> kCodes{3, 16, 2, 7};
constexpr std::size_t kClasses = 3, kRecords = 5000;

class TablesRound : public testing::TestWithParam<int> {
 protected:
  embed::Embedder embedder_ = embed::make_embedder(release::make_plan(
      {test::table_schema(kCodes, kClasses),
       {},
       {test::named("p", test::make_map("pairs", {}, test::table_schema(kCodes, kClasses)))},
       test::epsilon_of(1.0),
       false,
       kRecords}));
  data::Batch records_ = test::made_up(kRecords, kCodes.size(), kClasses);
  std::vector<std::uint64_t> sums_ = test::sums_of(embedder_, records_);

  /// The last of several sites has no record.
  std::vector<std::size_t> shard(int site) const {
    const int owners = std::max(1, GetParam() - 1);
    if (site >= owners) return {};
    return test::shard(kRecords, test::Deal::kShuffledUneven, static_cast<std::size_t>(site),
                       static_cast<std::size_t>(owners));
  }

  privacy::NoisySum release(Together& together, const ProposedRound& round) const {
    Contributor own(round, together.party());
    agree_on_keys(own, together, nullptr);
    draw_shares(own, together, *test::entropy_at(together.party()), [](std::string_view) {});
    test::MemorySource source(records_, shard(together.party()));
    own.embed(embed::embed_shard(embedder_, source, 1, {}));
    return test::finish(own, together);
  }

  /// What is left of the released numbers without the noise, which is known as its seeds are.
  static std::vector<std::uint64_t> without_noise(const privacy::NoisySum& noisy, const ProposedRound& round,
                                                  int sites) {
    std::vector<std::uint64_t> sums(noisy.values.begin(), noisy.values.end());
    const auto take_off = [&](const std::vector<privacy::NoisePart>& parts, int site) {
      const auto noise = privacy::draw_noise(parts, *test::entropy_at(site));
      for (std::size_t i = 0; i < sums.size(); ++i) sums[i] -= static_cast<std::uint64_t>(noise[i]);
    };
    if (!round.shares) take_off(round.summed.noise.parts, 0);
    for (int s = 0; s < sites && round.shares; ++s) take_off(round.shares->shares, s);
    return sums;
  }
};

TEST_P(TablesRound, TheSumsAreTheSameInEveryMode) {
  const int sites = GetParam();
  for (const auto& mode : {std::pair{false, false}, {true, false}, {true, true}}) {
    const bool masked = mode.first, distributed = mode.second;
    const ProposedRound round(
        test::proposal_of(test::noise_of(sums_.size()), test::mode_of(sites, masked, distributed)));
    test::run_thread_ranks(sites, [&](comm::HostComm& comm) {
      const privacy::NoisySum noisy = release(*make_together(comm), round);
      if (!comm.is_root()) return;
      EXPECT_NE(std::vector<std::uint64_t>(noisy.values.begin(), noisy.values.end()), sums_);
      EXPECT_EQ(without_noise(noisy, round, sites), sums_)
          << "masked " << masked << ", shares " << distributed;
    });
  }
}

INSTANTIATE_TEST_SUITE_P(Sites, TablesRound, testing::Values(1, 2, 3, 4));

}  // namespace
}  // namespace muffle::job
