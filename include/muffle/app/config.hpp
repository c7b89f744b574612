#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "muffle/comm/gpu_choice.hpp"
#include "muffle/core/settings.hpp"
#include "muffle/data/settings.hpp"
#include "muffle/evaluate/metric.hpp"
#include "muffle/http/settings.hpp"
#include "muffle/job/settings.hpp"
#include "muffle/model/generator_kind.hpp"
#include "muffle/privacy/ledger.hpp"
#include "muffle/release/plan.hpp"
#include "muffle/site/policy.hpp"
#include "muffle/synth/sampler.hpp"
#include "muffle/train/settings.hpp"

namespace muffle::app {

/// The whole configuration, resolved. Everything in it is public.
struct Config {
  data::Settings data;
  features::MapsSettings features;  ///< [features] and [map.*]
  privacy::PrivacySpec privacy;
  bool release_counts = false;
  privacy::LedgerSettings ledger;
  job::AggregationSettings aggregation;
  std::string signing_key;  ///< key file of the coordinator, which signs the release; empty: nobody does
  model::Settings model;
  train::Settings train;
  struct {
    comm::DeviceWish embed = comm::DeviceWish::kCpu;
    bool share_gpus = false;
  } devices;  ///< where the work is done (docs/how-to/gpus.md)
  synth::SampleSpec sample;
  evaluate::Settings evaluate;
  struct {
    double deadline_s = 600;
    std::int64_t threads = 0;  ///< 0: the cores that the rank owns
  } runtime;
  release::ReleasePlan plan;    ///< of a release: what follows from the above, as load_config() checked it
  std::set<std::string> named;  ///< keys that some source gives, "sample.count"

  /// Of a party's own site.toml or coordinator.toml, whose keys these and few others are; none: a job's
  /// configuration.
  struct Party {
    bool site = true;              ///< false: the coordinator, or a key holder without records
    std::string exchange;          ///< where the consortium's messages lie
    http::ClientSettings network;  ///< how to get there, if it is an https:// address
    site::Policy policy;
    std::vector<std::string> networks;  ///< files of its own, for maps that are made by one
    int part = 0, parts = 1;  ///< of its files' records, the site has this one of so many equal parts
  };
  std::optional<Party> party;
};

/// What records are written as where nothing says: CSV of tables, which have names and spellings; else NPZ.
std::vector<std::string> usual_formats(const schema::Schema& schema);

using settings::Stage;

/// The stages that a command carries out.
struct Stages {
  bool release = false, train = false, sample = false, evaluate = false;

  static constexpr Stages all() { return {true, true, true, true}; }
};

/// Where settings come from; later ones win: file, environment (MUFFLE_SECTION__KEY), --set, flags.
struct ConfigSources {
  std::string file;                                        ///< TOML; empty: none
  std::map<std::string, std::string> environment;          ///< MUFFLE_* as found
  std::vector<std::string> set;                            ///< "section.key=value"
  std::vector<std::pair<std::string, std::string>> flags;  ///< key, value
  std::map<std::string, std::string> kept = {};  ///< key, literal: what holds where nothing else is said
};

/// Reads the settings and checks all that `stages` will need, so that nothing is charged for a job that could
/// not end. With a release also the later stages of which the sources name a key: they are meant to follow.
/// Classifiers without test files are for the job to leave out (run), but an evaluation by itself is refused.
/// @throws ConfigError listing every problem found: unknown keys (with a "did you mean"), wrong types, values
///         out of range, contradictions. @throws IoError if the file cannot be read.
Config load_config(const ConfigSources& sources, Stages stages = Stages::all());

/// Whether the sources may name a kind of map that needs LibTorch: by the word, before anything is parsed.
/// @throws IoError.
bool may_need_torch(const ConfigSources& sources);

/// A party's folder, as `muffle site init` or `muffle coordinator init` made it, and its settings. Neither
/// the environment nor the command line changes them: what a site asks for stands in one place.
struct PartyConfig {
  std::filesystem::path folder;
  /// Names of files and folders in it are absolute: relative ones begin at `folder`.
  Config config;

