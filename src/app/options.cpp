// The options of verbs that need neither MPI nor LibTorch; those of parties: site_options.cpp.
#include "options.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "command_line.hpp"
#include "manual.hpp"
#include "muffle/core/watchdog.hpp"
#include "muffle/features/feature_map.hpp"

namespace muffle::app {
namespace {

constexpr const char* kAbout =
    "muffle-site is what an institution installs that takes part in rounds between institutions: the verbs "
    "of muffle that\nneed neither MPI nor LibTorch. It makes keys, reads records, contributes, opens sums, "
    "coordinates and verifies; what\ntrains a generator, and jobs of several ranks, have `muffle`. Each verb "
    "is muffle's verb of that name.\n`muffle-site help VERB` lists a verb's options.";
constexpr const char* kFooter =
    "Settings come from --config, then MUFFLE_SECTION__KEY variables, then --set section.key=value, then "
    "flags; later ones\nwin. Exit codes: 0 done, 2 usage, 65 bad data, 69 a rank is missing, 70 an "
    "invariant broke, 74 input/output,\n75 stopped early (run it again), 76 checksum or protocol, 77 privacy "
    "budget, 78 configuration, 79 nobody vouches for a release.";

/// A path that was typed means what it means to the shell; one in a configuration is joined to data.dir.
std::string from_here(const std::string& path) {
  return path.empty() ? path : std::filesystem::absolute(path).lexically_normal().string();
}

/// Is that, with its commas, one file's name? Of "{rank}" rank 0's, or one in a folder that is there.
bool is_one_file(const std::string& paths) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path path = paths;
  const std::string folder = path.parent_path().string();
  const WatchedStep step("looking for", path);
  return fs::exists(data::resolve_path({}, paths, 0), error) ||
         (folder.find(',') != std::string::npos && fs::is_directory(folder, error));
}

/// The same for several paths between commas (CIFAR).
std::string all_from_here(const std::string& paths) {
  if (is_one_file(paths)) return from_here(paths);
  std::string out;
  for (std::size_t at = 0; at <= paths.size();) {
    const std::size_t end = std::min(paths.find(',', at), paths.size());
    const std::size_t begin = std::min(paths.find_first_not_of(' ', at), end);
    out += (at == 0 ? "" : ",") + from_here(paths.substr(begin, end - begin));
    at = end + 1;
  }
  return out;
}

}  // namespace

PartyCommandLine::PartyCommandLine(const std::string& about, const std::string& program)
    : app_(about, program), page_(program) {
  app_.footer(kFooter);
  app_.set_version_flag("--version", program + " " + MUFFLE_VERSION);
  app_.require_subcommand(1);
}

PartyCommandLine::PartyCommandLine() : PartyCommandLine(kAbout, "muffle-site") {
  add_account();
  add_schema();
  add_check();
  add_config_keys();
  add_ledger();
  add_verify();
  add_site();
  add_coordinator();
  add_round();
  add_simulate();
  add_keygen();
  add_manual();
}

void PartyCommandLine::add_config_keys() {
  app_.add_subcommand("config-keys", "list every setting with its default and meaning");
}

void PartyCommandLine::add_keygen() {
  Options keygen(*app_.add_subcommand("keygen", "make a site's key pair, for signed secure aggregation"));
  keygen.value("-o,--out", out, "DIR", "folder for NAME.key and NAME.pub")->required();
  keygen.value("--name", keygen_name_, "SITE", "the site's name")->required();
}

void PartyCommandLine::add_manual() {
  const std::string& program = app_.get_name();
  Options pages(*app_.add_subcommand("man", "print a page of the manual, for man(1); or write all of them"));
  pages.preset("page", page_, "PAGE", "such as muffle-account, or muffle-config for all settings");
  pages.value("-o,--out", out, "DIR", "folder that gets all pages, by section, in man1/ and so on");
  Options shells(*app_.add_subcommand("completion",
                                      "print a script that completes " + program + "'s commands in a shell"));
  shells.value("shell", shell_, "SHELL", "whose")->required()->check(CLI::IsMember(kShells));
}

void PartyCommandLine::add_account() {
  Options o(*app_.add_subcommand(
      "account", "what noise a promise needs, or what noise promises: any two of epsilon, delta, noise"));
  auto& a = account_;
  o.value("--epsilon", a.epsilon, "NUMBER", "epsilon of all releases together, 0.001 to 100");
  o.value("--delta", a.delta, "NUMBER", "delta of all releases together, 1e-18 to 0.1");
  o.repeated("--noise-multiplier", a.noise_multipliers, "NUMBER",
             "sigma / sensitivity of a release; given again: of a further one");
  o.repeated("--mu", a.mus, "NUMBER", "sensitivity / sigma of a release; given again: of a further one");
  o.preset("--releases", a.releases, "N", "how often each of these releases happens");
  o.preset("--adjacency", a.adjacency, "NAME", "replace-one or add-remove-one")
      ->check(CLI::IsMember({"replace-one", "add-remove-one"}));
  a.named_bounds = features::named_bounds();
  std::string named;
  for (const bounds::NamedBound& kind : a.named_bounds)
    named += fmt::format(", or {}={} for {}", kind.name, kind.example, kind.meaning);
  o.repeated(
      "--block", a.blocks, "BLOCK",
      fmt::format("a released feature block: norm=1,kernel=signed (or nonnegative),weight=1{}; may be given "
                  "again. Without any the sensitivity is 1",
                  named));
  o.value("--counts", a.counts, "WEIGHT", "class counts are released beside the blocks, with this weight");
  o.preset("--records-per-person", a.max_records_per_person, "Q",
           "how many records one person can own at most");
  o.format(a.format);
}

