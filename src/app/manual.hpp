#pragma once

#include <CLI/CLI.hpp>
#include <map>
#include <string>
#include <vector>

#include "muffle/app/config.hpp"

namespace muffle::app {

// What the command line knows about itself, for man pages and for completion in shells. Nothing is listed by
// hand: verbs and options come from CLI11, settings from the keys that rooms and kinds declare.

struct OptionText {
  std::vector<std::string> names;   ///< "-c", "--config"; of an operand its one name
  std::string value;                ///< what stands for the value: "FILE"; empty: a flag
  std::vector<std::string> values;  ///< all that it may be; empty: anything
  std::string help, preset;         ///< the latter: the default, if the help shows one
  bool required = false;
};

struct VerbText {
  std::string name, about;  ///< of muffle itself, and of each verb
  std::vector<OptionText> options, operands;
  std::vector<VerbText> verbs;
};

/// @param version  of muffle, as --version prints it
struct ManualText {
  VerbText muffle;  ///< the program: muffle, or muffle-site
  std::string footer, version;
  std::vector<KeySection> sections;
};
ManualText describe(const CLI::App& app);

/// Every page by the name of its file: "muffle.1" (or "muffle-site.8"), "muffle-ledger-show.1",
/// "muffle-config.5". In roff's man macros.
std::map<std::string, std::string> man_pages(const ManualText& text);

inline const std::vector<std::string> kShells{"bash", "zsh", "fish"};
/// A script that makes a shell complete verbs, options, files, the keys of --set and their values.
/// @param shell  one of kShells
std::string completion(const ManualText& text, const std::string& shell);

/// `muffle man`: prints a page, or writes all of them. @throws UsageError  no such page; IoError.
/// @param page  "muffle-run"  @param folder  gets man1/ and so on; empty: the page is printed
std::string man(const ManualText& text, const std::string& page, const std::string& folder);

}  // namespace muffle::app
