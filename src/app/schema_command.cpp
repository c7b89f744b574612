#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "muffle/app/commands.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/core/text.hpp"
#include "muffle/data/settings.hpp"
#include "muffle/data/table_draft.hpp"
#include "muffle/schema/draft.hpp"
#include "muffle/schema/table_toml.hpp"

namespace muffle::app {
namespace {

data::DataSpec spelling(const SchemaCommand& command) {
  data::DataSpec spec;
  spec.format = "csv";
  spec.separator = command.separator == "tab"     ? '\t'
                   : command.separator == "blank" ? data::kBlankSeparator
                                                  : command.separator.front();
  spec.header = command.header.value_or(true);
  spec.comment = command.comment;
  spec.skip = command.skip;
  spec.encoding = command.encoding;
  if (const std::string problem = data::encoding_problem(spec); !problem.empty())
    throw UsageError("--encoding: " + problem + ".");
  if (!data::comment_problem(spec).empty())
    throw UsageError("--comment needs one character, neither a quote nor a blank nor the separator.");
  return spec;
}

/// How a configuration says the same of the file's spelling, as options.
std::string as_settings(const SchemaCommand& command) {
  std::string out;
  if (command.separator != ",") out += fmt::format(" --set data.separator='{}'", command.separator);
  if (!command.header.value_or(true)) out += " --set data.header=false";
  if (!command.comment.empty()) out += fmt::format(" --set data.comment='{}'", printable(command.comment));
  if (command.skip > 0) out += fmt::format(" --set data.skip={}", command.skip);
  if (command.encoding != "utf-8") out += fmt::format(" --set data.encoding={}", printable(command.encoding));
  return out;
}

/// There is no rank with a log of its own here: where a row is malformed is told to whoever holds the file,
/// on standard output.
template <class Work>
void with_details(std::ostream& out, const Work& work) {
  try {
    work();
  } catch (const DataError& e) {
    if (e.local_detail().empty()) throw;
    out << printable(e.local_detail()) << std::endl;
    throw DataError(
        "a line of the file is no row of its columns in CSV (RFC 4180, UTF-8): standard output says which "
        "one and why. Mend the file, or correct --separator, --encoding, --no-header, --skip or --comment.");
  }
}

/// Where the names are from, for the terminal and the draft.
std::string names_are_from(const data::DataSpec& spec, bool in_draft) {
  const std::string file = in_draft ? "the file" : "'" + printable(spec.features) + "'";
  if (!spec.header) {
    return fmt::format(
        "Columns are numbered: {} has no header (--no-header; data.header = false in a configuration).\n"
        "Give them names that say what they hold.\n",
        file);
  }
  return fmt::format(
      "The columns' names are the first line of {}. If it has no header, they are a RECORD:\n"
      "delete the draft, and run again with --no-header (data.header = false in a configuration).\n",
      file);
}

/// What a person has answered, a line for each time that something about a column was answered or taken back;
/// the last one counts. It is private to its user while it is there, as the draft is.
class AnswersFile {
 public:
  explicit AnswersFile(const std::string& draft) : path_(draft + ".answers") {}

  /// Earlier answers, if there are any and the person wants to go on with them.
  schema::Answers taken_up(std::istream& in, std::ostream& out) {
    schema::Answers answers;
    if (!watched::exists(path_)) return answers;
    out << fmt::format("'{}' has answers of an earlier time. Go on with them? [yes] ", printable(path_))
        << std::flush;
    std::string word;
    std::getline(in, word);
    if (word == "n" || word == "no") {
      remove();
      return answers;
    }
    const std::string text = read_file(path_, kMostBytes);
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = std::min(text.find('\n', at), text.size());
      const auto line = nlohmann::json::parse(text.substr(at, end - at), nullptr, /*allow_exceptions=*/false);
      at = end + 1;
      try {  // a line that was cut off is none
        if (line.is_object())
          answers[line.at("column").get<std::string>()] = line.at("answers").get<std::vector<std::string>>();
      } catch (const nlohmann::json::exception&) {
        continue;
      }
    }
    return answers;
  }
  void keep(const std::string& column, const std::vector<std::string>& answers) {
    if (!file_) file_.emplace(open_private_file(path_));
    const nlohmann::json line{{"column", column}, {"answers", answers}};
    const std::string text = line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
    if (const int error = write_all(file_->get(), text); error != 0)
      throw IoError(fmt::format("cannot write '{}': {}. What was answered so far is in it.", printable(path_),
                                std::strerror(error)));
  }
  void remove() {
    file_.reset();
    std::error_code nothing_to_do;
    std::filesystem::remove(path_, nothing_to_do);
  }
  const std::string& path() const { return path_; }

 private:
  static constexpr std::size_t kMostBytes = std::size_t{1} << 26;

