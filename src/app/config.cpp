#include "muffle/app/config.hpp"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <filesystem>
#include <optional>
#include <set>

#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/core/hash.hpp"
#include "muffle/core/kinds.hpp"
#include "muffle/core/watchdog.hpp"
#include "muffle/pair_graph/rounds.hpp"
#include "muffle/release/plan_json.hpp"
#include "muffle/schema/plain_text.hpp"

extern char** environ;

namespace muffle::app {
namespace {

/// Below so many records a class, counts of each class by itself cost pairs more than they gain
/// (docs/explanation/pairs.md, "a label of few records").
constexpr std::uint64_t kFewOfAClass = 5000;

using settings::Key;
using settings::Value;

Value bare_text(const std::string& text) { return {.text = text, .shown = "\"" + text + "\""}; }

Value from_toml(const toml::node& node) {
  using Kind = Value::Kind;
  if (const auto* s = node.as_string()) return bare_text(s->get());
  if (const auto* b = node.as_boolean())
    return {.kind = Kind::kBool, .boolean = b->get(), .shown = b->get() ? "true" : "false"};
  if (const auto* i = node.as_integer())
    return {.kind = Kind::kInteger, .integer = i->get(), .shown = std::to_string(i->get())};
  if (const auto* f = node.as_floating_point())
    return {.kind = Kind::kFloat, .number = f->get(), .shown = fmt::format("{}", f->get())};
  if (!node.is_array()) return {.kind = Kind::kArray, .items = {{}}, .shown = "a date, time or table"};
  Value v{.kind = Kind::kArray, .shown = ""};
  for (const auto& item : *node.as_array()) {
    v.items.push_back(from_toml(item));
    v.shown += (v.shown.empty() ? "" : ", ") + v.items.back().shown;
  }
  v.shown = "[" + v.shown + "]";
  return v;
}

/// Text from the command line or the environment: a TOML value, or else a bare string, without quotes.
Value from_text(const std::string& text) {
  try {
    const toml::table t = toml::parse("v = " + text);
    if (t.size() == 1 && t.contains("v")) return from_toml(*t.get("v"));
  } catch (const toml::parse_error&) {
  }
  return bare_text(text);
}

std::string section_of(const std::string& key) { return key.substr(0, key.rfind('.')); }

bool has_section(const std::vector<Key>& keys, const std::string& name) {
  return std::any_of(keys.begin(), keys.end(), [&](const Key& k) { return section_of(k.name) == name; });
}

/// Of a name that is no file here: the configuration that was installed with this muffle, wherever its prefix
/// lies now; "adult.toml" or "configs/adult.toml".
std::string found_here_or_installed(const std::string& name) {
  namespace fs = std::filesystem;
  const fs::path looked_for = name;
  const WatchedStep step("looking for", looked_for);
  std::error_code error;
  if (fs::exists(name, error) || fs::path(name).is_absolute()) return name;
  // In PREFIX/bin, or in PREFIX/libexec/muffle (program_light.cpp).
  const fs::path programs = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (const fs::path& prefix : {programs.parent_path(), programs.parent_path().parent_path()}) {
    for (const char* folder : {"share/muffle/configs", "share/muffle"}) {
      const fs::path installed = prefix / folder / name;
      if (!prefix.empty() && fs::exists(installed, error)) return installed.string();
    }
  }
  return name;
}

/// Whether this program carries out no such stage (muffle-site), and so has none of its keys: what a
/// configuration says of it is another program's.
bool is_passed_over(const std::vector<Key>& keys, const std::string& section) {
  const bool later = section == "model" || section == "train" || section == "sample" || section == "evaluate";
  return later && !has_section(keys, section);
}

constexpr const char* kMap = "map.";

/// "coarse" of "map.coarse.count".
std::optional<std::string> map_of(const std::string& key) {
  const std::string section = section_of(key);
  if (!section.starts_with(kMap)) return std::nullopt;
  return section.substr(std::strlen(kMap));
}

/// Reads assignments from all sources and applies them in rounds: map.NAME.kind brings further keys.
class Loader {
 public:
  Loader() = default;
  /// @param start  what holds where nothing else is said
  explicit Loader(Config start) : config_(std::move(start)) {}

