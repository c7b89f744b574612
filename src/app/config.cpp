#include "muffle/app/config.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>

#include <algorithm>
#include <cctype>
#include <cstring>
#include <set>

#include "config_keys.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/core/hash.hpp"
#include "muffle/privacy/sensitivity.hpp"

extern char** environ;

namespace muffle::app {
namespace {

Value from_toml(const toml::node& node) {
  Value v;
  if (const auto* b = node.as_boolean()) {
    v.kind = Value::Kind::kBool;
    v.boolean = b->get();
    v.shown = v.boolean ? "true" : "false";
  } else if (const auto* i = node.as_integer()) {
    v.kind = Value::Kind::kInteger;
    v.integer = i->get();
    v.shown = std::to_string(v.integer);
  } else if (const auto* f = node.as_floating_point()) {
    v.kind = Value::Kind::kFloat;
    v.number = f->get();
    v.shown = fmt::format("{}", v.number);
  } else if (const auto* s = node.as_string()) {
    v.kind = Value::Kind::kString;
    v.text = s->get();
    v.shown = fmt::format("\"{}\"", v.text);
  } else if (const auto* a = node.as_array()) {
    v.kind = Value::Kind::kArray;
    std::vector<std::string> shown;
    for (const auto& item : *a) {
      v.items.push_back(from_toml(item));
      shown.push_back(v.items.back().shown);
    }
    v.shown = fmt::format("[{}]", fmt::join(shown, ", "));
  } else {
    v.kind = Value::Kind::kArray;
    v.items.push_back({});
    v.shown = "a date, time or table";
  }
  return v;
}

/// Text from the command line or the environment: a TOML value, or else a bare string (so that quotes are not
/// needed).
Value from_text(const std::string& text) {
  try {
    const toml::table t = toml::parse("v = " + text);
    if (t.size() == 1 && t.contains("v")) return from_toml(*t.get("v"));
  } catch (const toml::parse_error&) {
  }
  Value v;
  v.text = text;
  v.shown = "\"" + text + "\"";
  return v;
}

bool is_section(const std::string& name) {
  const auto all = keys();
  return std::any_of(all.begin(), all.end(), [&](const Key& k) { return k.name.starts_with(name + "."); });
}

class Loader {
 public:
  void set(const std::string& key, const Value& value, const std::string& where) {
    const Key* k = find_key(key);
    if (k == nullptr) {
      const std::string near = nearest_key(key);
      problems_.push_back(
          fmt::format("{}: unknown key '{}'{}", where, key,
                      near.empty() ? "; `muffle config-keys` lists all" : "; did you mean '" + near + "'"));
      return;
    }
    if (const std::string problem = k->set(config_, value); !problem.empty()) {
      problems_.push_back(fmt::format("{}: {} {}", where, key, problem));
      return;
    }
    named_.insert(key);
  }

  void refuse(std::string problem) { problems_.push_back(std::move(problem)); }

  void set_text(const std::string& key, const std::string& text, const std::string& where) {
    Value value = from_text(text);
    // `--set data.dir=2024` means the folder "2024".
    if (const Key* k = find_key(key); k != nullptr && value.kind != Value::Kind::kString) {
      Config scratch;
      if (!k->set(scratch, value).empty()) {
        Value bare;
        bare.text = text;
        bare.shown = value.shown;
        value = bare;
      }
    }
    set(key, value, where);
  }

  void read_file(const std::string& path) {
    toml::table table;
    try {
      table = toml::parse(muffle::read_file(path, 1 << 20), path);
    } catch (const toml::parse_error& e) {
      throw ConfigError(fmt::format("{} line {}: not valid TOML: {}. Mend that line; text needs quotes.",
                                    path, e.source().begin.line, std::string(e.description())));
    }
    for (const auto& [section, content] : table) {
      const std::string name(section.str());
      const toml::table* keys_here = content.as_table();
      if (keys_here != nullptr && keys_here->empty() && !is_section(name))
        refuse(fmt::format("{} line {}: unknown section '{}'", path, content.source().begin.line, name));
      if (keys_here == nullptr) {
        set(name, from_toml(content), fmt::format("{} line {}", path, content.source().begin.line));
        continue;
      }
      for (const auto& [key, value] : *keys_here) {
        set(name + "." + std::string(key.str()), from_toml(value),
            fmt::format("{} line {}", path, value.source().begin.line));
      }
    }
  }

  /// The settings that were named and could be read, without a look at how they go together.
  std::map<std::string, std::string> named_settings() const {
    std::map<std::string, std::string> out;
    for (const std::string& name : named_) out[name] = find_key(name)->get(config_);
    return out;
  }