  std::string path_;
  std::optional<FileDescriptor> file_;
};

std::string comment_of_draft(const data::DataSpec& spec, bool guessed, bool sampled) {
  std::string text =
      "Public schema of a table, drafted by `muffle schema init`; docs/reference/schema.md explains every "
      "key.\n"
      "All of it is public: write it from a code book, from the law, from experience, never from these "
      "records.\n" +
      names_are_from(spec, true);
  if (guessed) {
    text +=
        "A type that is a guess is from a look at the private records, and so are the notation of its "
        "fields, the step and the decimals of whole numbers that are written with a point,\nthat numbers are "
        "codes, that times are round, that texts stand among numbers, that no row has a value in a column, "
        "and the form of fields in a\nnotation that muffle does not know: check each before this file leaves "
        "you.\nNothing else here is from the file's rows.\n";
  }
  if (sampled) {
    text +=
        "Bounds (rounded outwards), categories and missing values are from a sample that its owner calls "
        "public:\n"
        "widen what other records may exceed.\n";
  }
  return text + fmt::format(
                    "Where \"{}\" stands a person decides; no command runs with it. role = \"label\" makes "
                    "a column of categories\nthe class, role = \"person\" says whose a row is, type = "
                    "\"ignore\" leaves a column out. What must hold between columns is added by hand: "
                    "[[constraints]], "
                    "[[combinations]].\n",
                    schema::kFillIn);
}

/// Columns by name alone: what their fields look like stands in the draft, which stays with the file's owner.
/// @param asked  a person has seen each: what is closed was decided
void tell_of_notations(const std::vector<schema::DraftColumn>& columns, bool asked, std::ostream& out) {
  for (const schema::DraftColumn& c : columns) {
    if (asked && !c.is_open()) continue;
    if (!c.choices.empty()) {
      out << fmt::format(
          "Column '{}': nothing in the file tells which notation it has; the draft names those that it can "
          "be.\n",
          printable(c.name));
    } else if (c.note.starts_with(data::kUnknownNotation)) {
      out << fmt::format("Column '{}': {}; the draft shows their form.\n", printable(c.name),
                         data::kUnknownNotation);
    } else if (c.note.starts_with(data::kTextsAmongNumbers)) {
      out << fmt::format("Column '{}': {}; the draft says what becomes of them.\n", printable(c.name),
                         data::kTextsAmongNumbers);
    }
  }
}

void init(const SchemaCommand& command, std::istream& in, std::ostream& out) {
  if (watched::exists(command.out))
    throw UsageError(
        fmt::format("'{}' is there already, and a draft never overwrites a file: name another by --out.",
                    printable(command.out)));
  if (const std::filesystem::path file = command.file; std::filesystem::is_directory(file)) {
    throw DataError(
        fmt::format("'{}' is a folder, and a draft is of a table's columns. A folder of pictures needs no "
                    "schema file: what is "
                    "public about it stands in the configuration, as data.format = \"png\", data.shape = "
                    "[channels, height, "
                    "width], data.classes, data.class_names and data.resize.",
                    printable(command.file)));
  }
  AnswersFile answers(command.out);
  data::DataSpec spec = spelling(command);
  spec.features = command.file;
  const bool named = command.header.value_or(false);
  data::DataSpec sample = spec;
  sample.features = command.sample;
  std::vector<schema::DraftColumn> columns;
  std::string passed;
  with_details(out, [&] {
    columns = data::draft_columns(spec, command.sample.empty() ? nullptr : &sample, named, &passed);
  });
  const auto guesses = [&] {
    return std::count_if(columns.begin(), columns.end(), [](const auto& c) { return c.guessed; });
  };
  out << names_are_from(spec, false);
  if (!passed.empty()) out << printable(passed) << ".\n";
  if (guesses() > 0) {
    out << fmt::format(
        "The types and notations of {} of {} columns are a guess, from a look at the private file '{}': the "
        "draft stays "
        "with its owner until a person has checked names and types. Nothing else in it is from the file's "
        "rows.\n",
        guesses(), columns.size(), printable(command.file));
  }
  const bool asked = ::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1;
  if (asked) {
    out << "Answers are public: they come from a code book, the law or experience, never from these records. "
           "An empty answer takes what is in brackets, or leaves a placeholder. \"back\" goes a question "
           "back, \"quit\" stops and keeps the answers, \"help\" says what can be answered.\n";
    schema::Answers known = answers.taken_up(in, out);
    const auto keep = [&](const std::string& column, const std::vector<std::string>& all) {
      answers.keep(column, all);
    };
    if (!schema::ask_for_columns(columns, in, out, std::move(known), keep)) {
      out << fmt::format(
          "\nNo draft was written. What was answered is in '{}': the same command goes on there.\n",
          printable(answers.path()));
      return;
    }
  }
  write_file_atomically(command.out, schema::draft_toml(columns, comment_of_draft(spec, guesses() > 0,
                                                                                  !command.sample.empty())));
  answers.remove();
  tell_of_notations(columns, asked, out);
  const auto open = std::count_if(columns.begin(), columns.end(), [](const auto& c) { return c.is_open(); });
  out << fmt::format("Draft written to '{}'{}. Then: muffle check --set data.schema={} --data {}{}\n",
                     printable(command.out),
                     open == 0 ? std::string()
                               : fmt::format(": fill in what says \"{}\", in {} of {} columns",
                                             schema::kFillIn, open, columns.size()),
                     printable(command.out), printable(command.file), as_settings(command));
}

}  // namespace

void schema_command(const SchemaCommand& command, std::istream& in, std::ostream& out) {
  if (command.verb == "init") return init(command, in, out);
  out << schema::table_hash(schema::read_table_toml(command.schema)) << "\n";
}

}  // namespace muffle::app
