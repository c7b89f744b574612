#include "muffle/core/log.hpp"

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/basic_file_sink.h>
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

/// A sink whose writes the watchdog looks after: a training writes lines between its collectives.
class WatchedSink : public spdlog::sinks::sink {
 public:
  WatchedSink(spdlog::sink_ptr inner, std::filesystem::path file)
      : inner_(std::move(inner)), file_(std::move(file)) {}
  void log(const spdlog::details::log_msg& msg) override {
    const WatchedStep step("writing", file_);
    inner_->log(msg);
  }
  void flush() override {
    const WatchedStep step("writing", file_);
    inner_->flush();
  }
  void set_pattern(const std::string& pattern) override { inner_->set_pattern(pattern); }
  void set_formatter(std::unique_ptr<spdlog::formatter> formatter) override {
    inner_->set_formatter(std::move(formatter));
  }

 private:
  spdlog::sink_ptr inner_;
  std::filesystem::path file_;
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
    ensure_writable_folder(options.folder);
    const std::filesystem::path path = options.folder / log_file_name(options.rank);
    spdlog::sink_ptr file;
    try {
      const WatchedStep step("opening", path);
      file = std::make_shared<WatchedSink>(std::make_shared<spdlog::sinks::basic_file_sink_mt>(path.string()),
                                           path);
    } catch (const spdlog::spdlog_ex& e) {
      throw IoError("cannot open the log " + path.string() + ": " + e.what() +
                    ". Check its permissions and the disk's space");
    }
    using std::filesystem::perms;
    const WatchedStep step("setting the permissions of", path);
    std::error_code ignored;  // a file system without permissions
    std::filesystem::permissions(path, perms::owner_read | perms::owner_write, ignored);
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
