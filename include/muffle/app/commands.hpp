#pragma once

#include <cstdint>
#include <ctime>
#include <filesystem>
#include <functional>
#include <iosfwd>
#include <optional>
#include <string>
#include <vector>

#include "muffle/app/config.hpp"
#include "muffle/comm/host_comm.hpp"
#include "muffle/embed/embedding.hpp"
#include "muffle/round/draft.hpp"

namespace muffle::app {

/// What every command works with. Every command that runs for long stops with StoppedError (exit code 75)
/// once a rank is told to; `muffle run` again goes on where it stopped. Every command is collective: all
/// ranks call it, and it throws on all or on none.
struct Context {
  comm::HostComm& comm;
  Config config;
  std::filesystem::path out;  ///< the run folder
  int threads = 1;
  std::optional<std::uint64_t> insecure_seed;  ///< seeded noise for tests: the release is NOT PRIVATE
  bool no_noise = false;                       ///< none at all: the release is NOT PRIVATE
  bool dry_run = false;                        ///< release: say what it would cost, and do nothing
  bool quiet = false;                          ///< only errors on the console
  bool json = false;                           ///< run, evaluate: results on standard output as JSON
  std::time_t begun = std::time(nullptr);
  std::filesystem::path export_tables = {};  ///< release: its tables of counts go here; empty: nowhere
  /// How many records there are is private: no time of a file may tell how long the work on them took.
  bool m_is_private = false;
  /// Files outside of the run folder: public ones that the verb reads, and muffle's own that it writes.
  std::vector<std::filesystem::path> reads = {}, writes = {};
};

/// Names of the files in a run folder.
inline constexpr const char* kConfigFile = "config.resolved.toml";
inline constexpr const char* kReleaseFile = "release.mfl";
inline constexpr const char* kPrivacyJson = "privacy.json";
inline constexpr const char* kPrivacyText = "privacy.txt";
inline constexpr const char* kModelFile = "model.mfl";
inline constexpr const char* kSamplesJson = "samples.json";
inline constexpr const char* kMetricsFile = "metrics.json";
inline constexpr const char* kNotPrivate = "NOT-PRIVATE.txt";  ///< only beside what is not

/// Embeds, charges the ledger, reduces, adds noise once, writes release.mfl and the privacy statement. The
/// only command that reads private records and spends budget. A release of the same configuration that is
/// already there is kept, never drawn again. A job that ends before its charge costs nothing.
/// @throws ConfigError   a release of another configuration is in the folder.
/// @throws PrivacyError  the ledger's budget refuses.
void release(Context& context);
/// Trains a generator on `release_file`; writes model.mfl. Post-processing, but for train.match = "records".
void train(Context& context, const std::filesystem::path& release_file);
/// Draws synthetic records from `model_file`; writes samples.*. Post-processing.
void sample(Context& context, const std::filesystem::path& model_file);
/// Scores `samples_file`, or those in the run folder, of which samples.json says the format, if it is empty;
/// writes metrics.json. Reads real data: not covered by the guarantee.
/// @param release_file  for metrics that read it; need not be there
/// @throws ConfigError  classifiers are asked for without held-out records.
void evaluate(Context& context, const std::filesystem::path& samples_file,
              const std::filesystem::path& release_file);
/// Where m is private: that held-out records are not the release's own, under another name. Collective.
/// @throws ConfigError.
void require_held_out(Context& context);
/// All of them, each skipped if its output is there and matches. Classifiers are left out, with a line that
/// says so, where no held-out records are configured.
void run(Context& context);

/// `muffle export`: a model, or a release's tables, for programs that are not muffle. Not collective.
struct ExportCommand {
  std::string file;    ///< model.mfl or release.mfl
  std::string format;  ///< of a model: torchscript, safetensors or npz; of a release: mbi
  std::string out;     ///< a new file; of mbi a folder
};
/// @param printed  gets a line about what was written
/// @throws ConfigError  the format is not for such a file;  ProtocolError; IoError  also: it is there already
/// Post-processing.
void export_command(const ExportCommand& command, std::ostream& printed);

/// `muffle report`: a release, its model and its samples as one HTML file for people. Not collective.
struct ReportCommand {
  std::string run;                      ///< run folder, in which lies what is not named; empty: none
  std::string release, model, samples;  ///< files; empty: in `run`, if there
  std::string ledger;                   ///< of the data set; empty: it is not looked at
  std::string out;                      ///< empty: report.html, or report-private.html, in `run`
  std::string about;                    ///< who makes it, when, for what; empty: it does not say
  bool is_private = false;              ///< with real records beside
};
/// @param sources  of a private one: which records. Others are refused with any (UsageError).
/// @param printed  gets a line about what was written
/// Privacy: a private report is computed from real records, and its file this user's alone.
/// @throws UsageError; ConfigError; as report::public_report() and report::write_report().
void report_command(const ConfigSources& sources, const ReportCommand& command, std::ostream& printed);

/// `muffle ledger show|verify|budget`. Not collective, and reads nothing private.
struct LedgerCommand {
  std::string verb;                      ///< "show", "verify" or "budget"
  std::string file;                      ///< the ledger
  std::string data_id;                   ///< refuse another data set's ledger; empty: any (budget needs it)
  std::string format = "text";           ///< of show: "text" or "json"
  std::string head;                      ///< of verify: SHA-256 of a line that must be in the chain
  std::optional<double> budget_epsilon;  ///< of budget: the new one
  double budget_delta = 1e-5;
  bool no_budget = false;  ///< of budget: lift it
};
/// @returns what it prints. @throws ProtocolError  a broken chain; IoError; UsageError.
std::string ledger(const LedgerCommand& command);

/// `muffle check`: what in a rank's files does not fit the settings, and what they hold. Not collective.
struct CheckCommand {
  int rank = 0;                 ///< whose files, where each rank has its own
  std::string format = "text";  ///< or "json"
};
/// Reads whole files, held-out records' too, and nothing else but section [data] of the configuration; writes
/// nothing, and needs no ledger. @param out  gets all there is to say
/// @throws DataError  after printing: something does not fit;  ConfigError; IoError.
/// Privacy: what it prints is private, for the terminal of whoever holds the files; the error says nothing of
/// it.
void check(const ConfigSources& sources, const CheckCommand& command, std::ostream& out);

/// `muffle schema init|hash`. Not collective. The first reads private records, for the terminal of whoever
/// holds them.
struct SchemaCommand {
  std::string verb;    ///< "init" or "hash"
  std::string schema;  ///< of hash: the file
  std::string file;    ///< of init: CSV
  std::string sample;  ///< of init: a public file, from which bounds and categories are filled in
  std::string out = "schema.toml";  ///< of init
  std::string separator = ",";      ///< ",", ";", "|", "tab" or "blank"
  std::optional<bool> header;       ///< none: there is one, unless it looks like a record
  std::string comment;
  std::uint64_t skip = 0;
  std::string encoding = "utf-8";
};
/// @param in  answers questions where standard input and output are a terminal  @param out  what it prints
/// @throws DataError  the file is no such table;  ConfigError  of the schema;  IoError; UsageError.
void schema_command(const SchemaCommand& command, std::istream& in, std::ostream& out);

/// `muffle coordinator serve`.
struct ServeCommand {
  std::string folder;                ///< the round's messages
  std::string listen;                ///< ADDRESS:PORT
  std::string cert, key, client_ca;  ///< PEM files; empty: none
};

/// `muffle site ...`, `muffle coordinator ...` and `muffle round ...`. All but a site's steps are not
/// collective, and read no record.
struct PartyCommand {
  std::string verb;          ///< "site init", "coordinator propose", "round status", ...
  std::string folder = ".";  ///< the party's own
  std::string exchange;      ///< the consortium's messages; empty: as the party's settings say
  std::string round;         ///< first digits of its id; empty: the only one
  std::string name;          ///< of init: the new party's; of pin and admit: whose card
  std::string words;         ///< of pin and admit: the fingerprint that its holder read out
  bool opening = false;      ///< of approve: the opening of a sum, not a contribution
  bool replaces = false;     ///< of pin and admit: that party has another key now
  bool key_holder = false, no_records = false;  ///< of init
  std::vector<std::string> approvers;           ///< of init: .pub files
  std::string ledger;                           ///< of init: one that is there already; empty: a new one
  std::string key;                              ///< of approve: the person's key file
  std::string code = "person";                  ///< of decline and abandon
  std::string title, admission;                 ///< of charter; the title also of propose
  std::vector<std::string> revoke;              ///< of charter: members' names, or fingerprints
  round::Wishes wishes;                         ///< of propose
  std::string
      after;  ///< of propose: first digits of the round that the next one follows; empty: it is the first
  double contribute_days = 14, open_days = 7, stand_in_days = 7;  ///< of propose
  bool dry_run = false;                                           ///< of propose
  double every_s = 60;                                            ///< of run: between two steps
  bool evidence = false;                                          ///< of site sync: all messages are fetched
  std::string html;                                               ///< of status: the page's file; empty: none
  std::vector<std::string> files;                                 ///< of round show
  ServeCommand serve;
  bool with_torch = false;  ///< whether this program's steps sum maps that need LibTorch: muffle's do

