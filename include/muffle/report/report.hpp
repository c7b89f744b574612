#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "muffle/core/heartbeat.hpp"
#include "muffle/data/source.hpp"

namespace muffle::report {

/// Files that may leave, of one release. All of them are checked against one another.
struct PublicFiles {
  std::filesystem::path release;
  std::filesystem::path model, samples;  ///< empty: there is none
  std::filesystem::path ledger;          ///< of its data set; empty: not looked at
  /// Of whoever makes the report: who, when, for what. Shown as it is, at the top; empty: nothing is.
  std::string about = {};
};

/// Real rows beside them. PRIVATE.
struct RealRecords {
  data::DataSpec train;  ///< that the release was made from
  data::DataSpec test;   ///< held out; no `features`: there are none
  /// Scores of `muffle evaluate`, shown if they are of these very samples; empty: there are none.
  std::filesystem::path metrics;
};

/// A report as one HTML file, which has no script and asks nobody for anything.
struct Report {
  std::string html;
  bool is_private = false;
  bool m_is_private = false;  ///< add/remove-one: no file's time may tell how long the work on records took
  bool is_guaranteed =
      true;  ///< false: the release has seeded test noise, so even a public one may not leave
};

/// Made of these files alone, all of which are public: it may leave as they may. Post-processing.
/// @throws ProtocolError  a file is not what the others say it is: samples that samples.json beside them does
/// not list might be anything, records among it;  IoError, DataError.
Report public_report(const PublicFiles& files, const Heartbeat& heartbeat);
/// The same, with real rows beside. Reads REAL data: not covered by the release's guarantee, and choosing
/// anything by it costs privacy. It is marked PRIVATE on every section and every printed page.
/// @throws as public_report().
Report private_report(const PublicFiles& files, const RealRecords& real, const Heartbeat& heartbeat);

/// What reports are called in a run folder.
inline constexpr const char* kPublicName = "report.html";
inline constexpr const char* kPrivateName = "report-private.html";

/// What write_report() would refuse by the file's name, and by what is there: before any work is done.
/// @throws ConfigError, IoError.
void require_writable(const std::filesystem::path& path, bool is_private);
/// Writes a report. A file that is there is replaced only if it is a report of the same kind, so that none
/// takes another's place; a private one is this user's alone (0600) from its first byte on, and is not
/// written under the name of a public one. @throws ConfigError  it would be; IoError.
void write_report(const std::filesystem::path& path, const Report& report);

}  // namespace muffle::report
