#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "muffle/core/heartbeat.hpp"
#include "muffle/core/json_fields.hpp"
#include "muffle/core/kinds.hpp"
#include "muffle/core/settings.hpp"
#include "muffle/model/named_array.hpp"
#include "muffle/sampling/sampler.hpp"
#include "muffle/schema/schema.hpp"

namespace muffle::features {
struct NamedMap;
}
namespace muffle::release {
struct Artifact;
struct ReleasePlan;
}  // namespace muffle::release

namespace muffle::model {

using sampling::kMostModelBytes;
using sampling::Sampler;

class NetworkSettings;
class ClosedFormSettings;
struct ModelContent;
struct ModelInfo;

/// A generator's architecture or law: everything that is needed to rebuild it but its numbers, without
/// LibTorch. A kind derives from NetworkSettings or ClosedFormSettings, in a file of its own, and has a line
/// in generator_kinds.inc. Public.
class GeneratorSettings {
 public:
  virtual ~GeneratorSettings() = default;
  /// The kind's name in the table.
  virtual std::string_view kind() const = 0;
  virtual std::unique_ptr<GeneratorSettings> clone() const = 0;

  /// The kind's keys of [model]. Kinds may share a key: it sets all of them.
  virtual void declare(settings::Keys& keys) = 0;
  /// What is wrong with the settings. @param schema  of the records to be drawn; null: not known yet
  virtual void problems(const schema::Schema* schema, settings::Problems& problems) const = 0;

  /// As a model file states them, and back. @throws ProtocolError.
  virtual nlohmann::json to_json() const = 0;
  virtual void read_json(const JsonFields& fields) = 0;

  /// float32 numbers that drawing takes at once for each record, at most, d numbers and a copy included.
  virtual double numbers_at_once(const schema::Schema& schema) const = 0;
  /// What a model file of this generator holds, ready to draw. @throws ProtocolError  it holds no such.
  virtual std::unique_ptr<Sampler> open(const ModelInfo& info, const JsonFields& description,
                                        std::span<const std::byte> payload) const = 0;
  /// All that it has learnt, by name, for other programs: of what open() took.
  virtual std::vector<NamedArray> arrays(const ModelInfo& info, const JsonFields& description,
                                         std::span<const std::byte> payload) const = 0;

  /// How many different records of a class it can draw; 0: without limit.
  virtual std::uint64_t distinct_records() const { return 0; }
  /// Its samplers know how many rows people have, where the schema has them counted
  /// (Sampler::people_by_rows()).
  virtual bool knows_rows_of_people() const { return false; }

  /// Null: it is not trained; then closed_form() is there.
  virtual const NetworkSettings* network() const { return nullptr; }
  /// Null: it is not fitted in closed form.
  virtual const ClosedFormSettings* closed_form() const { return nullptr; }
};

/// A generator that is fitted to a release in closed form, by one rank and without steps.
class ClosedFormSettings : public GeneratorSettings {
 public:
  const ClosedFormSettings* closed_form() const final { return this; }
  /// However much noise there is. @throws ConfigError  the release lacks what it is made of.
  virtual ModelContent fit(const release::Artifact& release, const Heartbeat& heartbeat) const = 0;
  /// What it lacks in a release of these maps. @param schema  of the records
  virtual void release_problems(const schema::Schema& schema, const std::vector<features::NamedMap>& maps,
                                settings::Problems& problems) const = 0;
  /// Bytes that fit() and writing the model take at once, the large arrays; 0: no such release can be fitted.
  virtual std::uint64_t fit_bytes(const release::ReleasePlan& plan) const = 0;
};

/// A line of the table.
struct GeneratorKind {
  std::string_view name;
  std::string_view summary;  ///< one line, for help
  std::unique_ptr<GeneratorSettings> (*make)();
};

/// GeneratorKind::make of most.
template <class Kind>
std::unique_ptr<GeneratorSettings> make_default() {
  return std::make_unique<Kind>();
}

// What kinds have in common.

/// Larger sizes than any real model has.
inline constexpr std::uint64_t kMaxSize = std::uint64_t{1} << 24;

inline constexpr const char* kPlainShareHelp =
    "closed form: share of records with plainly clipped numbers; the others' keep mean and variance";

/// A number from 0 to 1.
double share(const JsonFields& fields, std::string_view key);

/// The table of all kinds (src/model/generator_kinds.inc).
std::span<const GeneratorKind> generator_kinds();
/// With the kind's default settings. @throws ConfigError  an unknown name: lists those that there are.
std::unique_ptr<GeneratorSettings> make_generator_settings(std::string_view kind);
/// The networks' names, for messages.
std::string networks();

/// The section [model]: which generator, and the settings of every kind.
class Settings {
 public:
  Settings();

  void declare(settings::Keys& keys);
  const GeneratorSettings& chosen() const;

  std::string generator = "convolutional";

 private:
  std::vector<Cloned<GeneratorSettings>> kinds_;  ///< in the table's order
};

}  // namespace muffle::model
