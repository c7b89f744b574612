#include "muffle/core/log.hpp"

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/base_sink.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <memory>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/core/progress.hpp"
#include "muffle/core/settings.hpp"
#include "muffle/core/watchdog.hpp"

namespace muffle {
namespace {

/// The message as a JSON string, so that a line stays one valid JSON object whatever it holds.
class JsonMessage : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& msg, const std::tm&, spdlog::memory_buf_t& dest) override {
    const std::string text = settings::toml_string({msg.payload.data(), msg.payload.size()});
    dest.append(text.data(), text.data() + text.size());
  }
  std::unique_ptr<custom_flag_formatter> clone() const override { return std::make_unique<JsonMessage>(); }
};

/// A private file. The watchdog looks after its writes: a training writes lines between its collectives.
class PrivateFileSink final : public spdlog::sinks::base_sink<std::mutex> {
 public:
  explicit PrivateFileSink(std::filesystem::path file)
      : file_(std::move(file)), fd_(open_private_file(file_)) {}
  ~PrivateFileSink() override {
    const WatchedStep step("closing", file_);
    static_cast<void>(fd_.close());
  }

 private:
  void sink_it_(const spdlog::details::log_msg& msg) override {
    spdlog::memory_buf_t line;
    formatter_->format(msg, line);
    const WatchedStep step("writing", file_);
    if (const int error = write_all(fd_.get(), {line.data(), line.size()}); error != 0)
      throw spdlog::spdlog_ex("cannot write the log " + file_.string(), error);
  }
  void flush_() override {}

  std::filesystem::path file_;
  FileDescriptor fd_;
};

/// Writes to this rank's file alone; none before there is a file.
std::shared_ptr<spdlog::logger>& own_file() {
  static std::shared_ptr<spdlog::logger> logger;
  return logger;
}

/// What note_local() has said in that file.
std::set<std::string>& noted() {
  static std::set<std::string> texts;
  return texts;
}

spdlog::level::level_enum level_of(int verbosity) {
  if (verbosity < 0) return spdlog::level::err;
  if (verbosity == 0) return spdlog::level::info;
  return verbosity == 1 ? spdlog::level::debug : spdlog::level::trace;
}

}  // namespace

void set_up_logging(const LogOptions& options) {
  own_file().reset();
  noted().clear();
  Progress::show(options.verbosity >= 0);
  std::vector<spdlog::sink_ptr> sinks;
  auto console = std::make_shared<spdlog::sinks::stderr_color_sink_mt>();
  console->set_level(options.rank == 0 ? level_of(options.verbosity) : spdlog::level::err);
  console->set_pattern(options.rank == 0 ? "%^muffle:%$ %v"
                                         : "%^muffle (rank " + std::to_string(options.rank) + " on " +
                                               options.host + "):%$ %v");
  sinks.push_back(console);
  if (!options.folder.empty()) {
    const std::filesystem::path path = options.folder / log_file_name(options.rank);
    const auto file = std::make_shared<PrivateFileSink>(path);
    auto formatter = std::make_unique<spdlog::pattern_formatter>();
    const std::string host = settings::toml_string(options.host);
    formatter->add_flag<JsonMessage>('*').set_pattern(
        R"({"time":"%Y-%m-%dT%H:%M:%S.%e%z","level":"%l","rank":)" + std::to_string(options.rank) +
        R"(,"host":)" + host + R"(,"pid":%P,"message":%*})");
    file->set_formatter(std::move(formatter));
    file->set_level(spdlog::level::trace);
    sinks.push_back(file);
    own_file() = std::make_shared<spdlog::logger>("muffle-own-file", file);
    own_file()->flush_on(spdlog::level::trace);
  }
  auto logger = std::make_shared<spdlog::logger>("muffle", sinks.begin(), sinks.end());
  logger->set_level(std::min(level_of(options.verbosity), spdlog::level::debug));
  logger->flush_on(spdlog::level::debug);
  spdlog::set_default_logger(logger);
}

void log_local(std::string_view text) {
  if (own_file()) own_file()->error("{}", text);
}

void note_local(const std::string& text) {
  static std::mutex one_at_a_time;
  const std::lock_guard lock(one_at_a_time);
  if (own_file() && noted().insert(text).second) own_file()->warn("{}", text);
}

std::string log_file_name(int rank) { return "rank-" + std::to_string(rank) + ".jsonl"; }

}  // namespace muffle
