#include <fmt/format.h>

#include <algorithm>

#include "muffle/core/error.hpp"
#include "muffle/model/generator_kind.hpp"
#include "muffle/model/model_file.hpp"
#include "muffle/model/pair_graph.hpp"
#include "muffle/release/noisy_tables.hpp"
#include "muffle/release/plan.hpp"

namespace muffle::model {
namespace {

constexpr const char* kNeedsTable =
    "model.generator = \"pair-graph\" draws rows of tables: set data.schema, or choose another generator";

class PairGraphSettings : public ClosedFormSettings {
 public:
  std::size_t sweeps = kPairSweeps;

  std::string_view kind() const override { return "pair-graph"; }
  std::unique_ptr<GeneratorSettings> clone() const override {
    return std::make_unique<PairGraphSettings>(*this);
  }
  void declare(settings::Keys& keys) override {
    keys.count("sweeps", sweeps, 0, static_cast<std::int64_t>(kMostPairSweeps),
               "pair graph: Gibbs sweeps a row takes over all pairs; 0: rows of the tree alone");
  }
  void problems(const schema::Schema* schema, settings::Problems& p) const override {
    p.unless(schema == nullptr || schema->table != nullptr, kNeedsTable);
  }
  nlohmann::json to_json() const override { return {{"sweeps", sweeps}}; }
  void read_json(const JsonFields& fields) override {
    fields.only({"kind", "sweeps"});
    sweeps = fields.integer("sweeps", 0, kMostPairSweeps);
  }
  /// A record, its copy, its codes and its random numbers.
  double numbers_at_once(const schema::Schema& schema) const override {
    return 5 * static_cast<double>(schema.dims());
  }
  std::unique_ptr<Sampler> open(const ModelInfo& info, const JsonFields& description,
                                std::span<const std::byte> payload) const override {
    return make_sampler(read_pair_graph(info.schema, sweeps, description, payload));
  }
  ModelContent fit(const release::Artifact& release, const Heartbeat& heartbeat) const override {
    return content_of(fit_pair_graph(release::make_noisy_tables(release), sweeps, heartbeat));
  }
  void release_problems(const schema::Schema& schema, const std::vector<features::NamedMap>& maps,
                        settings::Problems& p) const override {
    p.unless(schema.table != nullptr, kNeedsTable);
    const bool counted = std::any_of(maps.begin(), maps.end(), [](const features::NamedMap& m) {
      return m.role == features::MapRole::kMatch && m.map->has_tables();
    });
    p.unless(counted,
             fmt::format("model.generator = \"pair-graph\" is made of counts of pairs of columns: add "
                         "a map with kind = {}",
                         features::tables_maps()));
  }
  std::uint64_t fit_bytes(const release::ReleasePlan& plan) const override {
    // The release's bytes and numbers, its tables, their estimates (a copy, residuals, whitened, smoothed),
    // the laws, and the file's payload twice.
    constexpr std::uint64_t kBytesANumber = 16 + 8 + 4 * 8 + 4 + 8;
    return kBytesANumber * plan.size();
  }
};

}  // namespace

GeneratorKind pair_graph_generator() {
  return {"pair-graph", "closed form of counts of pairs of columns, for tables, not trained",
          make_default<PairGraphSettings>};
}

}  // namespace muffle::model
