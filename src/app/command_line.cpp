#include "command_line.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iostream>
#include <ostream>
#include <sstream>

#include "manual.hpp"
#include "muffle/core/error.hpp"
#include "muffle/pair_graph/rounds.hpp"

namespace muffle::app {
namespace {

/// `muffle verify`: prints every check and the privacy card; then throws if a check fails.
void print_verification(release::ReleaseFiles files, const std::string& format, std::ostream& out) {
  files.repeat_choices = pair_graph::repeat_choices;
  const release::Verification verification = release::verify_file(files);
  out << (format == "json" ? verification_json(verification) : verification_text(verification)) << std::flush;
  require_passed(verification);
}

/// The end of a sentence about a word that nobody knows.
std::string suggestion(const std::string& word, const std::vector<std::string>& known) {
  const std::string nearest = settings::nearest(word, known);
  return nearest.empty() ? "." : "; did you mean '" + nearest + "'?";
}

}  // namespace

void PartyCommandLine::require_verb(const std::string& word) const {
  std::vector<std::string> verbs;
  for (const CLI::App* verb : app_.get_subcommands([](const CLI::App*) { return true; }))
    verbs.push_back(verb->get_name());
  if (std::find(verbs.begin(), verbs.end(), word) != verbs.end()) return;
  verbs.emplace_back("help");
  throw UsageError("'" + word + "' is no verb of " + app_.get_name() + "'s" + suggestion(word, verbs) +
                   " See `" + app_.get_name() + " --help`.");
}

void PartyCommandLine::require_options(std::span<const std::string> words) const {
  const CLI::App* verb = &app_;
  std::string path = app_.get_name();
  for (; !words.empty(); words = words.subspan(1)) {
    const auto inner =
        verb->get_subcommands([&](const CLI::App* v) { return v->get_name() == words.front(); });
    if (inner.empty()) break;
    verb = inner.front();
    path += " " + words.front();
  }
  std::vector<std::string> known;
  for (const CLI::Option* option : verb->get_options()) {
    for (const std::string& name : option->get_lnames()) known.push_back("--" + name);
  }
  for (const std::string& word : words) {
    const std::string name = word.substr(0, word.find('='));
    if (!name.starts_with("--") || std::find(known.begin(), known.end(), name) != known.end()) continue;
    throw UsageError("'" + name + "' is no option of `" + path + "`" + suggestion(name, known) + " See `" +
                     path + " --help`.");
  }
}

void PartyCommandLine::parse(int argc, const char* const* argv) {
  std::vector<std::string> words(argv + std::min(argc, 1), argv + argc);
  if (!words.empty() && words.front() == "help") {  // `help VERB` is `VERB --help`
    words.erase(words.begin());
    words.emplace_back("--help");
  }
  if (words.size() > 1 && words.back() == "--help" && words.front()[0] != '-') require_verb(words.front());
  try {
    app_.parse(std::vector<std::string>(words.rbegin(), words.rend()));
    verb_ = app_.get_subcommands().front()->get_name();
  } catch (const CLI::Success& e) {  // help or version
    std::ostringstream text;
    app_.exit(e, text, text);
    help_ = text.str();
    verb_ = "help";
  } catch (const CLI::ParseError& e) {
    if (!words.empty() && words.front()[0] != '-') require_verb(words.front());
    require_options(words);
    throw UsageError(
        fmt::format("{}. See `{} --help`, or `{} VERB --help`.", e.what(), app_.get_name(), app_.get_name()));
  }
  // Other verbs have no settings.
  if (party.verb == "coordinator propose" ||
      (verb_ != "help" && app_.get_subcommands().front()->get_option_no_throw("--config") != nullptr))
    sources.environment = environment_settings();
}

std::function<void()> PartyCommandLine::alone(std::ostream& printed) {
  const auto print = [&printed](const auto& text) {
    return [&printed, text] { printed << text() << std::flush; };
  };
  if (verb_ == "help") return print([this] { return help_; });
  if (verb_ == "config-keys") return print(describe_keys);
  if (verb_ == "account") return print([this] { return privacy::account(account_); });
  if (verb_ == "keygen")
    return [this, &printed] {
      crypto::make_site_key(out, keygen_name_, printed);
      printed << "In a job the party's number is the rank.\n";
    };
  if (verb_ == "ledger") return print([this] { return ledger(ledger_); });
  if (verb_ == "schema") return [this, &printed] { schema_command(schema_, std::cin, printed); };
  if (party.is_site_step()) return {};
  if (verb_ == "site" || verb_ == "coordinator" || verb_ == "round")
    return [this, &printed] { party_command(sources, party, printed); };
  if (verb_ == "simulate") {
    return [this, &printed] {
      simulate_.out = out;
      simulate_.with_torch = party.with_torch;
      simulate(sources, simulate_, printed);
    };
  }
  if (verb_ == "check") return [this, &printed] { check(sources, check_, printed); };
  if (verb_ == "verify") return [this, &printed] { print_verification(verify_, verify_format_, printed); };
  if (verb_ == "man") return print([this] { return man(describe(app_), page_, out); });
  if (verb_ == "completion") return print([this] { return completion(describe(app_), shell_); });
  return {};
}

}  // namespace muffle::app
