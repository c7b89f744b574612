// Five uneven sites with real records, as a job of five MPI ranks, in memory, over a folder and over HTTPS:
// one un-noised sum, bit for bit, which is also that of all records in one place.
#include <array>
#include <fstream>

#include "job/job_setup.hpp"
#include "muffle/data/settings.hpp"
#include "round/consortium.hpp"
#include "support/fashion_mnist.hpp"
#include "support/mpi_world.hpp"
#include "support/tier.hpp"
#ifdef MUFFLE_HTTPS
#include "support/https.hpp"
#endif

namespace muffle::job {
namespace {

/// Of 20 equal parts of the records, each site has so many.
constexpr std::array<int, 5> kParts{9, 5, 3, 2, 1};
constexpr int kAllParts = 20;
constexpr privacy::RoundParties kParties{5, 5, 4, 1, 3, 1, 0};

struct Records {
  data::DataSpec spec;
  release::ReleasePlan plan;
};

privacy::PrivacySpec guarantee() {
  privacy::PrivacySpec spec;
  spec.epsilon = 1.0;
  spec.max_records_per_person = 1;
  spec.adjacency = privacy::Adjacency::kAddRemoveOne;
  return spec;
}

Records fashion() {
  const data::DataSpec spec = test::fashion_mnist(test::thorough() ? "train" : "t10k");
  const test::MapKeys keys{{"count", test::thorough() ? "500" : "30"}};
  return {spec, release::make_plan({spec.schema,
                                    {},
                                    {test::named("rff", test::make_map("rff", keys, spec.schema))},
                                    guarantee(),
                                    true,
                                    0})};
}

/// UCI Adult from the folder that MUFFLE_ADULT_DIR names, where it does; else rows made up by its schema.
Records adult(const std::filesystem::path& scratch) {
  data::Settings settings;
  settings.schema_file = "adult.toml";
  settings.read_schema(std::filesystem::path(MUFFLE_CONFIGS) / "schemas",
                       [](const std::string&) { return false; });
  settings.format = "csv";
  settings.header = false;
  settings.features = "adult.data";
  const char* folder = std::getenv("MUFFLE_ADULT_DIR");
  settings.dir = folder != nullptr ? folder : scratch.string();
  if (folder == nullptr) {
    std::ofstream rows(scratch / "adult.data");
    for (int i = 0; i < 500; ++i) {
      std::string row;
      for (const schema::Column& column : settings.schema.table->columns) {
        const auto k = static_cast<std::size_t>(i * 7 + row.size());
        std::string field;
        if (!column.values.empty()) {
          field = column.values[k % column.values.size()].name;
        } else {
          field = std::to_string(static_cast<long>(column.lo) +
                                 static_cast<long>(k) % static_cast<long>(column.hi - column.lo + 1));
        }
        row += (row.empty() ? "" : ", ") + field;
      }
      rows << row << "\n";
    }
  }
  return {settings, release::make_plan({settings.schema,
                                        {},
                                        {test::named("all", test::make_map("pairs", {}, settings.schema))},
                                        guarantee(),
                                        false,
                                        0})};
}

/// What embedding finds in some of the parts.
std::vector<std::uint64_t> sums_of_parts(const Records& records, int first, int count) {
  const embed::Embedder embedder = embed::make_embedder(records.plan);
  std::vector<std::uint64_t> sums(records.plan.size(), 0);
  for (int part = first; part < first + count; ++part) {
    const auto source = data::open_shard(records.spec, part, kAllParts);
    const embed::PartialSum partial = embed::embed_shard(embedder, *source, 1, {});
    test::add_to(sums, embed::TestAccess::values(partial));
  }
  return sums;
}

std::vector<std::uint64_t> sums_of_site(const Records& records, std::size_t site) {
  int first = 0;
  for (std::size_t s = 0; s < site; ++s) first += kParts[s];
  return sums_of_parts(records, first, kParts[site]);
}

/// By a job whose ranks are the sites, each with a share of the noise, its sums masked. At root, less the
/// noise.
std::vector<std::uint64_t> by_job(const Records& records) {
  const auto together = make_together(test::world());
  const ProposedRound round = agree_on_round(
      {records.plan, privacy::DistributedNoise{test::world().size(), kParties.colluding}}, *together);
  Contributor own(round, together->party());
  agree_on_keys(own, *together, nullptr);
  draw_shares(own, *together, *test::entropy_at(together->party()), [](std::string_view) {});
  own.embed(embed::TestAccess::make(sums_of_site(records, static_cast<std::size_t>(together->party()))));
  const privacy::NoisySum noisy = test::finish(own, *together);
  std::vector<std::uint64_t> out(noisy.values.begin(), noisy.values.end());
  for (int s = 0; s < together->parties() && together->coordinates(); ++s) {
    const auto noise = privacy::draw_noise(round.shares->shares, *test::entropy_at(s));
    for (std::size_t i = 0; i < out.size(); ++i) out[i] -= static_cast<std::uint64_t>(noise[i]);
  }
  return out;
}

/// By contributions, a seal and openings, each a message.
std::vector<std::uint64_t> by_exchange(const Records& records, const std::string& address,
                                       const http::ClientSettings& network) {
  round::ConsortiumOfFolders c(kParties, records.plan);
  if (!address.empty()) {
    c.exchange = round::make_exchange(address, network);
    c.exchange->put(release::proposal_name(c.round.id), c.world.proposed);
  }
  for (std::size_t i = 0; i < kParts.size(); ++i) {
    round::ContributorJob job = c.job_of(i, c.before());
    job.sum_records = [&](const release::ProposedRound& round) {
      EXPECT_EQ(round.summed.size(), records.plan.size());
      return round::OwnSums{embed::TestAccess::make(sums_of_site(records, i)), 0};
    };
    contributor_step(c.round, *c.exchange, job);
  }
  c.coordinator(c.before());
  for (std::size_t h = 0; h < c.world.holders.size(); ++h) c.holder(h, c.before());
  c.coordinator(c.before());
  const std::string name = release::release_name(c.round.id);
  const auto bytes = c.exchange->get(name, release::most_bytes(c.round.length));
  if (!bytes) throw std::runtime_error("the round made no release");
  const release::Artifact a = release::parse_artifact(*bytes, name);
  return round::without_noise({a.values, a.is_private}, c.round, {0, 1, 2, 3, 4}, c.world.holders.size());
}

void expect_one_sum(const Records& records) {
  const std::vector<std::uint64_t> job = by_job(records);
  if (test::world().is_root()) {
    const std::vector<std::uint64_t> expected = sums_of_parts(records, 0, kAllParts);
    EXPECT_NE(expected, std::vector<std::uint64_t>(expected.size(), 0));
    EXPECT_TRUE(job == expected) << "as an MPI job";
    EXPECT_TRUE(by_exchange(records, "", {}) == expected) << "over a folder";
    EXPECT_TRUE(by_exchange(records, "memory://one-sum", {}) == expected) << "in memory";
#ifdef MUFFLE_HTTPS
    const test::TemporaryFolder scratch;
    const test::HttpsPlace place(scratch.path());
    EXPECT_TRUE(by_exchange(records, place.server.address(), place.settings) == expected) << "over HTTPS";
#endif
  }
  test::world().barrier();
}

TEST(OneSum, OfFashionMnist) { expect_one_sum(fashion()); }

TEST(OneSum, OfAdult) {
  const test::TemporaryFolder scratch;
  expect_one_sum(adult(scratch.path()));
}

}  // namespace
}  // namespace muffle::job
