// A round between institutions whose map is a public network's: every site has a copy of the file, and the
// un-noised sum is that of all records in one place.
#include <gtest/gtest.h>

#include <filesystem>

#include "embed/shards.hpp"
#include "muffle/embed/self_check.hpp"
#include "muffle/networks/network_block.hpp"
#include "muffle/site/own_networks.hpp"
#include "round/consortium.hpp"
#include "support/expect_error.hpp"
#include "support/networks.hpp"

namespace muffle::networks {
namespace {

const schema::Schema kImages = test::schema_of({3, 8, 8}, 3);

/// Both moments by class, and a map of another kind beside it.
release::ReleasePlan plan() {
  const test::MapKeys keys{{"moments", "2"}, {"network", test::small_network()}};
  const privacy::PrivacySpec spec{.epsilon = 1.0,
                                  .noise_multiplier = {},
                                  .adjacency = privacy::Adjacency::kAddRemoveOne,
                                  .max_records_per_person = 1};
  return release::make_plan({kImages,
                             {},
                             {test::named("deep", test::make_map("perceptual", keys, kImages)),
                              test::named("rff", test::make_map("rff", {{"count", "20"}}, kImages))},
                             spec,
                             true,
                             0});
}

TEST(NetworkRound, IsTheSumOfAllRecordsInOnePlaceByEachSitesOwnCopyOfTheNetwork) {
  const data::Batch records = test::made_up(75, 192, 3);
  round::ConsortiumOfFolders c({4, 4, 3, 1, 3, 1, 0}, plan());
  for (const features::NamedMap& map : c.round.summed.maps) {
    if (const features::Asset* const asset = std::as_const(*map.map).asset()) {
      EXPECT_TRUE(asset->file.empty()) << "no path has come with the proposal";
    }
  }
  for (std::size_t i = 0; i < 4; ++i) {
    const std::string copy = (c.of(c.world.sites[i]) / "copy.pt").string();
    std::filesystem::copy_file(test::small_network(), copy);
    round::ContributorJob job = c.job_of(i, c.before());
    job.sum_records = [&](const release::ProposedRound& round) {
      release::ReleasePlan here = round.summed;
      test::expect_error(ExitCode::kConfig, {"not at hand"},
                         [&] { embed::make_embedder(here, make_plain_network_block); });
      features::find_assets(here.maps, site::find_networks(here.maps, std::vector{copy}).files);
      test::MemorySource own(records, test::shard(records.n, test::Deal::kShuffledUneven, i, 4));
      return round::OwnSums{
          embed::embed_shard(embed::make_embedder(std::move(here), make_plain_network_block), own,
                             1 + static_cast<int>(i) % 2, {}),
          0};
    };
    contributor_step(c.round, *c.exchange, job);
  }
  c.coordinator(c.before());
  for (std::size_t h = 0; h < 3; ++h) c.holder(h, c.before());
  c.coordinator(c.before());
  const release::Artifact a = c.released();
  const std::vector<std::uint64_t> expected =
      test::sums_of(embed::make_embedder(plan(), make_network_block), records);
  EXPECT_NE(expected, std::vector<std::uint64_t>(expected.size(), 0));
  EXPECT_EQ(round::without_noise({a.values, a.is_private}, c.round, {0, 1, 2, 3}, 3), expected);
}

/// A coordinator has no LibTorch: what it compares are the maps that every muffle sums.
TEST(NetworkRound, TheSelfCheckIsOfTheMapsThatNeedNoLibTorch) {
  const release::ReleasePlan both = plan();
  release::ReleasePlan alone = both;
  alone.maps.erase(alone.maps.begin());
  EXPECT_EQ(embed::self_check(both), embed::self_check(alone));
  EXPECT_NE(embed::self_check(both), embed::self_check(embed::make_embedder(both, make_network_block)));
}

}  // namespace
}  // namespace muffle::networks