  void set(const std::string& key, Value value, const std::string& where,
           const std::filesystem::path& folder) {
    waiting_.push_back({key, std::move(value), std::nullopt, where, folder});
  }
  /// `--set data.dir=2024` means the folder "2024": what is no value for the key is taken as a bare text.
  void set_text(const std::string& key, const std::string& text, const std::string& where) {
    waiting_.push_back({key, from_text(text), text, where, {}});
  }
  void refuse(std::string problem) { problems_.add(std::move(problem)); }

  void read_file(const std::string& path) {
    toml::table table;
    try {
      table = toml::parse(muffle::read_file(path, 1 << 20), path);
    } catch (const toml::parse_error& e) {
      throw ConfigError(fmt::format("{} line {}: not valid TOML: {}. Mend that line; text needs quotes.",
                                    path, e.source().begin.line, std::string(e.description())));
    }
    read_table(table, "", path);
  }

  /// Without a look at how settings go together. @param schema_too  the schema's file is read, too
  void apply(bool schema_too = false) {
    for (bool prepared = false;;) {
      if (apply_known()) continue;
      if (prepared) break;
      if (schema_too) {
        problems_.check("", [&] {
          const auto named = [&](const std::string& key) { return named_.contains("data." + key); };
          config_.data.read_schema(schema_folder_, named);
        });
        schema_stands_ = config_.data.schema_file.empty() || config_.data.schema.table != nullptr;
      }
      // What the records decide may bring more keys.
      config_.features.prepare(config_.data.schema);
      prepared = true;
    }
    const std::vector<Key> known = keys_of(config_);
    for (const Assignment& a : waiting_) {
      if (!config_.party && is_passed_over(known, section_of(a.key))) continue;
      // Said already; or perhaps a key that the schema would have brought.
      if (const auto map = map_of(a.key); map && (bad_maps_.contains(*map) || !schema_stands_)) continue;
      const std::string near = settings::nearest(a.key, names_of(std::span(known)));
      refuse(
          fmt::format("{}: unknown key '{}'{}", a.where, a.key,
                      near.empty() ? "; `muffle config-keys` lists all" : "; did you mean '" + near + "'"));
    }
  }

  /// The settings that were named and could be read.
  std::map<std::string, std::string> named_settings() {
    std::map<std::string, std::string> out;
    for (const Key& key : keys_of(config_)) {
      if (named_.contains(key.name)) out[key.name] = key.get();
    }
    return out;
  }
  /// Those that there are, by what was applied.
  std::vector<Key> keys() { return keys_of(config_); }

  Config finish(Stages stages) {
    apply(true);
    if (stages.release) stages = with_named(stages);
    config_.named = named_;
    if (!named_.contains("sample.formats")) config_.sample.formats = usual_formats(config_.data.schema);
    config_.sample.text.separator = config_.data.separator;
    config_.sample.text.header = config_.data.header;
    // Nothing else can be meant by a path with the rank's number in it.
    if (!named_.contains("data.shards") && data::names_rank(config_.data, config_.data.features))
      config_.data.shards = data::ShardRule::kPerRank;
    // Without its schema nothing that the rest says of records would be true.
    if (schema_stands_) {
      if (stages.release)
        release::choose_sizes(config_.features, released_schema(config_), config_.privacy,
                              config_.release_counts, config_.data.records);
      for (std::string& p : contradictions(config_, stages)) problems_.add(std::move(p));
    }
    const std::vector<std::string> problems = problems_.take();
    if (problems.empty()) return config_;
    std::string message = problems.size() == 1
                              ? std::string("The configuration has a problem: ")
                              : fmt::format("The configuration has {} problems: ", problems.size());
    for (std::size_t i = 0; i < problems.size(); ++i)
      message += (problems.size() > 1 ? fmt::format("({}) ", i + 1) : "") + problems[i] + ". ";
    throw ConfigError(message + "Nothing was read or charged; `muffle config-keys` explains every setting.");
  }

 private:
  struct Assignment {
    std::string key;
    Value value;
    std::optional<std::string> text;  ///< as typed
    std::string where;
    std::filesystem::path folder;  ///< of the file that has it; empty: it was typed
  };

