#include "stages.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <nlohmann/json.hpp>

#include "muffle/comm/termination.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"

namespace muffle::app {

using nlohmann::json;

bool is_done(comm::HostComm& comm, const StageWork& work) {
  // Between two stages nothing is half-done: a rank that was told to stop stops all here.
  comm::agree(comm, "starting " + work.stage, true, [&] { comm.check_peers("starting " + work.stage); });
  std::int64_t done = 0;
  comm::agree(comm, "comparing the files of " + work.stage, true, [&] {
    if (!comm.is_root()) return;
    std::string reason;
    try {
      reason = why_not_done(work, [&] { comm.check_peers("comparing a stage's files"); });
    } catch (const CommError&) {
      throw;
    } catch (const comm::StoppedError&) {
      throw;
    } catch (const std::exception& e) {
      reason = fmt::format("what is there cannot be checked ({})", e.what());
    }
    done = reason.empty() ? 1 : 0;
    if (done != 0) {
      spdlog::info("{}: its output is there already and matches", work.stage);
    } else {
      spdlog::info("{}: begins; {}", work.stage, reason);
    }
  });
  comm.all_reduce_max(std::span(&done, 1));
  return done != 0;
}

void mark_done(comm::HostComm& comm, const StageWork& work, const std::vector<std::string>& outputs) {
  const comm::TerminationHold hold;  // on every rank: those that wait do so to the end
  comm::agree(comm, "noting that a stage is done", true, [&] {
    if (!comm.is_root()) return;
    // What was made is noted even where the job is told to stop meanwhile: a signal waits.
    note_done(work, outputs, [&] { comm.check_lost("noting that a stage is done"); });
  });
}

bool samples_are_private(const std::filesystem::path& samples_json) {
  if (!is_there(samples_json, "the samples' description", "Nothing was changed.")) return true;
  const json description = json::parse(read_file(samples_json), nullptr, /*allow_exceptions=*/false);
  return !description.is_object() || description.value("is_private", json(true)) != false;
}

void warn_not_private(const std::string& stage, const std::filesystem::path& file) {
  spdlog::warn(
      "{}: {} is NOT PRIVATE: its release has seeded test noise (--insecure-seeded-noise). Show it, and what "
      "is "
      "made from it, to nobody who may not see the records.",
      stage, file.string());
}

}  // namespace muffle::app
