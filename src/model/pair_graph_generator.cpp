#include <fmt/format.h>

#include "muffle/model/closed_forms.hpp"
#include "muffle/model/model_file.hpp"
#include "muffle/release/noisy_tables.hpp"
#include "muffle/release/plan.hpp"

namespace muffle::model {
namespace {

/// Every law's tables; what they are of is in the header.
std::vector<NamedArray> arrays_of(const PairGraphModel& model) {
  std::vector<NamedArray> out;
  const auto add = [&](std::string name, std::vector<std::size_t> shape, const std::vector<float>& numbers) {
    out.emplace_back(std::move(name), std::move(shape), std::span<const float>(numbers));
  };
  for (std::size_t c = 0; c < model.laws.size(); ++c) {
    const pair_graph::PairGraphLaw& law = model.laws[c];
    for (const pair_graph::PairGraphLaw::Branch& branch : law.tree) {
      const std::size_t width = model.codes[branch.column];
      add(fmt::format("law{}.tree{}", c, branch.column), {branch.given.size() / width, width}, branch.given);
    }
    for (std::size_t j = 0; j < law.field.size(); ++j)
      add(fmt::format("law{}.field{}", c, j), {law.field[j].size()}, law.field[j]);
    for (const pair_graph::PairGraphLaw::Pair& pair : law.pairs) {
      add(fmt::format("law{}.pair{}-{}", c, pair.first, pair.second),
          {model.codes[pair.first], model.codes[pair.second]}, pair.interaction);
    }
    for (const pair_graph::PairGraphCells& cells : model.cells)
      add(fmt::format("law{}.cells{}", c, cells.column), {cells.share[c].size()}, cells.share[c]);
  }
  return out;
}

class PairGraphSettings : public ClosedFormSettings {
 public:
  std::size_t sweeps = pair_graph::kPairSweeps;

  std::string_view kind() const override { return "pair-graph"; }
  std::unique_ptr<GeneratorSettings> clone() const override {
    return std::make_unique<PairGraphSettings>(*this);
  }
  void declare(settings::Keys& keys) override {
    keys.count("sweeps", sweeps, 0, pair_graph::kMostPairSweeps,
               "pair graph: Gibbs sweeps a row takes over all pairs; 0: rows of the tree alone");
  }
  void problems(const schema::Schema* schema, settings::Problems& p) const override {
    p.unless(schema == nullptr || schema->table != nullptr,
             "model.generator = \"pair-graph\" draws rows of tables: describe the columns in a schema "
             "(data.schema), or choose another generator");
  }
  nlohmann::json to_json() const override { return {{"sweeps", sweeps}}; }
  void read_json(const JsonFields& fields) override {
    fields.only({"kind", "sweeps"});
    sweeps = fields.integer("sweeps", 0, pair_graph::kMostPairSweeps);
  }
  bool knows_rows_of_people() const override { return true; }
  /// A record and its copy; its codes and random numbers stand beside one record alone.
  double numbers_at_once(const schema::Schema& schema) const override {
    return 2 * static_cast<double>(schema.dims());
  }
  std::unique_ptr<Sampler> open(const ModelInfo& info, const JsonFields& description,
                                std::span<const std::byte> payload) const override {
    return make_sampler(read_pair_graph(info.schema, sweeps, description, payload));
  }
  std::vector<NamedArray> arrays(const ModelInfo& info, const JsonFields& description,
                                 std::span<const std::byte> payload) const override {
    return arrays_of(read_pair_graph(info.schema, sweeps, description, payload));
  }
  ModelContent fit(const release::Artifact& release, const Heartbeat& heartbeat) const override {
    return content_of(pair_graph::fit_pair_graph(release::make_noisy_tables(release), sweeps, heartbeat));
  }
  void release_problems(const schema::Schema& schema, const std::vector<features::NamedMap>& maps,
                        settings::Problems& p) const override {
    problems(&schema, p);
    const features::CountTables* const tables = tables_of(maps);
    p.unless(
        tables != nullptr,
        fmt::format("model.generator = \"pair-graph\" is made of counts of pairs of columns: add a map with "
                    "kind = {}",
                    features::tables_maps()));
    if (schema.table == nullptr || tables == nullptr) return;
    p.unless(
        static_cast<double>(schema.classes) * 2 * pair_cells(schema) * sizeof(float) <=
            static_cast<double>(kMostModelBytes),
        fmt::format("the columns' codes and data.classes make a pair graph that is larger than a model file, "
                    "{} MB: use fewer bins",
                    kMostModelBytes / 1'000'000));
  }
  std::uint64_t fit_bytes(const release::ReleasePlan& plan) const override {
    if (tables_of(plan.maps) == nullptr || plan.schema.table == nullptr) return 0;
    // The release's bytes and numbers and its tables; for every class and pair its counts, interaction, law
    // and what the fit keeps of them, in double; the model, its payload and its bytes, in float.
    return 24 * plan.size() +
           static_cast<std::uint64_t>(static_cast<double>(plan.classes()) * pair_cells(plan.schema) * 12 * 8);
  }

 private:
  /// Cells of all pairs and columns. A column whose bins are learned is known in groups that are few enough.
  static double pair_cells(const schema::Schema& schema) {
    double cells = 0, before = 0, own = 0;
    for (const std::size_t j : schema.table->features()) {
      const schema::Column& column = schema.table->columns[j];
      const auto all = static_cast<double>(column.codes());
      const double codes = column.learned ? std::min(all, kUsualGroups) : all;
      own += all;
      cells += before * codes;
      before += codes;
    }
    return cells + own;
  }
  static constexpr double kUsualGroups = 33;
  static const features::CountTables* tables_of(const std::vector<features::NamedMap>& maps) {
    for (const features::NamedMap& map : maps) {
      if (map.role == features::MapRole::kMatch && map.map->tables()) return &map.map->tables()->counted();
    }
    return nullptr;
  }
};

}  // namespace

GeneratorKind pair_graph_generator() {
  return {"pair-graph", "closed form of tables, from counts of pairs of columns, not trained",
          make_default<PairGraphSettings>};
}

}  // namespace muffle::model