  void read_table(const toml::table& table, const std::string& prefix, const std::string& path) {
    for (const auto& [key, value] : table) {
      const std::string name = prefix + std::string(key.str());
      const auto where = [&path, &at = value] {
        return fmt::format("{} line {}", path, at.source().begin.line);
      };
      const toml::table* inner = value.as_table();
      if (inner == nullptr) {
        set(name, from_toml(value), where(), std::filesystem::path(path).parent_path());
      } else if (inner->empty() && prefix == kMap) {
        make_map(name + ".", where());
      } else if (inner->empty() && name + "." != kMap && !has_section(keys_of(config_), name) &&
                 (config_.party || !is_passed_over(keys_of(config_), name))) {
        refuse(fmt::format("{}: unknown section '{}'", where(), name));
      } else {
        read_table(*inner, name + ".", path);
      }
    }
  }

  /// The map that `key` speaks of is there, if it can be.
  void make_map(const std::string& key, const std::string& where) {
    const std::optional<std::string> name = map_of(key);
    if (!name || config_.features.maps.contains(*name)) return;
    if (features::is_map_name(*name)) {
      config_.features.maps[*name];
    } else if (bad_maps_.insert(*name).second) {
      refuse(
          fmt::format("{}: \"{}\" is no name of a feature map: use 1 to 32 lower-case letters, digits and "
                      "'-', a letter first",
                      where, *name));
    }
  }

  /// Applies what is known by now. @returns whether anything was.
  bool apply_known() {
    for (const Assignment& a : waiting_) make_map(a.key, a.where);
    const std::vector<Key> known = keys_of(config_);
    std::vector<Assignment> left;
    for (Assignment& a : waiting_) {
      const auto key =
          std::find_if(known.begin(), known.end(), [&](const Key& k) { return k.name == a.key; });
      if (key == known.end()) {
        left.push_back(std::move(a));
        continue;
      }
      std::string problem = key->set(a.value);
      if (!problem.empty() && a.text && a.value.kind != Value::Kind::kString &&
          key->set(bare_text(*a.text)).empty())
        problem.clear();
      if (problem.empty()) {
        named_.insert(a.key);
        if (a.key == "data.schema") schema_folder_ = a.folder;
      } else {
        refuse(fmt::format("{}: {} {}", a.where, a.key, problem));
      }
    }
    const bool any = left.size() < waiting_.size();
    waiting_ = std::move(left);
    return any;
  }

  Stages with_named(Stages stages) {
    for (const Key& key : keys_of(config_)) {
      if (!named_.contains(key.name)) continue;
      stages.train = stages.train || key.stage == Stage::kTrain;
      stages.sample = stages.sample || key.stage == Stage::kSample;
      stages.evaluate = stages.evaluate || key.stage == Stage::kEvaluate;
    }
    return stages;
  }

