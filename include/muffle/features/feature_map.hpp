#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "muffle/core/json_fields.hpp"
#include "muffle/core/kinds.hpp"
#include "muffle/core/settings.hpp"
#include "muffle/features/asset.hpp"
#include "muffle/features/block.hpp"
#include "muffle/features/minibatches.hpp"
#include "muffle/schema/schema.hpp"

namespace muffle::features {

struct MixedLayout;
class SecondMomentFeatures;
class SteppedFeatures;
class TableFeatures;

/// What a map costs whoever embeds with it, for `muffle plan`.
struct MapCost {
  double flops_per_record = 0.0;       ///< of its matrix products
  std::uint64_t bytes = 0;             ///< large arrays, once
  std::uint64_t bytes_per_thread = 0;  ///< scratch of each thread
};

/// The first `numbers` of a class's released integers add up to scale x the number of its records.
struct CountsInside {
  std::size_t numbers = 0;
  double scale = 1.0;
};

/// What is proven about a map, once more, for `muffle verify`: in long double, by code that shares nothing
/// with bound() and coordinates(), which it checks. Of weight 1.
struct PlainFacts {
  struct Run {
    long double count = 0, unit = 0;
  };
  long double norm = 1;
  bool nonnegative_kernel = false;
  std::vector<Run> runs;
};

/// One feature map: its public description and everything that follows from it. A kind derives from this, in
/// a file of its own, and has a line in map_kinds.inc. Nothing in it may come from private records.
///
/// declare() binds the keys of [map.NAME], or read_json() reads what a release states; then resolve(), once
/// the schema is known. After that it does not change, and is thread-safe.
class FeatureMap {
 public:
  virtual ~FeatureMap() = default;
  /// The kind's name in the table.
  virtual std::string_view kind() const = 0;
  virtual std::unique_ptr<FeatureMap> clone() const = 0;

  /// The kind's own keys.
  virtual void declare(settings::Keys& keys) = 0;
  /// For help: which values bring further keys with them ("with lift = ..."), and those keys.
  virtual void tell_further_keys(
      const std::function<void(const std::string& when, const std::vector<settings::Key>& keys)>&) const {}
  /// Fills in what depends on the schema and is left open, and checks. Idempotent: a release's are resolved.
  /// @throws ConfigError with all problems found.
  virtual void resolve(const schema::Schema& schema) = 0;
  /// Before choose_sizes() and the second declare(): takes what the schema decides, such as an open lift.
  virtual void prepare(const schema::Schema&) {}
  /// Before resolve(): chooses sizes that are left open, by the noise (a standard deviation per number) that
  /// a class's mean embedding will carry. From public numbers alone.
  virtual void choose_sizes(const schema::Schema&, double /*noise*/) {}
  /// After resolve(): what to expect of samples with that noise, for the plan and a line before the charge. A
  /// public guess; empty: nothing is known. @param records  of a class, were all as large
  virtual std::string outlook(double /*noise*/, double /*records*/) const { return {}; }

  /// Resolved settings as a release states them, and back. @throws ProtocolError.
  virtual nlohmann::json to_json() const = 0;
  virtual void read_json(const JsonFields& fields) = 0;

  // What follows from the resolved settings.

  /// d: numbers per record.
  virtual std::size_t dims() const = 0;
  /// D: numbers per class.
  virtual std::size_t features() const = 0;
  virtual BlockBound bound() const = 0;
  /// The units of one class's numbers, in their order; the counts add up to features(). The default: 2^k, as
  /// in the norm that is checked: that is what 1.0 must be to the noise.
  virtual std::vector<CoordinateRun> coordinates(const Lattice& lattice) const;
  /// How many of one class's numbers, in their order, belong together, such as those of a layer: whoever
  /// weighs numbers by how much of them is noise does it stretch by stretch. The default: all of them.
  virtual std::vector<std::size_t> stretches() const { return {features()}; }
  virtual PlainFacts plain_facts(const Lattice& lattice) const = 0;
  /// A released sum of a number stands for its integer / scale: what a mean embedding is divided by.
  virtual double scale(const Lattice& lattice) const { return static_cast<double>(lattice.scale()); }
  /// The sums of so many records cannot overflow. @throws ConfigError.
  virtual void require_no_overflow(std::uint64_t records, const Lattice& lattice) const;
  virtual MapCost cost() const = 0;
  /// Numbers that hash() has to rebuild: of hostile descriptions they can be many.
  virtual double numbers_in_map() const = 0;
  /// SHA-256, in hex, of what the description expands to: readers of a release check that they rebuild it.
  virtual std::string hash() const = 0;

  /// A map like this of at most so many features, resolved, where the kind can be made smaller: for audits.
  virtual std::unique_ptr<FeatureMap> shrunk(std::size_t /*features*/) const { return clone(); }

  // What else a kind may be good for; the default is: for nothing. Before resolve() these tell no more than
  // whether there are any.

