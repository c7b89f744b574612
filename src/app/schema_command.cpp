#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>

#include "muffle/app/commands.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/core/text.hpp"
#include "muffle/data/settings.hpp"
#include "muffle/data/table_check.hpp"
#include "muffle/data/table_draft.hpp"
#include "muffle/schema/draft.hpp"
#include "muffle/schema/table_toml.hpp"

namespace muffle::app {
namespace {

constexpr std::size_t kPlacesShown = 20;

data::DataSpec spelling(const SchemaCommand& command) {
  data::DataSpec spec;
  spec.format = "csv";
  spec.separator = command.separator == "tab" ? '\t' : command.separator.front();
  spec.header = command.header.value_or(true);
  spec.comment = command.comment;
  if (!data::comment_problem(spec).empty())
    throw UsageError("--comment needs one character, neither a quote nor a blank nor the separator.");
  return spec;
}

/// Where a row is malformed may be told to whoever holds the file.
template <class Work>
void with_details(const Work& work) {
  try {
    work();
  } catch (const DataError& e) {
    if (!e.local_detail().empty()) std::cerr << printable(e.local_detail()) << std::endl;
    throw;
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

std::string comment_of_draft(const data::DataSpec& spec, bool guessed, bool sampled) {
  std::string text =
      "Public schema of a table, drafted by `muffle schema init`; docs/reference/schema.md explains every "
      "key.\n"
      "All of it is public: write it from a code book, from the law, from experience, never from these "
      "records.\n" +
      names_are_from(spec, true);
  if (guessed) {
    text +=
        "A type that is a guess is from a look at the private records: check it before this file leaves "
        "you.\n"
        "Nothing else here is from the file's rows.\n";
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
                    "\"ignore\" leaves a column out.\n",
                    schema::kFillIn);
}

void init(const SchemaCommand& command, std::istream& in, std::ostream& out) {
  if (watched::exists(command.out))
    throw UsageError(
        fmt::format("'{}' is there already, and a draft never overwrites a file: name another by --out.",
                    printable(command.out)));
  data::DataSpec spec = spelling(command);
  spec.features = command.files.front();
  const bool named = command.header.value_or(false);
  data::DataSpec sample = spec;
  sample.features = command.sample;
  std::vector<schema::DraftColumn> columns;
  with_details(
      [&] { columns = data::draft_columns(spec, command.sample.empty() ? nullptr : &sample, named); });
  const auto guesses = [&] {
    return std::count_if(columns.begin(), columns.end(), [](const auto& c) { return c.guessed; });
  };
  out << names_are_from(spec, false);
  if (guesses() > 0) {
    out << fmt::format(
        "The types of {} of {} columns are a guess, from a look at the private file '{}': the draft stays "
        "with its owner until a person has checked names and types. Nothing else in it is from the file's "
        "rows.\n",
        guesses(), columns.size(), printable(command.files.front()));
  }
  if (::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1) {
    out << "Answers are public: they come from a code book, the law or experience, never from these records. "
           "An empty answer takes what is in brackets, or leaves a placeholder.\n";
    schema::ask_for_columns(columns, in, out);
  }
  write_file_atomically(command.out, schema::draft_toml(columns, comment_of_draft(spec, guesses() > 0,
                                                                                  !command.sample.empty())));
  const auto open = std::count_if(columns.begin(), columns.end(), [](const auto& c) { return c.is_open(); });
  out << fmt::format("Draft written to '{}'{}. Then: muffle schema check {} {}\n", printable(command.out),
                     open == 0 ? std::string()
                               : fmt::format(": fill in what says \"{}\", in {} of {} columns",
                                             schema::kFillIn, open, columns.size()),
                     printable(command.out), printable(command.files.front()));
}

void check(const SchemaCommand& command, std::ostream& out) {
  data::DataSpec spec = spelling(command);
  spec.schema.table = std::make_shared<const schema::Table>(schema::read_table_toml(command.schema));
  const data::TableCheck found = data::check_table(spec, command.files, kPlacesShown);
  for (const std::string& place : found.places) out << printable(place) << "\n";
  if (found.misfits > found.places.size())
    out << fmt::format("... and {} more\n", found.misfits - found.places.size());
  if (!found.counts.empty()) out << "In all:\n";
  for (const std::string& line : found.counts) out << "  " << printable(line) << "\n";
  for (const std::string& doubt : found.doubts) out << "Look at this: " << printable(doubt) << ".\n";
  out << fmt::format(
             "{} rows in {} file{}; places and counts are private, they stay with whoever holds the files.\n",
             found.rows, command.files.size(), command.files.size() == 1 ? "" : "s")
      << std::flush;
  if (found.misfits > 0) {
    throw DataError(fmt::format(
        "The files do not fit the schema '{}': mend what is listed above, in the files or in "
        "the schema; or let data.on_error = \"clamp\" take the nearest bound or the missing value.",
        printable(command.schema)));
  }
  out << "Every row fits the schema.\n";
}

}  // namespace

void schema_command(const SchemaCommand& command, std::istream& in, std::ostream& out) {
  if (command.verb == "init") return init(command, in, out);
  if (command.verb == "check") return check(command, out);
  out << schema::table_hash(schema::read_table_toml(command.schema)) << "\n";
}

}  // namespace muffle::app
