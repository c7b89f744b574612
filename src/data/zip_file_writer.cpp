#include <cerrno>
#include <cstring>
#include <exception>
#include <fstream>
#include <optional>

#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/core/watchdog.hpp"
#include "muffle/synth/export.hpp"
#include "npy.hpp"
#include "zip_archive.hpp"

namespace muffle::synth {
namespace {

constexpr zip_uint16_t kFirstDosDate = 1 << 5 | 1;  // 1980-01-01: the same records make the same file

/// libzip at work, for the watchdog. Every call of a source begins a step of its own: a large file on a slow
/// disk is no hang.
class ArchiveSteps {
 public:
  /// @param path  what the watchdog calls the archive
  explicit ArchiveSteps(const std::filesystem::path& path) : path_(path) { next(); }
  void next() {
    step_.reset();
    step_.emplace("writing", path_);
  }

 private:
  const std::filesystem::path& path_;
  std::optional<WatchedStep> step_;
};

/// An array's file as libzip reads it. (Its own source for files would carry their permissions over into the
/// archive.)
class ArraySource {
 public:
  /// @param alive  called between two blocks
  ArraySource(const std::filesystem::path& file, ArchiveSteps& steps, const std::function<void()>& alive)
      : file_(file), steps_(steps), alive_(alive) {}

  /// A zip_source_callback; `self` is an ArraySource.
  static zip_int64_t call(void* self, void* data, zip_uint64_t length, zip_source_cmd_t command) noexcept {
    ArraySource& source = *static_cast<ArraySource*>(self);
    try {
      return source.answer(data, length, command);
    } catch (...) {
      source.error = std::current_exception();
      return -1;
    }
  }

  std::exception_ptr error;  ///< why it answered -1

 private:
  zip_int64_t answer(void* data, zip_uint64_t length, zip_source_cmd_t command) {
    if (command == ZIP_SOURCE_READ) alive_();
    steps_.next();
    switch (command) {
      case ZIP_SOURCE_OPEN:
        in_.open(file_, std::ios::binary);
        return in_ ? 0
                   : throw IoError("cannot read '" + file_.string() + "' again: " + std::strerror(errno) +
                                   ".");
      case ZIP_SOURCE_READ:
        in_.read(static_cast<char*>(data), static_cast<std::streamsize>(length));
        if (in_.bad()) throw IoError("reading '" + file_.string() + "' failed half-way: check the disk.");
        return in_.gcount();
      case ZIP_SOURCE_CLOSE:
        in_.close();
        return 0;
      case ZIP_SOURCE_STAT: {
        zip_stat_t info;
        zip_stat_init(&info);
        info.size = std::filesystem::file_size(file_);
        info.valid |= ZIP_STAT_SIZE;
        std::memcpy(data, &info, sizeof info);
        return sizeof info;
      }
      case ZIP_SOURCE_ERROR: {
        zip_error_t unreadable;
        zip_error_init_with_code(&unreadable, ZIP_ER_READ);
        return zip_error_to_data(&unreadable, data, length);
      }
      case ZIP_SOURCE_SUPPORTS:
        return zip_source_make_command_bitmap(ZIP_SOURCE_OPEN, ZIP_SOURCE_READ, ZIP_SOURCE_CLOSE,
                                              ZIP_SOURCE_STAT, ZIP_SOURCE_ERROR, ZIP_SOURCE_FREE, -1);
      default:
        return 0;
    }
  }

  std::filesystem::path file_;
  ArchiveSteps& steps_;
  const std::function<void()>& alive_;
  std::ifstream in_;
};

void add_member(zip_t* archive, const char* name, ArraySource& content) {
  zip_source_t* source = zip_source_function(archive, &ArraySource::call, &content);
  require(source != nullptr, std::string("libzip: ") + zip_strerror(archive));
  const zip_int64_t index = zip_file_add(archive, name, source, ZIP_FL_ENC_UTF_8);
  if (index < 0) zip_source_free(source);
  require(index >= 0 &&
              zip_set_file_compression(archive, static_cast<zip_uint64_t>(index), ZIP_CM_STORE, 0) == 0 &&
              zip_file_set_dostime(archive, static_cast<zip_uint64_t>(index), 0, kFirstDosDate, 0) == 0,
          std::string("libzip: ") + zip_strerror(archive));
}

/// @param path  what messages call the file
void write_archive(const std::filesystem::path& file, ArraySource& x, ArraySource& y,
                   const std::filesystem::path& path) {
  int code = 0;
  Archive archive(zip_open(file.c_str(), ZIP_CREATE | ZIP_TRUNCATE, &code));
  require(archive != nullptr, "libzip could not begin an archive");
  add_member(archive.get(), "x.npy", x);
  add_member(archive.get(), "y.npy", y);
  if (zip_close(archive.get()) == 0) {
    static_cast<void>(archive.release());
    return;
  }
  for (const ArraySource* array : {&x, &y}) {
    if (array->error) std::rethrow_exception(array->error);
  }
  throw IoError("cannot write '" + path.string() + "': " + zip_strerror(archive.get()) +
                ". Check that you may write there and that the disk is not full.");
}

/// Its arrays grow in files of their own, which libzip then puts together: it writes no archive in pieces.
class Npz final : public RecordWriter {
 public:
  Npz(const std::filesystem::path& path, const RecordKind& kind)
      : RecordWriter(kind), path_(path), x_(path.string() + ".x.npy"), y_(path.string() + ".y.npy") {
    const auto begin = [](NewFile& file, const NpyHeader& header) {
      const std::string text = npy_header(header);
      file.write(std::as_bytes(std::span(text)));
    };
    begin(x_, {kind.floats ? "<f4" : "|u1", {kind.count, kind.dims()}});
    begin(y_, {"|u1", {kind.count}});
  }
  ~Npz() override {
    const WatchedStep step("removing what is left of", path_);
    std::error_code nothing_to_do;
    std::filesystem::remove(whole(), nothing_to_do);
  }

 private:
  void write(const Records& some) override {
    x_.write(kind().floats ? std::as_bytes(std::span(some.floats)) : std::as_bytes(std::span(some.bytes)));
    y_.write(std::as_bytes(std::span(some.labels)));
  }
  void complete(const std::function<void()>& alive) override {
    {
      ArchiveSteps steps(path_);
      ArraySource x(x_.temporary(), steps, alive), y(y_.temporary(), steps, alive);
      write_archive(whole(), x, y, path_);
    }
    move_into_place(whole(), path_);
  }
  std::filesystem::path whole() const { return x_.temporary().string() + ".zip"; }

  std::filesystem::path path_;
  NewFile x_, y_;
};

}  // namespace

std::unique_ptr<RecordWriter> npz_writer(const std::filesystem::path& path, const RecordKind& kind) {
  return std::make_unique<Npz>(path, kind);
}

void write_npz(const std::filesystem::path& path, const Records& records) {
  write_whole(*npz_writer(path, records.kind()), records);
}

}  // namespace muffle::synth
