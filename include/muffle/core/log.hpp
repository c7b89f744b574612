#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace muffle {

/// Where one process logs, and how much.
struct LogOptions {
  int rank = 0;                  ///< this process's rank; 0 in a single process
  std::string host;              ///< written in every line
  std::filesystem::path folder;  ///< JSON-lines file rank-N.jsonl goes here; empty: no file
  int verbosity = 0;             ///< -1 errors only, 0 info, 1 debug, 2 trace
};

/// Sets spdlog's default logger: rank 0 writes human-readable lines to stderr (the others only errors); each
/// rank writes its own JSON lines, readable by their owner alone. Call once per process, and again when the
/// run folder is known. Nothing private is ever logged through it, at any level.
void set_up_logging(const LogOptions& options);

/// Writes what only this rank may know (Error::local_detail) to its own log file, and nowhere else: mpirun
/// carries stderr to the console of whoever started the job. Without a log file it is dropped.
void log_local(std::string_view text);

/// The same for what is no error: a warning, and each text once, as every round goes over all records again.
void note_local(const std::string& text);

/// rank-N.jsonl: the name of a rank's log file in the folder of logs.
std::string log_file_name(int rank);

}  // namespace muffle
