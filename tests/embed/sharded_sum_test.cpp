// FashionMNIST's lattice sums over MPI ranks: the same bits for every number of ranks and every sharding.
#include <gtest/gtest.h>

#include "embed/shards.hpp"
#include "support/fashion_mnist.hpp"
#include "support/mpi_world.hpp"

namespace muffle::embed {
namespace {

using test::Deal;

/// The SHA-256 of the reduced sum, on the root; empty elsewhere.
std::string reduced_hash(const Embedder& embedder, data::RecordSource& source, int threads) {
  comm::HostComm& world = test::world();
  auto raw = test::reduce_to_root(world, embed_shard(embedder, source, threads, {}));
  return world.is_root() ? test::sha256_of(test::reveal(std::move(raw), embedder.plan.size()))
                         : std::string();
}

void expect_hash(const std::string& actual, const std::string& pinned) {
  if (test::world().is_root()) {
    EXPECT_EQ(actual, pinned);
  }
}

std::vector<std::size_t> my_shard(std::size_t n, Deal deal) {
  return test::shard(n, deal, static_cast<std::size_t>(test::world().rank()),
                     static_cast<std::size_t>(test::world().size()));
}

TEST(ShardedSum, SixThousandRecordsInEverySharding) {
  const data::Batch records = test::fashion_mnist_records(6000);
  const Embedder embedder = test::rff_embedder(784, 512, 10, true);
  const std::string pinned = "43809c8e2fd674cdb42b616de720c7eada8dd377000c3238b4f4ec76b766da39";
  int threads = 1;
  for (const Deal deal : {Deal::kContiguous, Deal::kRoundRobin, Deal::kShuffledUneven}) {
    for (const std::size_t at_most : {1000000, 13}) {
      test::MemorySource source(records, my_shard(records.n, deal), at_most);
      expect_hash(reduced_hash(embedder, source, threads), pinned);
      threads = threads % 4 + 1;
    }
  }
}

/// Of the sum of all 60,000 records with D = 256 and counts, computed by one rank.
constexpr const char* kAllRecords = "174a74fea930a433f90e4feeed3e4c79592bb4401d82a8a660e0a58cd5ee1df9";

TEST(ShardedSum, AllRecordsShuffledAndUneven) {
  const data::Batch records = test::fashion_mnist_records(60000);
  ASSERT_EQ(records.n, 60000u);
  test::MemorySource source(records, my_shard(records.n, Deal::kShuffledUneven), 4096);
  expect_hash(reduced_hash(test::rff_embedder(784, 256, 10, true), source, 2), kAllRecords);
}

TEST(ShardedSum, AllRecordsFromTheirFileAndNoneIsRejected) {
  const Embedder embedder = test::rff_embedder(784, 256, 10, true);
  for (const auto rule : {data::ShardRule::kContiguous, data::ShardRule::kRoundRobin}) {
    data::DataSpec spec = test::fashion_mnist();
    spec.shards = rule;
    const auto source = data::open_shard(spec, test::world().rank(), test::world().size());
    auto raw = test::reduce_to_root(test::world(), embed_shard(embedder, *source, 2, {}));
    if (!test::world().is_root()) continue;
    const auto sums = test::reveal(std::move(raw), embedder.plan.size());
    EXPECT_EQ(test::sha256_of(sums), kAllRecords);
    for (std::size_t c = 0; c < 10; ++c)
      EXPECT_EQ(sums[2560 + c], std::uint64_t{6000} << 24) << "class " << c;
  }
  // The counts go by the label; whether a record passed the norm check its block says.
  const features::Block& block = *embedder.blocks.front();
  const auto mine = data::open_shard(test::fashion_mnist(), test::world().rank(), test::world().size());
  const auto workspace = block.make_workspace();
  std::vector<std::uint64_t> sums(10 * block.features());
  std::uint64_t refused = 0, seen = 0;
  data::Batch batch;
  for (mine->next(block.tile(), batch); batch.n > 0; mine->next(block.tile(), batch)) {
    refused += block.accumulate(batch.x.data(), batch.y.data(), batch.n, *workspace, sums);
    seen += batch.n;
  }
  EXPECT_EQ(seen, mine->shard_size());
  EXPECT_EQ(refused, 0u);
}

// Second moments beside random features: every sharding gives what one process gives.
TEST(ShardedSum, MomentsBesideRandomFeatures) {
  const data::Batch records = test::fashion_mnist_records(3000);
  const auto moments = test::make_moments({{"coefficients", "6"}}, test::schema_of({1, 28, 28}));
  const Embedder embedder = test::embedder_of(
      {test::named("moments", moments->clone()), test::rff_map(784, 64)}, {1, 28, 28}, 10, false);
  test::MemorySource all(records, test::shard(records.n, Deal::kContiguous, 0, 1));
  const auto expected = TestAccess::values(embed_shard(embedder, all, 1, {}));
  for (const Deal deal : {Deal::kContiguous, Deal::kRoundRobin, Deal::kShuffledUneven}) {
    test::MemorySource source(records, my_shard(records.n, deal), deal == Deal::kContiguous ? 1000000 : 77);
    auto raw = test::reduce_to_root(test::world(), embed_shard(embedder, source, 2, {}));
    if (!test::world().is_root()) continue;
    EXPECT_EQ(test::reveal(std::move(raw), embedder.plan.size()), expected);
  }
}

}  // namespace
}  // namespace muffle::embed