  const std::string& exchange() const { return config.party->exchange; }
  const site::Policy& policy() const { return config.party->policy; }
  /// Of the site's records: privacy.ledger, or FOLDER/ledger.jsonl.
  std::filesystem::path ledger() const;
  /// What the ledger has by now, with its budget; nothing is written. @throws as privacy::Ledger::preview().
  privacy::LedgerState ledger_state() const;
};
/// Its settings' file: FOLDER/site.toml, or FOLDER/coordinator.toml.
std::filesystem::path party_file(const std::filesystem::path& folder, bool site);
/// @throws ConfigError, IoError  as load_config().
PartyConfig load_party(const std::filesystem::path& folder, bool site);
/// A commented file of all of a party's keys. @param values  by key, as TOML literals; others: the defaults
std::string party_toml(bool site, const std::map<std::string, std::string>& values);

/// Everything that `stages` would stumble over: what they need and is not there, and values that do not go
/// together. Values that no stage could use are refused by the keys themselves. Makes the release's plan.
std::vector<std::string> contradictions(Config& config, const Stages& stages);

/// The schema by which the records are released: data.schema, or with its label as a column (data.label_as),
/// and with rows of a person counted where it says so.
/// From public numbers alone.
schema::Schema released_schema(const Config& config);
/// The name of the label that a plan counts like any other column; empty: there is none.
std::string label_as_column(const release::ReleasePlan& plan);
/// release::ReleaseSettings of a configuration. @throws ConfigError.
release::ReleaseSettings release_settings(const Config& config);
/// Whether the release would be another one, if it were told this guess of its private number of records: how
/// a label is counted, the shares of rounds, what bins are learned with.
bool goes_by_guess(const Config& config, std::uint64_t records);
/// What is to be said where a private number of records has no guess that the release would go by; empty:
/// nothing. From public numbers alone.
std::string without_a_guess(const Config& config);
/// MUFFLE_* variables of this process's environment that name a key (MUFFLE_SECTION__KEY), or a section at
/// least (MUFFLE_SECTION_KEY: load_config refuses them).
std::map<std::string, std::string> environment_settings();

/// The settings that come from the environment, as a job says at its start: "privacy.epsilon
/// (MUFFLE_PRIVACY__EPSILON), ...", without those that --set or a flag beats; empty if there are none.
/// @param section  only keys that begin with it, such as "privacy."
std::string from_environment(const ConfigSources& sources, std::string_view section = {});

/// All that samples can be written in: the record formats, and PNG.
synth::Formats sample_formats();

/// Every key of a configuration, bound to it, section by section in the order of config.resolved.toml. Which
/// there are depends on it: a feature map has the keys of its kind.
std::vector<settings::Key> keys_of(Config& config);

/// Canonical "section.key" -> TOML literal for every key.
std::map<std::string, std::string> flatten(const Config& config);

/// What all ranks must be told alike: flatten(), and the columns of a table's schema.
std::map<std::string, std::string> agreed_settings(const Config& config);

/// config.resolved.toml: the keys of flatten(), or some of them, each with a comment saying what it means.
std::string to_toml(const std::map<std::string, std::string>& literals);

/// The settings that a file such as config.resolved.toml holds, as flatten() writes them. Keys and values
/// that this version does not know are left out. @throws ConfigError  no TOML; IoError.
std::map<std::string, std::string> settings_in(const std::string& file);

/// Whether the key says where the records and their schema lie. Two spellings of a path are one place, so
/// these keys are in no stage's hash: the files themselves are told apart by their real paths, and a schema
/// by what it says.
bool names_records(const std::string& key);

/// Whether the key says where files of one's own lie: records, keys, the ledger. Nobody else is told.
bool names_own_files(const std::string& key);

/// SHA-256 (hex) over the keys of `stage` (train: also those of the model), but for names_records().
std::string stage_hash(const Config& config, Stage stage);

/// A setting, as people and shells are told of it.
struct KeyText {
  std::string name, preset, help;  ///< "section.key", of maps "map.NAME.key"; the default as TOML
  std::vector<std::string> words;  ///< all that it may be, if those are names
};
/// Keys that are there together: of every configuration, of a kind of map, of a kind with one of its
/// settings.
struct KeySection {
  std::string title;     ///< `[map.NAME] with kind = "rff": ...`; empty: of every configuration
  bool further = false;  ///< belongs to the section before it
  std::vector<KeyText> keys;
};
std::vector<KeySection> described_keys();

/// "section.key  (default)  meaning", one line a key: the text of `muffle config-keys`.
std::string describe_keys();

}  // namespace muffle::app
