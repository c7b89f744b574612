#pragma once

#include <filesystem>
#include <string>

namespace muffle {

struct LogOptions {
  int rank = 0;                  ///< this process's rank; 0 in a single process
  std::string host;              ///< written in every line
  std::filesystem::path folder;  ///< JSON-lines file rank-N.jsonl goes here; empty: no file
  int verbosity = 0;             ///< -1 errors only, 0 info, 1 debug, 2 trace
};

/// Sets spdlog's default logger: rank 0 writes human-readable lines to stderr (the others only errors); each
/// rank writes its own JSON lines. Call once per process, and again when the run folder is known. Everything
/// else logs through spdlog::info(...) and friends. Nothing private is ever logged, at any level.
void set_up_logging(const LogOptions& options);

}  // namespace muffle