  /// Whether this is site_step(), not party_command().
  bool is_site_step() const { return verb == "site step" || verb == "site run"; }
};
/// @param sources  of propose: the configuration of the release
/// @throws ConfigError, ProtocolError  a message that is not what it should be;  IoError; UsageError.
void party_command(const ConfigSources& sources, const PartyCommand& command, std::ostream& out);

/// Of `muffle release combine`.
struct CombineCommand {
  std::vector<std::string> releases;
  std::string people;       ///< "apart", or "shared": a person may be in several of them
  std::string signing_key;  ///< empty: it is not signed
  std::string out;          ///< run folder
};
/// Writes release.mfl, its signature and its privacy statement. Nothing private is read, and nothing charged.
/// @throws ConfigError, ProtocolError, IoError.
void combine(const CombineCommand& command, std::ostream& printed);

/// `muffle simulate`: a round between institutions on this machine: folders of a coordinator and of sites, a
/// server over TLS on loopback between them, and a process for every act. Not collective.
struct SimulateCommand {
  int sites = 3;
  int missing = 0;           ///< key holders that do not open a round; in the next one others
  double wait_s = 60;        ///< then: for contributions and openings, after which the others stand in
  bool folder = false;       ///< all see one folder: no server, no network
  double deadline_s = 3600;  ///< of one act: a process that takes longer is ended
  bool with_torch = false;   ///< as PartyCommand's
  std::string out;           ///< a new folder
};
/// Deals the records of the configuration to the sites, contiguously.
/// @throws ConfigError; Error  of an act that failed, with its exit code.
void simulate(const ConfigSources& sources, const SimulateCommand& command, std::ostream& printed);

/// What a site's step computes with.
struct SiteMachine {
  comm::HostComm& comm;  ///< of the site's own job
  int cores = 1;         ///< that this rank owns
  /// As features.device says. Collective.
  std::function<embed::Embedder(const Config&, release::ReleasePlan)> make_embedder;
};
/// `muffle site step` and `site run`, which read the site's records, once its policy says yes. Collective
/// over the ranks of the site's own job: all sum its records, and root alone has its keys (job::SiteRanks).
/// @throws as round/step.hpp: the first round's error, once all rounds had their step. Agreed.
void site_step(const PartyCommand& command, const SiteMachine& machine, std::ostream& out);
/// `muffle coordinator step`. Not collective. @throws as site_step().
void coordinator_step_command(const PartyCommand& command, std::ostream& out);
/// `muffle site sync` and `coordinator sync`: carries messages between the party's folder and its server, and
/// ends. Needs a network, and no key. @throws as round::synchronise().
void sync_party(const PartyCommand& command, bool site, std::ostream& out);
/// Until SIGTERM or SIGINT. @throws as http::Server.
void serve(const ServeCommand& command, std::ostream& out);

/// Those of the coordinator. @throws as party_command().
void coordinator_command(const ConfigSources& sources, const PartyCommand& command, std::ostream& out);

// Commands that compute with public numbers alone: no records, no budget, and no MPI but for audit. What they
// print is in `format` "text" or "json" (docs/reference/accounting.md has the JSON keys).

/// `muffle plan`: what a job will need and how much of the signal the noise leaves, before any data exist.
struct PlanCommand {
  int ranks = 1;
  std::optional<std::uint64_t> records;  ///< a public guess of m, for add/remove-one, where m is private
  std::string format = "text";
};
/// Opens the configuration alone. @returns what it prints. @throws ConfigError; UsageError  absurd ranks.
std::string plan(const ConfigSources& sources, const PlanCommand& command);

/// `muffle audit`: attacks the real release path with canaries (embed/audit.hpp).
struct AuditCommand {
  std::size_t features = 2;  ///< D of the audited map; with one frequency the bound is met
  std::uint64_t trials = 100'000;
  double confidence = 0.9999;
  std::string format = "text";
};
/// On the ranks of `comm`, in the mode of aggregation that the configuration asks for (without site keys).
/// Collective: it attacks the release path of all ranks that there are; root prints.
/// @throws ConfigError as load_config, and for absurd trials or confidence; InvariantError (exit 70), on
/// every rank and after printing, if the release exceeds its claim.
void audit(const ConfigSources& sources, const AuditCommand& command, comm::HostComm& comm,
           std::ostream& out);

/// Parses the command line and runs one command.
/// @param connect  makes the communicator: deadlines of a wait for another rank, and of one read or write
/// @returns the process's exit code; throws muffle::Error.
int dispatch(int argc, char** argv, comm::HostComm& (*connect)(double deadline_s, double io_deadline_s));

}  // namespace muffle::app
