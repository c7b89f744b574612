#pragma once

#include <cmath>
#include <vector>

#include "muffle/core/philox.hpp"
#include "muffle/pair_graph/rounds.hpp"
#include "muffle/release/rounds.hpp"
#include "release/sample_artifact.hpp"
#include "support/maps.hpp"

namespace muffle::test {

/// What the first so many rounds of a release have come to.
struct Stepped {
  release::ReleasePlan plan;
  std::vector<std::vector<std::int64_t>> values;
};

/// A release of random records by maps of which one goes on step by step.
struct SteppedRelease {
  schema::Schema schema;
  std::vector<features::NamedMap> maps;
  std::size_t records = 90;
  double epsilon = 5.0;
  privacy::Adjacency adjacency = privacy::Adjacency::kReplaceOne;
  bool counts = false;

  release::ReleasePlan plan() const {
    privacy::PrivacySpec privacy = release::testing_artifact::privacy_of({.epsilon = epsilon});
    privacy.adjacency = adjacency;
    return release::make_plan(pair_graph::in_rounds({schema, {}, maps, privacy, counts, records}));
  }

  /// The sums of one round, and noise.
  std::vector<std::int64_t> released(const release::ReleasePlan& round, std::uint32_t number) const {
    const std::size_t d = schema.dims();
    const CounterStream random(1, Stream::kTest), noise(2, Stream::kTest, number);
    std::vector<float> x(records * d);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = static_cast<float>(random.uniform(i));
    std::vector<std::int32_t> y(records);
    for (std::size_t i = 0; i < records; ++i) y[i] = static_cast<std::int32_t>(i % schema.classes);
    std::vector<std::uint64_t> sums(round.size());
    for (std::size_t b = 0; b < round.maps.size(); ++b) {
      const auto block = round.maps[b].map->make_block(round.lattice);
      const auto workspace = block->make_workspace();
      const std::vector<std::int32_t> labels =
          round.maps[b].labelled ? y : std::vector<std::int32_t>(records);
      const std::span part(sums.data() + round.offset(b), round.rows(b) * block->features());
      for (std::size_t i = 0; i < records; i += block->tile())
        block->accumulate(x.data() + i * d, labels.data() + i, std::min(block->tile(), records - i),
                          *workspace, part);
    }
    for (std::size_t c = 0; round.counts && c < round.classes(); ++c)
      sums[round.offset(round.maps.size()) + c] = records / round.classes() * round.counts_units();
    std::vector<std::int64_t> out(sums.begin(), sums.end());
    privacy::for_each_run(round.noise.parts, [&](std::uint64_t first, const privacy::NoiseRun& run) {
      for (std::uint64_t i = first; i < first + run.count; ++i)
        out[i] += std::llround(static_cast<double>(run.sigma_lattice) * noise.normal(i));
    });
    return out;
  }

  Stepped first_rounds(std::size_t rounds) const {
    Stepped out{plan(), {}};
    for (std::size_t round = 1; round <= rounds; ++round) {
      if (round > 1) {
        const release::Artifact so_far = release::released_so_far(out.plan, {}, out.values);
        release::ReleasePlan next = out.plan;
        for (std::size_t b = 0; b < next.maps.size(); ++b) {
          if (next.maps[b].round == round)
            next.go_on_with(b, pair_graph::map_of_next_round(out.plan, b, so_far));
        }
        out.plan = next;
      }
      out.values.push_back(released(out.plan.of_round(round), static_cast<std::uint32_t>(round)));
    }
    return out;
  }

  release::Artifact whole() const {
    const Stepped all = first_rounds(plan().rounds());
    release::Artifact out = release::testing_artifact::artifact_of(all.plan);
    out.values = release::joined(all.plan, all.values);
    return out;
  }
};

/// A decoder, and what it is learned for. @param components  along which codes lie; empty: the lift's
inline SteppedRelease decoder_release(const schema::Schema& schema = schema_of({1, 8, 12}, 3),
                                      const std::string& rounds = "4", const std::string& components = "") {
  const MapKeys lift{{"lift", "image"}, {"coefficients", "3"}};
  MapKeys steps = lift;
  if (!components.empty()) steps = {{"components", components}};
  steps.insert(steps.end(), {{"rounds", rounds}, {"hidden", "6"}});
  features::NamedMap decoder = named("decoder", make_map("decoder-step", steps, schema), 0.5);
  decoder.labelled = false;
  return {schema, {decoder, named("moments", make_map("moments", lift, schema))}};
}

/// The same with codes along principal components.
inline SteppedRelease components_release(const std::string& components = "4",
                                         const std::string& rounds = "4") {
  return decoder_release(schema_of({1, 8, 12}, 3), rounds, components);
}

}  // namespace muffle::test
