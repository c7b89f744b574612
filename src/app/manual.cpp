#include "manual.hpp"

#include <fmt/format.h>

#include <cctype>
#include <filesystem>

#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"

namespace muffle::app {
namespace {

/// "FORMAT:{text,json}" as CLI11 has it: "FORMAT" and the words in braces. Words that are a comma cannot be
/// told apart there.
void split_type(const std::string& type, OptionText& option) {
  const std::size_t braces = type.find(":{");
  option.value = type.substr(0, type.find(':'));
  if (braces == std::string::npos || type.back() != '}') return;
  std::vector<std::string> words;
  for (std::size_t at = braces + 2; at < type.size();) {
    const std::size_t end = type.find_first_of(",}", at);
    words.push_back(type.substr(at, end - at));
    if (words.back().empty()) return;
    at = end + 1;
  }
  option.values = words;
}

OptionText text_of(const CLI::Option& option) {
  OptionText out;
  for (const std::string& name : option.get_snames()) out.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) out.names.push_back("--" + name);
  if (!option.nonpositional()) out.names = {option.get_name(true)};
  out.help = option.get_description();
  out.required = option.get_required();
  out.preset = option.get_default_str();
  if (option.get_type_size() != 0) split_type(option.get_type_name(), out);
  return out;
}

VerbText text_of(const CLI::App& app) {
  VerbText out{app.get_name(), app.get_description(), {}, {}, {}};
  for (const CLI::Option* option : app.get_options())
    (option->nonpositional() ? out.options : out.operands).push_back(text_of(*option));
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; }))
    out.verbs.push_back(text_of(*verb));
  return out;
}

/// As roff has it: no word becomes a request, and hyphens are those that people type.
std::string roff(const std::string& text) {
  std::string out;
  bool begins = true;
  for (const char c : text) {
    if (begins && (c == '.' || c == '\'')) out += "\\&";
    begins = c == '\n';
    if (c == '\\') {
      out += "\\e";
    } else if (c == '-') {
      out += "\\-";
    } else {
      out += c;
    }
  }
  return out;
}

std::string roff_upper(std::string text) {
  for (char& c : text) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return roff(text);
}

class Page {
 public:
  Page(const std::string& name, int section, const std::string& version, const std::string& about) {
    out_ =
        fmt::format(".TH {} {} \"\" \"{}\" \"muffle's manual\"\n", roff_upper(name), section, roff(version));
    heading("NAME");
    out_ += fmt::format("{} \\- {}\n", roff(name), roff(about));
  }
  void heading(const std::string& title) { out_ += ".SH " + title + "\n"; }
  void part(const std::string& title) { out_ += ".SS " + roff(title) + "\n"; }
  void paragraph(const std::string& text) { out_ += ".PP\n" + roff(text) + "\n"; }
  /// @param label  roff
  void item(const std::string& label, const std::string& text) {
    out_ += ".TP\n" + label + "\n" + roff(text) + "\n";
  }
  /// @param line  roff
  void raw(const std::string& line) { out_ += line + "\n"; }
  std::string text() const { return out_; }

 private:
  std::string out_;
};

std::string label_of(const OptionText& option) {
  std::string out;
  for (const std::string& name : option.names) out += (out.empty() ? "\\fB" : ", \\fB") + roff(name) + "\\fR";
  if (!option.value.empty()) out += " \\fI" + roff(option.value) + "\\fR";
  return out;
}

std::string help_of(const OptionText& option) {
  std::string out = option.help;
  if (!option.values.empty()) out += fmt::format(" ({})", fmt::join(option.values, ", "));
  if (!option.preset.empty()) out += fmt::format(" [{}]", option.preset);
  if (option.required) out += " (required)";
  return out;
}

/// "the whole job; everything" without what follows the first line.
std::string first_line(const std::string& text) { return text.substr(0, text.find('\n')); }

/// Of the program: "muffle.1"; another's than muffle's is among an administrator's commands, where its name
/// is no verb's: "muffle-site.8".
std::string page_of(const std::string& program) { return program + (program == "muffle" ? ".1" : ".8"); }