  virtual std::optional<CountsInside> counts_inside(const Lattice&) const { return std::nullopt; }
  /// Does it sum second moments, from which a generator follows in closed form (muffle/features/lift.hpp)?
  virtual const SecondMomentFeatures* second_moments() const { return nullptr; }
  /// Does it count the codes of a table's columns (muffle/features/pairs.hpp)?
  virtual const TableFeatures* tables() const { return nullptr; }
  /// Is it released in rounds by a rule of its own (muffle/features/stepped.hpp)?
  virtual const SteppedFeatures* steps() const { return nullptr; }
  /// Does it read a table's record as numbers and one-hot entries (muffle/features/mixed.hpp)?
  virtual const MixedLayout* mixed() const { return nullptr; }

  /// The public file that it is made by, if it is made by one.
  virtual Asset* asset() { return nullptr; }
  const Asset* asset() const { return const_cast<FeatureMap*>(this)->asset(); }

  /// Are records summed by code that needs LibTorch? A program without it (muffle-site) declines such rounds.
  virtual bool needs_torch() const { return false; }

  /// The map as it sums records, on the CPU. @throws ConfigError  a network computes it: that is what
  /// networks::make_network_block() is for.
  virtual std::unique_ptr<Block> make_block(const Lattice& lattice) const = 0;
};

/// A line of the table.
struct MapKind {
  std::string_view name;
  std::string_view summary;  ///< one line, for help
  std::unique_ptr<FeatureMap> (*make)();
  bounds::NamedBound bound{};  ///< where it follows from a few sizes
};

/// The table of all kinds (src/features/map_kinds.inc).
std::span<const MapKind> map_kinds();
/// With the kind's default settings. @throws ConfigError  an unknown name: lists those that there are.
std::unique_ptr<FeatureMap> make_map(std::string_view kind);
/// For messages, the names of those with second moments, with tables, and with counts inside.
std::string second_moments_maps();
std::string tables_maps();
std::string counting_maps();
/// Of those kinds that have one.
std::vector<bounds::NamedBound> named_bounds();

/// What a map is there for.
enum class MapRole {
  kMatch,  ///< generators are made from it
  kProxy,  ///< nothing is made from it: two models are compared by their distances to it (train/proxy.hpp)
};

/// What the rounds of a release choose their tables from, for whoever repeats the choice. Public by its
/// owner's word.
struct Workload {
  std::shared_ptr<const FeatureMap> map;  ///< as it is configured; resolved
  double weight = 1.0;                    ///< which the rounds share
  std::uint64_t rule = 0;                 ///< of the choice (pair_graph::kRuleOfRounds)
};

/// One map of a release, by the name that the configuration gave it.
struct NamedMap {
  std::string name;
  MapRole role = MapRole::kMatch;
  double weight = 1.0;  ///< scales the map before the release: the larger, the less of the noise falls on it
  std::shared_ptr<const FeatureMap> map;  ///< resolved
  /// Of the release: what a later round counts may be chosen by the released numbers of those before it.
  std::size_t round = 1;
  std::optional<Workload> workload{};  ///< of the first of several rounds
  bool labelled = true;  ///< D numbers for each class; false: D numbers for all classes together
  Minibatches minibatches{};

  /// Sums of D numbers that are released, of so many classes: one for each class, minibatch after minibatch.
  std::size_t rows(std::size_t classes) const { return (labelled ? classes : 1) * minibatches.parts(); }
  /// The map can be released without labels, and a minibatch at a time: sums of other kinds are of each class
  /// of all records.
  bool is_plain(const Lattice& lattice) const;

  /// Those of the map, weight and minibatches included.
  BlockBound bound() const;
  std::vector<CoordinateRun> coordinates(const Lattice& lattice) const;
  PlainFacts plain_facts(const Lattice& lattice) const;
};

/// Some of the maps are released a minibatch at a time, by records' places among all.
bool minibatches_in(std::span<const NamedMap> maps);

/// Tells maps of a release where their files lie, as far as `files` has them: by what the files are.
void find_assets(std::vector<NamedMap>& maps, const AssetFiles& files);

/// True for 1 to 32 lower-case letters, digits and '-', beginning with a letter.
bool is_map_name(std::string_view text);

/// The section [map.NAME] of a configuration: one feature map, before it is resolved. Copies are deep.
struct MapSettings {
  MapRole role = MapRole::kMatch;
  double weight = 1.0;
  bool labelled = true;
  Minibatches minibatches{};
  Cloned<FeatureMap> map;  ///< null: its kind was not said yet

  /// The keys of every map, then those of the kind.
  void declare(settings::Keys& keys);
};

/// The sections [features] and [map.*]: what is released.
struct MapsSettings {
  Lattice lattice;
  std::map<std::string, MapSettings> maps;  ///< by name, in whose order they lie in the release

  /// Of [features]; the maps' own sections are declared one by one.
  void declare(settings::Keys& keys);
  /// FeatureMap::prepare() of every map.
  void prepare(const schema::Schema& schema);
  /// The files of those maps that are made by one, as far as they can be read.
  AssetFiles assets(const schema::Schema& schema) const;
  /// For the records that the schema describes. @throws ConfigError  with all problems of all maps.
  std::vector<NamedMap> resolved(const schema::Schema& schema) const;
};

}  // namespace muffle::features
