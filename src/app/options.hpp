// How verbs declare their options.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "muffle/app/config.hpp"

namespace muffle::app {

/// Declares the options of one verb. The fields must outlive the parsing.
class Options {
 public:
  explicit Options(CLI::App& verb) : verb_(verb) {}

  /// @param type  what stands for the value in the help: "FILE"
  template <class T>
  CLI::Option* value(const std::string& name, T& field, const char* type, const std::string& help) {
    return verb_.add_option(name, field, help)->type_name(type);
  }
  /// The same, of which the help shows the default.
  template <class T>
  CLI::Option* preset(const std::string& name, T& field, const char* type, const std::string& help) {
    return value(name, field, type, help)->capture_default_str();
  }
  /// A list with one value each time that the option is given.
  template <class T>
  void repeated(const char* name, T& field, const char* type, const std::string& help) {
    value(name, field, type, help)->expected(1)->take_all();
  }
  template <class Use>
  void function(const char* name, const char* type, const std::string& help, Use use) {
    verb_.add_option_function<std::string>(name, use, help)->type_name(type);
  }
  void format(std::string& field) {
    value("--format", field, "FORMAT", "text or json")->check(CLI::IsMember({"text", "json"}));
  }
  /// --config and --set.
  CLI::Option* sources(ConfigSources& sources) {
    auto* config = value("-c,--config", sources.file, "FILE", "settings, a TOML file");
    value("--set", sources.set, "KEY=VALUE", "one setting, section.key=value; may be given again")
        ->take_all();
    return config;
  }
  /// Sets one key of a configuration. @param what  is followed by the key in the help
  void key(const char* name, ConfigSources& sources, const std::string& key, const char* type,
           const std::string& what) {
    function(name, type, what + " (" + key + ")",
             [&sources, key](const std::string& v) { sources.flags.emplace_back(key, v); });
  }
  void guarantee(ConfigSources& sources) {
    key("--epsilon", sources, "privacy.epsilon", "NUMBER", "epsilon");
    key("--delta", sources, "privacy.delta", "NUMBER", "delta");
  }

 private:
  CLI::App& verb_;
};

}  // namespace muffle::app