/// Of verbs pages are named after muffle's, whichever program prints them. @param words  "ledger show"; of
/// the program itself empty
void add_pages(const ManualText& manual, const VerbText& verb, const std::string& words,
               std::map<std::string, std::string>& out) {
  const std::string& program = manual.muffle.name;
  std::string name = words.empty() ? "muffle" : "muffle-" + words;
  for (char& c : name) c = c == ' ' ? '-' : c;
  const std::string command = words.empty() ? program : "muffle " + words;
  const std::string file = words.empty() ? page_of(program) : name + ".1";
  Page page(file.substr(0, file.size() - 2), file.back() - '0', manual.version, first_line(verb.about));
  page.heading("SYNOPSIS");
  std::string synopsis = "\\fB" + roff(command) + "\\fR";
  if (!verb.verbs.empty()) synopsis += " \\fIVERB\\fR";
  for (const OptionText& operand : verb.operands) synopsis += " \\fI" + roff(operand.value) + "\\fR";
  page.raw(synopsis + " [\\fIOPTIONS\\fR]");
  page.heading("DESCRIPTION");
  page.paragraph(verb.about);
  if (!verb.verbs.empty()) {
    page.heading("VERBS");
    for (const VerbText& inner : verb.verbs) page.item("\\fB" + roff(inner.name) + "\\fR", inner.about);
  }
  if (!verb.operands.empty()) {
    page.heading("OPERANDS");
    for (const OptionText& operand : verb.operands)
      page.item("\\fI" + roff(operand.value) + "\\fR", help_of(operand));
  }
  page.heading("OPTIONS");
  for (const OptionText& option : verb.options) page.item(label_of(option), help_of(option));
  page.heading("SETTINGS AND EXIT CODES");
  page.paragraph(manual.footer);
  page.heading("SEE ALSO");
  std::string others = ".BR muffle\\-config (5)";
  if (!words.empty() || program != "muffle") others = ".BR muffle (1),\n" + others;
  for (const VerbText& inner : verb.verbs) others += ",\n.BR " + roff(name + "-" + inner.name) + " (1)";
  page.raw(others);
  out[file] = page.text();
  for (const VerbText& inner : verb.verbs)
    add_pages(manual, inner, words.empty() ? inner.name : words + " " + inner.name, out);
}

std::string config_page(const ManualText& manual) {
  Page page("muffle-config", 5, manual.version, "the settings of muffle");
  page.heading("DESCRIPTION");
  page.paragraph(
      "Every key of a configuration, with its default and its meaning. In the file a key data.records stands "
      "in section [data]. What is in quotes and brackets is TOML.");
  page.heading("KEYS");
  for (const KeySection& section : manual.sections) {
    if (!section.title.empty()) page.part(section.title);
    for (const KeyText& key : section.keys)
      page.item("\\fB" + roff(key.name) + "\\fR = " + roff(key.preset), key.help);
  }
  page.heading("SEE ALSO");
  page.raw(".BR muffle (1)");
  return page.text();
}

}  // namespace

ManualText describe(const CLI::App& app) {
  return {text_of(app), app.get_footer(), app.version(), described_keys()};
}

std::map<std::string, std::string> man_pages(const ManualText& text) {
  std::map<std::string, std::string> out;
  add_pages(text, text.muffle, "", out);
  out["muffle-config.5"] = config_page(text);
  return out;
}

std::string man(const ManualText& text, const std::string& page, const std::string& folder) {
  const std::map<std::string, std::string> pages = man_pages(text);
  if (folder.empty()) {
    for (const char* section : {".8", ".1", ".5"}) {
      if (const auto found = pages.find(page + section); found != pages.end()) return found->second;
    }
    std::vector<std::string> names;
    for (const auto& [file, _] : pages) names.push_back(file.substr(0, file.find('.')));
    throw UsageError(fmt::format("'{}' is no page of the manual: {}.", page, fmt::join(names, ", ")));
  }
  for (const auto& [file, roff] : pages) {
    const std::filesystem::path into = std::filesystem::path(folder) / ("man" + file.substr(file.size() - 1));
    ensure_writable_folder(into);
    write_file_atomically(into / file, roff);
  }
  return "";
}

}  // namespace muffle::app
