#include <fmt/format.h>

#include <algorithm>

#include "muffle/app/config.hpp"
#include "muffle/data/format.hpp"
#include "muffle/model/twin_kind.hpp"

namespace muffle::app {
namespace {

using settings::Problems;
using Maps = std::vector<features::NamedMap>;

/// Noisy class sizes are part of the release.
bool counted(const Config& c, const Maps& maps) {
  return c.release_counts ||
         std::any_of(maps.begin(), maps.end(), [](const auto& m) { return m.map->counts_inside({}); });
}

void check_records(const Config& c, const Maps& maps, Problems& p) {
  data::problems(c.data, p);
  const bool replace = c.privacy.adjacency == privacy::Adjacency::kReplaceOne;
  p.unless(!replace || c.data.records > 0,
           "data.records is required under replace-one adjacency: m is public, so write it down");
  p.unless(replace || counted(c, maps),
           fmt::format("privacy.adjacency = \"add-remove-one\" keeps m secret, so the means need "
                       "privacy.release_counts = true (or a map that counts the records, with kind = {})",
                       features::counting_maps()));
  p.unless(
      !features::minibatches_in(maps) ||
          (c.data.shards != data::ShardRule::kPerRank && !data::find_format(c.data.format).holds_pictures()),
      "minibatches go by records' places among all, and with data.shards = \"per-rank\", or in folders of "
      "pictures, a place follows from other records: use another format or rule, or minibatches = 0");
  const bool people = c.data.schema.table && c.data.schema.table->person();
  const bool own_files = c.data.shards == data::ShardRule::kPerRank;
  p.unless(
      !people || !own_files || c.privacy.person_spans > 0,
      "privacy.person_spans is missing: each rank has files of its own and bounds the records of a person "
      "within them; promise \"one-file\", or say how many ranks' files one person can be in");
  p.unless(c.privacy.person_spans <= 1 || (people && own_files),
           "privacy.person_spans counts ranks' files: it needs a column of role person in data.schema and "
           "data.shards = \"per-rank\"");
  p.unless(replace || c.data.records == 0,
           "privacy.adjacency = \"add-remove-one\" keeps m secret, and everything in the configuration is "
           "public: leave data.records at 0");
  p.unless(!replace || c.data.expected_records == 0,
           "data.expected_records is a guess of what is private under add/remove-one; under replace-one the "
           "number of records is public, data.records: leave the guess out");
}

/// Of a schema that has rows of a person counted.
void check_rows(const Config& c, const schema::Schema& released, const Maps& maps, bool trains, Problems& p) {
  const auto person = released.table ? released.table->counted_person() : std::nullopt;
  if (!person) return;
  const schema::Column& column = released.table->columns[*person];
  p.unless(
      column.rows == c.privacy.max_records_per_person,
      fmt::format("column '{}' has rows = {} in the schema, and privacy.max_records_per_person is {}: both "
                  "say how many records of a person count at most, so write one number in both",
                  column.name, column.rows, c.privacy.max_records_per_person));
  for (const features::NamedMap& map : maps)
    p.unless(
        map.map->tables() != nullptr,
        fmt::format("column '{}' has rows in the schema, which maps of kind {} alone can count, and map.{} "
                    "is another: leave that map out, or 'rows'",
                    column.name, features::tables_maps(), map.name));
  if (trains && !c.model.chosen().knows_rows_of_people())
    p.add(
        fmt::format("column '{}' has rows in the schema, and model.generator = \"{}\" cannot make people of "
                    "them: use \"pair-graph\", or leave 'rows' out",
                    column.name, c.model.chosen().kind()));
}

void check_maps(const Config& c, const schema::Schema& released, const Maps& maps, Problems& p) {
  std::uint64_t numbers = c.release_counts ? 1 : 0;
  for (const features::NamedMap& m : maps) numbers += m.map->features();
  p.unless(
      numbers * released.classes * sizeof(std::int64_t) <= sampling::kMostModelBytes,
      fmt::format("{} features x {} classes are more numbers than a release file holds, {} MB: use fewer "
                  "features (count or coefficients of the maps)",
                  numbers, released.classes, sampling::kMostModelBytes / 1'000'000));
  for (const features::NamedMap& proxy : maps) {
    if (proxy.role != features::MapRole::kProxy) continue;
    for (const features::NamedMap& other : maps)
      p.unless(
          &other == &proxy || other.map->kind() != proxy.map->kind() ||
              other.map->to_json() != proxy.map->to_json(),
          fmt::format(
              "map.{} and map.{} are the same map: a proxy needs features of its own, such as another seed",
              proxy.name, other.name));
  }
}

}  // namespace

std::vector<std::string> contradictions(Config& c, const Stages& stages) {
  Problems p;
  const bool scores = stages.evaluate && c.evaluate.reads_real_records();
  const bool sized = (stages.release || scores) && data::schema_problems(c.data.schema, p);
  Maps maps;
  const schema::Schema released = stages.release && sized ? released_schema(c) : c.data.schema;
  if (stages.release && sized) {
    p.unless(!c.features.maps.empty(),
             "there is no feature map, so nothing would be released: write a section [map.NAME] with one of "
             "the kinds that `muffle config-keys` lists");
    p.check("", [&] { maps = c.features.resolved(released); });
  }
  const bool mapped = !maps.empty();
  if (stages.release) {
    const bool labelled = c.data.schema.table && c.data.schema.table->label();
    p.unless(
        labelled || c.data.label_as != data::LabelAs::kColumn,
        "data.label_as = \"column\" is of a table's label, and the schema (data.schema) has no column of "
        "role \"label\": leave it out");
    check_records(c, maps, p);
    c.ledger.problems(p);
    c.aggregation.problems(c.privacy.adjacency, c.data.shards == data::ShardRule::kPerRank, p);
    if (mapped) check_maps(c, released, maps, p);
    check_rows(c, released, maps, stages.train, p);
  }
  Problems of_model;
  if (stages.train) {
    c.train.problems(c.model.chosen(), p);
    c.model.chosen().problems(nullptr, of_model);
  }
  if (stages.train && c.train.match_records) {
    if (!stages.release) data::problems(c.data, p);
    p.unless(
        c.data.shards != data::ShardRule::kPerRank,
        "train.match = \"records\" has every rank that trains read all records, and with one file a rank "
        "(data.shards = \"per-rank\") none may: leave it out");
  }
  const bool model_stands = of_model.empty();
  for (std::string& problem : of_model.take()) p.add(std::move(problem));
  if (stages.sample) synth::problems(c.sample, sample_formats(), p);
  if (stages.evaluate) evaluate::problems(c.evaluate, c.data, stages.release, p);
  // How the stages go together. By itself a later stage takes the sizes from the file that it reads.
  if (!stages.release || !mapped) return p.take();
  if (stages.train && model_stands) c.train.release_problems(c.model.chosen(), released, maps, p);
  if (stages.train && stages.sample && c.model.chosen().network() != nullptr)
    p.unless(!train::matched_maps(maps, c.train.from_moments).empty(),
             fmt::format("there is no feature map that a network can be trained on: write a section "
                         "[map.NAME] with kind = {}",
                         model::trainable_maps()));
  if (stages.sample) {
    synth::problems(c.sample, released, sample_formats(), p);
    p.unless(c.sample.labels != synth::Labels::kReleasedCounts || counted(c, maps),
             fmt::format("sample.labels = \"released-counts\" needs privacy.release_counts = true (or a map "
                         "with kind = {})",
                         features::counting_maps()));
  }
  if (stages.sample && stages.evaluate)
    evaluate::sample_problems(c.evaluate, c.data.schema, c.sample.count, c.sample.formats, p);
  // The accountant knows its own domain: ask it.
  if (p.empty()) p.check("[privacy]: ", [&] { c.plan = release::make_plan(release_settings(c)); });
  return p.take();
}

}  // namespace muffle::app
