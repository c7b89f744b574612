#include "refused_records.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <system_error>

#include "muffle/core/files.hpp"
#include "muffle/core/hash.hpp"
#include "muffle/core/watchdog.hpp"
#include "muffle/release/message_names.hpp"

namespace muffle::round {

namespace fs = std::filesystem;

RefusedRecords::RefusedRecords(const fs::path& party, const crypto::RoundId& round)
    : file_(party / "records-refused"), round_(round) {}

void RefusedRecords::require_none() const {
  if (!is_there(file_, "the note of records that could not be summed", "No record was read.")) return;
  constexpr std::size_t kMostBytes = 4096;
  const std::string text = read_file(file_, kMostBytes);
  const std::string line = text.substr(0, text.find('\n'));
  if (line == "round " + to_hex(round_)) return;
  throw DataError(fmt::format(
      "this site's records could not be summed for the {}, and whether they can must not be asked of it "
      "in one round after another. Mend the files (`muffle check` says what is wrong), and take that "
      "round's step again or, if it is over, remove '{}'. No record was read, and nothing was charged.",
      line.substr(0, std::string("round ").size() + 16), file_.string()));
}

bool RefusedRecords::note() const {
  if (is_there(file_, "the note of records that could not be summed", "No record was read.")) return true;
  write_file_atomically(
      file_,
      fmt::format("round {}\n"
                  "This site's records are being summed for that round, or could not be; its own logs say "
                  "more. Until that round's\n"
                  "step goes through, or a person has looked and removes this file, they are summed for no "
                  "other one.\n",
                  to_hex(round_)));
  return false;
}

void RefusedRecords::clear() const {
  const WatchedStep step("removing", file_);
  std::error_code error;
  fs::remove(file_, error);
  if (error) throw IoError(fmt::format("cannot remove '{}': {}.", file_.string(), error.message()));
}

}  // namespace muffle::round