void PartyCommandLine::add_data_files(CLI::App& verb) {
  Options o(verb);
  o.function(
      "--data", "FILE",
      "records (data.features), relative to this folder, not to data.dir; \"{rank}\" becomes the rank's "
      "number: shards that live apart",
      [this](const std::string& v) {
        sources.flags.emplace_back("data.features", all_from_here(v));
        if (v.find("{rank}") != std::string::npos) sources.flags.emplace_back("data.shards", "per-rank");
      });
  o.function("--labels", "FILE", "labels (data.labels), likewise",
             [this](const std::string& v) { sources.flags.emplace_back("data.labels", from_here(v)); });
}

void PartyCommandLine::add_ledger() {
  auto* command =
      app_.add_subcommand("ledger", "look at, check or set the budget of a data set's privacy ledger");
  command->require_subcommand(1);
  auto* show = command->add_subcommand("show", "what was spent, by which releases, and what remains");
  auto* verify =
      command->add_subcommand("verify", "check the whole chain of hashes; exit code 76 if it is broken");
  auto* budget =
      command->add_subcommand("budget", "set the budget of all releases together; recorded for ever");
  for (CLI::App* verb : {show, verify, budget}) {
    Options o(*verb);
    o.value("--ledger", ledger_.file, "FILE", "the ledger (privacy.ledger)")->required();
    o.value("--data-id", ledger_.data_id, "ID", "the data set that it must be of (data.id)")
        ->required(verb == budget);
    verb->callback([this, verb] { ledger_.verb = verb->get_name(); });
  }
  Options(*show).format(ledger_.format);
  Options(*verify).value("--head", ledger_.head, "HASH",
                         "SHA-256 of a line noted earlier, which must still be there: finds rollbacks");
  auto* epsilon =
      Options(*budget).value("--epsilon", ledger_.budget_epsilon, "NUMBER", "the new budget's epsilon");
  Options(*budget).preset("--delta", ledger_.budget_delta, "NUMBER", "the new budget's delta");
  budget->add_flag("--none", ledger_.no_budget, "lift the budget")->excludes(epsilon);
}

void PartyCommandLine::add_check() {
  auto* verb = app_.add_subcommand("check",
                                   "read whole record files: what does not fit the settings, and what they "
                                   "hold; PRIVATE output, for whoever holds the files; exit code 65 if "
                                   "anything does not fit");
  Options o(*verb);
  o.sources(sources);
  add_data_files(*verb);
  o.preset("--rank", check_.rank, "R", "whose files, where each rank has its own")
      ->check(CLI::Range(0, 1 << 20));
  o.format(check_.format);
}

void PartyCommandLine::add_schema() {
  auto* command = app_.add_subcommand("schema", "draft or compare the public schema of a table (CSV)");
  command->require_subcommand(1);
  auto* init = command->add_subcommand(
      "init",
      "draft a schema from the names and types of a CSV file's columns; asks on a terminal for the rest");
  auto* hash = command->add_subcommand("hash", "print the schema's SHA-256, for sites to compare");
  auto& s = schema_;
  Options i(*init), h(*hash);
  i.value("file", s.file, "FILE", "the CSV file, plain or .gz")->required();
  i.preset("-o,--out", s.out, "FILE", "the draft; never overwrites a file");
  i.value("--from-public-sample", s.sample, "FILE",
          "a CSV file that is PUBLIC: bounds, categories and missing values are filled in from it");
  h.value("schema", s.schema, "FILE", "the schema, a TOML file")->required();
  i.preset("--separator", s.separator, "CHAR",
           "between fields: a comma, a semicolon, |, tab, or blank: any blanks")
      ->check(CLI::IsMember({",", ";", "|", "tab", "blank"}));
  const auto header = [&s](bool there) { return [&s, there] { s.header = there; }; };
  init->add_flag_callback("--no-header", header(false), "the first line is a row: it names no columns")
      ->excludes(init->add_flag_callback("--header", header(true),
                                         "the first line names the columns, whatever it looks like"));
  i.value("--comment", s.comment, "CHAR", "lines before the first row that begin with it are passed over");
  i.preset("--skip", s.skip, "N", "lines at the file's beginning that are none of the table's");
  i.preset("--encoding", s.encoding, "NAME", "of the file's text: latin-1, windows-1252, utf-16, ...");
  for (CLI::App* verb : {init, hash}) verb->callback([this, verb] { schema_.verb = verb->get_name(); });
}

void PartyCommandLine::add_verify() {
  auto* command = app_.add_subcommand(
      "verify", "check a release: checksum, signature, arithmetic, ledger; print its privacy card");
  Options o(*command);
  o.value("file", verify_.release, "FILE", "the release (release.mfl)")->required();
  o.value("--evidence", verify_.evidence, "DIR",
          "the messages of the round between institutions that it was made in: adds it up again. Then "
          "--require-signature may be the coordinator's, a site's or a key holder's key");
  o.repeated(
      "--part", verify_.parts, "FILE",
      "a release that it was combined from; given again: a further one, in the order of the combination");
  auto* key = o.value("--require-signature", verify_.key, "FILE",
                      "public key file; the release must be signed with this key");
  command
      ->add_flag("--allow-unsigned", verify_.may_be_unsigned,
                 "exit code 0, not 79, also if the release is consistent and nobody vouches for it")
      ->excludes(key);
  o.value("--ledger", verify_.ledger, "FILE",
          "the data set's ledger, from somebody you trust; by default the one beside the release is looked "
          "at, which vouches for nothing");
  o.format(verify_format_);
}

}  // namespace muffle::app