  Config finish(Stages stages) {
    if (stages.release && stages.train && stages.sample && !releases(config_, "rff") &&
        !config_.train.from_moments && config_.model.chosen().network() != nullptr)
      problems_.emplace_back("features.blocks has no \"rff\", on which a generator is trained");
    if (stages.release) stages = with_named(stages);
    // Nothing else can be meant by a path with the rank's number in it.
    if (!named_.contains("data.shards") && data::names_rank(config_.data, config_.data.features))
      config_.data.shards = data::ShardRule::kPerRank;
    // Values that depend on one another, then everything that is wrong with them together.
    config_.features.rff.dims = config_.data.schema.dims();
    if (stages.release) resolve_coefficients(config_);
    for (std::string& p : contradictions(config_, stages)) problems_.push_back(std::move(p));
    if (problems_.empty() && stages.release) check_privacy();
    if (!problems_.empty()) {
      std::string message = problems_.size() == 1
                                ? std::string("The configuration has a problem: ")
                                : fmt::format("The configuration has {} problems: ", problems_.size());
      for (std::size_t i = 0; i < problems_.size(); ++i) {
        message += (problems_.size() > 1 ? fmt::format("({}) ", i + 1) : "") + problems_[i] + ". ";
      }
      throw ConfigError(message +
                        "Nothing was read or charged; `muffle config-keys` explains every setting.");
    }
    return config_;
  }

 private:
  Stages with_named(Stages stages) const {
    for (const std::string& name : named_) {
      const Stage stage = find_key(name)->stage;
      stages.train = stages.train || stage == Stage::kTrain;
      stages.sample = stages.sample || stage == Stage::kSample;
      stages.evaluate = stages.evaluate || stage == Stage::kEvaluate;
    }
    return stages;
  }

  /// The accountant knows its own domain: ask it.
  void check_privacy() {
    try {
      plan_release(config_);
    } catch (const ConfigError& e) {
      std::string text = e.what();
      while (!text.empty() && text.back() == '.') text.pop_back();
      problems_.push_back("[privacy]: " + text);
    }
  }

  Config config_;
  std::vector<std::string> problems_;
  std::set<std::string> named_;  ///< keys that some source names
};

std::string lower_case(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

std::string environment_key(const std::string& variable) {
  std::string key = variable.substr(std::strlen("MUFFLE_"));
  const auto separator = key.find("__");
  if (separator == std::string::npos) return {};
  return lower_case(key.replace(separator, 2, "."));
}

/// "MUFFLE_PRIVACY__EPSILON" for "MUFFLE_PRIVACY_EPSILON": what a variable that names a section, but is no
/// setting, may have meant; empty for others (MUFFLE_TEST_RANKS and the like).
std::string meant_variable(const std::string& variable) {
  const std::string rest = variable.substr(std::strlen("MUFFLE_"));
  const auto end = rest.find('_');
  if (end == std::string::npos) return {};
  const std::string section = lower_case(rest.substr(0, end)), key = rest.substr(end + 1);
  return is_section(section) && !key.empty() ? "MUFFLE_" + rest.substr(0, end) + "__" + key : "";
}

}  // namespace

Config load_config(const ConfigSources& sources, Stages stages) {
  Loader loader;
  if (!sources.file.empty()) loader.read_file(sources.file);
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
    if (equals == std::string::npos) {
      throw UsageError("--set needs section.key=value, not '" + assignment + "'.");
    }
    loader.set_text(assignment.substr(0, equals), assignment.substr(equals + 1), "--set " + assignment);
  }
  for (const auto& [key, value] : sources.flags) loader.set_text(key, value, "command line");
  return loader.finish(stages);
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

std::map<std::string, std::string> flatten(const Config& config) {
  std::map<std::string, std::string> out;
  for (const Key& k : keys()) out[k.name] = k.get(config);
  return out;
}

std::string to_toml(const Config& config) { return to_toml(flatten(config)); }

std::string to_toml(const std::map<std::string, std::string>& literals) {
  std::string out =
      "# Every setting of what lies here, resolved: defaults, file, environment, --set and flags.\n";
  std::string section;
  for (const Key& k : keys()) {
    const auto found = literals.find(k.name);
    if (found == literals.end()) continue;
    const auto dot = k.name.find('.');
    if (k.name.substr(0, dot) != section) {
      section = k.name.substr(0, dot);
      out += "\n[" + section + "]\n";
    }
    out += fmt::format("# {}\n{} = {}\n", k.help, k.name.substr(dot + 1), found->second);
  }
  return out;
}

std::map<std::string, std::string> settings_in(const std::string& file) {
  Loader loader;
  loader.read_file(file);
  return loader.named_settings();
}

std::string stage_hash(const Config& config, Stage stage) {
  Sha256 hash;
  for (const Key& k : keys()) {
    if (k.stage == stage) hash.update(k.name + "=" + k.get(config) + "\n");
  }
  return to_hex(hash.digest());
}

std::string describe_keys() {
  std::string out;
  const Config defaults;
  for (const Key& k : keys()) out += fmt::format("{:32} {:24} {}\n", k.name, k.get(defaults), k.help);
  return out;
}

}  // namespace muffle::app