  Config config_;
  std::vector<Assignment> waiting_;
  settings::Problems problems_;
  std::set<std::string> named_;          ///< keys that some source names
  std::set<std::string> bad_maps_;       ///< names that no map can have
  bool schema_stands_ = true;            ///< no schema's file is named, or it could be read
  std::filesystem::path schema_folder_;  ///< from which data.schema goes
};

std::string lower_case(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

/// "map.coarse.count" of MUFFLE_MAP__COARSE__COUNT; empty: no setting.
std::string environment_key(const std::string& variable) {
  std::string key = variable.substr(std::strlen("MUFFLE_"));
  if (key.find("__") == std::string::npos) return {};
  for (std::size_t at = key.find("__"); at != std::string::npos; at = key.find("__", at + 1))
    key.replace(at, 2, ".");
  return lower_case(key);
}

/// "MUFFLE_PRIVACY__EPSILON" for "MUFFLE_PRIVACY_EPSILON": what a variable that names a section, but is no
/// setting, may have meant; empty for others (MUFFLE_TEST_RANKS and the like).
std::string meant_variable(const std::string& variable) {
  const std::string rest = variable.substr(std::strlen("MUFFLE_"));
  const auto end = rest.find('_');
  if (end == std::string::npos) return {};
  const std::string section = lower_case(rest.substr(0, end)), key = rest.substr(end + 1);
  if (section == "map") {
    const auto name_end = key.find('_');
    return name_end == std::string::npos
               ? ""
               : "MUFFLE_MAP__" + key.substr(0, name_end) + "__" + key.substr(name_end + 1);
  }
  Config defaults;
  return has_section(keys_of(defaults), section) && !key.empty()
             ? "MUFFLE_" + rest.substr(0, end) + "__" + key
             : "";
}

/// What Keys::word() puts behind the help of a key that is one of some names: `("idx", "cifar")`.
std::vector<std::string> words_listed(const std::string& help) {
  std::vector<std::string> out;
  const std::size_t open = help.rfind(" (\"");
  if (open == std::string::npos || !help.ends_with("\")")) return out;
  for (std::size_t at = open + 3; at < help.size();) {
    const std::size_t end = help.find('"', at);
    out.push_back(help.substr(at, end - at));
    at = help.find('"', end + 1);
    if (at != std::string::npos) ++at;
  }
  return out;
}

/// keys_of() reads the fields of a configuration through the same bindings that write them.
std::vector<Key> reading_keys(const Config& config) { return keys_of(const_cast<Config&>(config)); }

}  // namespace

Config load_config(const ConfigSources& sources, Stages stages) {
  Loader loader;
  for (const auto& [key, literal] : sources.kept) loader.set_text(key, literal, "the run folder");
  if (!sources.file.empty()) loader.read_file(found_here_or_installed(sources.file));
  for (const auto& [variable, value] : sources.environment) {
    const std::string key = environment_key(variable), where = "environment variable " + variable;
    if (key.empty()) {
      loader.refuse(fmt::format(
          "{} is no setting: section and key stand with two underscores between them; did you mean {}", where,
          meant_variable(variable)));
    } else {
      loader.set_text(key, value, where);
    }
  }
  for (const std::string& assignment : sources.set) {
    const auto equals = assignment.find('=');
    if (equals == std::string::npos)
      throw UsageError("--set needs section.key=value, not '" + assignment + "'.");
    loader.set_text(assignment.substr(0, equals), assignment.substr(equals + 1), "--set " + assignment);
  }
  for (const auto& [key, value] : sources.flags) loader.set_text(key, value, "command line");
  return loader.finish(stages);
}

bool may_need_torch(const ConfigSources& sources) {
  std::string all;
  if (!sources.file.empty()) all = read_file(found_here_or_installed(sources.file), 1 << 20);
  for (const auto& [variable, value] : sources.environment) all += value + "\n";
  for (const std::string& assignment : sources.set) all += assignment + "\n";
  return std::ranges::any_of(features::map_kinds(), [&](const features::MapKind& kind) {
    return all.find(kind.name) != std::string::npos && kind.make()->needs_torch();
  });
}

namespace {

Config party_defaults(bool site) {
  Config config;
  config.party = Config::Party{
      .site = site, .exchange = {}, .network = {}, .policy = {}, .networks = {}, .part = 0, .parts = 1};
  return config;
}

}  // namespace

std::filesystem::path party_file(const std::filesystem::path& folder, bool site) {
  return folder / (site ? "site.toml" : "coordinator.toml");
}

PartyConfig load_party(const std::filesystem::path& folder, bool site) {
  const std::filesystem::path file = party_file(folder, site);
  Loader loader(party_defaults(site));
  loader.read_file(file.string());
  PartyConfig out{folder, loader.finish({})};
  const auto from_folder = [&](std::string& name) {
    if (!name.empty() && name.find("://") == std::string::npos)
      name = std::filesystem::absolute(folder / name).lexically_normal().string();
  };
  from_folder(out.config.party->exchange);
  for (std::string& network_file : out.config.party->networks) from_folder(network_file);
  http::ClientSettings& network = out.config.party->network;
  const http::ClientSettings environment = http::settings_from_environment();
  for (std::string http::ClientSettings::*key :
       {&http::ClientSettings::ca, &http::ClientSettings::client_cert, &http::ClientSettings::client_key})
    from_folder(network.*key);
  for (std::string http::ClientSettings::*key :
       {&http::ClientSettings::ca, &http::ClientSettings::client_cert, &http::ClientSettings::client_key,
        &http::ClientSettings::proxy}) {
    if ((network.*key).empty()) network.*key = environment.*key;
  }
  from_folder(out.config.ledger.file);
  out.config.data.dir = std::filesystem::absolute(folder / out.config.data.dir).lexically_normal().string();
  settings::Problems problems;
  out.config.ledger.problems(problems);
  out.config.party->policy.problems(problems);
  problems.unless(out.config.party->part < out.config.party->parts, "site.part must be below site.parts");
  problems.unless(
      !site || out.config.data.schema.on_error == schema::OnError::kClamp,
      "data.on_error = \"reject-file\" is not for rounds between institutions: who contributes is "
      "public, and would tell whether there is a record that does not fit. Leave \"clamp\"; "
      "`muffle check` names such records to this site alone");
  problems.unless(!site || !out.config.ledger.data_id.empty(),
                  "data.id is empty: the site's privacy ledger needs a name for its records");
  problems.throw_if_any(file.string());
  return out;
}

std::filesystem::path PartyConfig::ledger() const {
  return config.ledger.file.empty() ? folder / "ledger.jsonl" : std::filesystem::path(config.ledger.file);
}

privacy::LedgerState PartyConfig::ledger_state() const {
  const privacy::LedgerSettings& settings = config.ledger;
  std::optional<privacy::Budget> budget;
  if (settings.budget_epsilon)
    budget = privacy::Budget::from_epsilon(*settings.budget_epsilon, settings.budget_delta);
  return privacy::Ledger::preview(ledger(), settings.data_id, budget);
}

std::string party_toml(bool site, const std::map<std::string, std::string>& values) {
  Config config = party_defaults(site);
  std::string out, section;
  for (const Key& key : keys_of(config)) {
    if (section_of(key.name) != section) {
      section = section_of(key.name);
      out += fmt::format("{}[{}]\n", out.empty() ? "" : "\n", section);
    }
    const auto given = values.find(key.name);
    out += fmt::format("# {}\n{} = {}\n", key.help, key.name.substr(section.size() + 1),
                       given == values.end() ? key.get() : given->second);
  }
  return out;
}

std::map<std::string, std::string> environment_settings() {
  std::map<std::string, std::string> out;
  for (char** e = environ; *e != nullptr; ++e) {
    const std::string entry(*e);
    const auto equals = entry.find('=');
    // Others (MUFFLE_TEST_RANKS and the like) are not settings: only MUFFLE_SECTION__KEY is. What looks like
    // one goes in, to be refused.
    if (entry.rfind("MUFFLE_", 0) != 0 || equals == std::string::npos) continue;
    const std::string variable = entry.substr(0, equals);
    if (!environment_key(variable).empty() || !meant_variable(variable).empty())
      out[variable] = entry.substr(equals + 1);
  }
  return out;
}

std::string from_environment(const ConfigSources& sources, std::string_view section) {
  std::set<std::string> beaten;
  for (const std::string& assignment : sources.set) beaten.insert(assignment.substr(0, assignment.find('=')));
  for (const auto& [key, value] : sources.flags) beaten.insert(key);
  std::string out;
  for (const auto& [variable, value] : sources.environment) {
    const std::string key = environment_key(variable);
    if (!key.empty() && key.starts_with(section) && !beaten.contains(key))
      out += fmt::format("{}{} ({})", out.empty() ? "" : ", ", key, variable);
  }
  return out;
}

schema::Schema released_schema(const Config& c) {
  schema::Schema schema = c.data.schema;
  for (std::string& name : schema.class_names) name = schema::plain_text(name);
  const std::uint64_t records = std::max(c.data.records, c.data.expected_records);
  const auto is_counted = [](const auto& map) {
    return map.second.map && map.second.map->tables() != nullptr && map.second.labelled;
  };
  const bool few = records > 0 && records / schema.classes < kFewOfAClass && !c.features.maps.empty() &&
                   std::ranges::all_of(c.features.maps, is_counted);
  const bool as_column =
      c.data.label_as == data::LabelAs::kColumn || (c.data.label_as == data::LabelAs::kAuto && few);
  if (!schema.table) return schema;
  schema::Table table = with_rows_counted(*schema.table);
  if (as_column) table = with_label_as_column(std::move(table));
  if (table != *schema.table) describe_table(schema, std::make_shared<const schema::Table>(std::move(table)));
  return schema;
}

std::string label_as_column(const release::ReleasePlan& plan) {
  const auto target = plan.schema.table ? plan.schema.table->target() : std::nullopt;
  return target ? plan.schema.table->columns[*target].name : "";
}

release::ReleaseSettings release_settings(const Config& c) {
  schema::Schema schema = released_schema(c);
  std::vector<features::NamedMap> maps = c.features.resolved(schema);
  return pair_graph::in_rounds({std::move(schema), c.features.lattice, std::move(maps), c.privacy,
                                c.release_counts, c.data.records, c.data.expected_records});
}

bool goes_by_guess(const Config& config, std::uint64_t records) {
  if (config.data.expected_records > 0 || config.data.records > 0) return false;
  Config told = config;
  told.data.expected_records = records;
  return release::plan_hash(release::make_plan(release_settings(told))) != release::plan_hash(config.plan);
}

std::string without_a_guess(const Config& config) {
  constexpr std::uint64_t kFew = 1000;
  if (!goes_by_guess(config, kFew)) return {};
  return "data.expected_records is not set: how the label is counted, the shares of rounds and what bins are "
         "learned with are those of very many records, which costs a table of few much (pairs of columns up "
         "to .07). A public guess of their number will do; a wrong one costs quality alone";
}

std::map<std::string, std::string> flatten(const Config& config) {
  std::map<std::string, std::string> out;
  for (const Key& k : reading_keys(config)) out[k.name] = k.get();
  return out;
}

std::map<std::string, std::string> agreed_settings(const Config& config) {
  std::map<std::string, std::string> out = flatten(config);
  if (config.data.schema.table) {
    out.erase("data.schema");  // each rank may have its own copy
    out.merge(schema::column_hashes(*config.data.schema.table));
  }
  return out;
}

std::string to_toml(const std::map<std::string, std::string>& literals) {
  std::string out =
      "# Every setting of what lies here, resolved: defaults, file, environment, --set and flags.\n";
  std::string section;
  Loader loader;
  for (const auto& [key, literal] : literals) loader.set_text(key, literal, key);
  loader.apply();
  for (const Key& k : loader.keys()) {
    const auto found = literals.find(k.name);
    if (found == literals.end()) continue;
    if (section_of(k.name) != section) {
      section = section_of(k.name);
      out += "\n[" + section + "]\n";
    }
    out += fmt::format("# {}\n{} = {}\n", k.help, k.name.substr(section.size() + 1), found->second);
  }
  return out;
}

std::map<std::string, std::string> settings_in(const std::string& file) {
  Loader loader;
  loader.read_file(file);
  loader.apply();
  return loader.named_settings();
}

bool names_records(const std::string& key) {
  return key == "data.dir" || key == "data.schema" || key == "data.features" || key == "data.labels";
}

bool names_own_files(const std::string& key) {
  return names_records(key) || key == "privacy.ledger" || key == "privacy.signing_key" ||
         key == "privacy.site_key" || key == "privacy.site_roster";
}

std::string stage_hash(const Config& config, Stage stage) {
  Sha256 hash;
  for (const Key& k : reading_keys(config)) {
    if (k.decides(stage) && !names_records(k.name)) hash.update(PublicBytes(k.name + "=" + k.get() + "\n"));
  }
  if (stage == Stage::kRelease && config.data.schema.table)
    hash.update(PublicBytes("table=" + schema::table_hash(*config.data.schema.table) + "\n"));
  return to_hex(hash.digest());
}

std::vector<KeySection> described_keys() {
  std::vector<KeySection> out;
  const auto tell = [&out](const std::string& title, bool further, const std::vector<Key>& keys) {
    KeySection& section = out.emplace_back(KeySection{title, further, {}});
    for (const Key& k : keys) section.keys.push_back({k.name, k.get(), k.help, words_listed(k.help)});
  };
  Config defaults;
  tell("", false, keys_of(defaults));
  for (const features::MapKind& kind : features::map_kinds()) {
    features::MapSettings map;
    map.map = kind.make();
    settings::Keys keys("map.NAME");
    map.declare(keys);
    tell(fmt::format("[map.NAME] with kind = \"{}\": {}", kind.name, kind.summary), false, keys.take());
    map.map->tell_further_keys([&](const std::string& when, const std::vector<Key>& further) {
      tell("with " + when, true, further);
    });
  }
  return out;
}

std::string describe_keys() {
  std::string out;
  for (const KeySection& section : described_keys()) {
    if (!section.title.empty()) out += (section.further ? "  " : "\n") + section.title + "\n";
    for (const KeyText& k : section.keys) out += fmt::format("{:32} {:24} {}\n", k.name, k.preset, k.help);
  }
  return out;
}

}  // namespace muffle::app
