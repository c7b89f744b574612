#include <unistd.h>
#include <zip.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "muffle/core/error.hpp"
#include "muffle/core/watchdog.hpp"
#include "zip_file.hpp"

namespace muffle::data {
namespace {

constexpr std::uint64_t kDeflateRatio = 1032;  // no deflate stream grows by more
constexpr std::size_t kBufferBytes = std::size_t{1} << 17;

struct CloseZip {
  void operator()(zip_t* archive) const { zip_discard(archive); }
  void operator()(zip_file_t* file) const { zip_fclose(file); }
};
using Archive = std::unique_ptr<zip_t, CloseZip>;
using Member = std::unique_ptr<zip_file_t, CloseZip>;

Archive open_archive(const std::filesystem::path& path) {
  // Asked of the system: libzip says "no such file" of some damaged files, too.
  const WatchedStep step("opening", path);
  if (::access(path.c_str(), R_OK) != 0)
    throw IoError("cannot read '" + path.string() + "': " + std::strerror(errno) + ".");
  int code = 0;
  Archive archive(zip_open(path.c_str(), ZIP_RDONLY, &code));
  if (archive) return archive;
  zip_error_t error;
  zip_error_init_with_code(&error, code);
  const std::string reason = code == ZIP_ER_NOENT ? "its directory is damaged" : zip_error_strerror(&error);
  zip_error_fini(&error);
  if (code == ZIP_ER_OPEN || code == ZIP_ER_READ)
    throw IoError("cannot read '" + path.string() + "': " + reason + ".");
  throw DataError("'" + path.string() + "' is not an intact .npz file: " + reason +
                  ". Make or copy it again.");
}

class OpenMember final : public ZipMember {
 public:
  OpenMember(std::filesystem::path path, Archive archive, const zip_stat_t& info, std::string name)
      : path_(std::move(path)),
        name_(std::move(name)),
        archive_(std::move(archive)),
        stored_(info.comp_method == ZIP_CM_STORE),
        size_(info.size) {
    const WatchedStep step("reading", path_);
    file_.reset(zip_fopen_index(archive_.get(), info.index, 0));
    if (!file_) throw damaged(zip_strerror(archive_.get()));
    buffer_.resize(kBufferBytes);
  }

  std::uint64_t size() const override { return size_; }

  std::size_t read(std::span<std::byte> out) override {
    std::size_t done = 0;
    while (done < out.size() && (begin_ < end_ || refill())) {
      const std::size_t n = std::min(out.size() - done, end_ - begin_);
      std::memcpy(out.data() + done, buffer_.data() + begin_, n);
      begin_ += n;
      done += n;
    }
    return done;
  }

  std::uint64_t skip(std::uint64_t n) override {
    std::uint64_t done = std::min<std::uint64_t>(n, end_ - begin_);
    begin_ += static_cast<std::size_t>(done);
    // libzip can seek in what is stored; it then leaves the checksum unchecked.
    if (stored_ && n - done > kBufferBytes) {
      const std::uint64_t jump = std::min(n - done, size_ - std::min(size_, read_));
      const WatchedStep step("reading", path_);
      if (zip_fseek(file_.get(), static_cast<zip_int64_t>(jump), SEEK_CUR) == 0) {
        read_ += jump;
        done += jump;
      }
    }
    while (done < n && (begin_ < end_ || refill())) {
      const std::uint64_t step = std::min<std::uint64_t>(n - done, end_ - begin_);
      begin_ += static_cast<std::size_t>(step);
      done += step;
    }
    return done;
  }

 private:
  DataError damaged(const char* reason) const {
    return DataError(name_ + " is damaged: " + reason + ". Make or copy the file again.");
  }

  /// Makes at least one byte ready, or returns false at the end, where libzip compares the checksum.
  bool refill() {
    const WatchedStep step("reading", path_);
    const zip_int64_t n = zip_fread(file_.get(), buffer_.data(), buffer_.size());
    if (n < 0) throw damaged(zip_file_strerror(file_.get()));
    begin_ = 0;
    end_ = static_cast<std::size_t>(n);
    read_ += end_;
    if (read_ > size_) throw damaged("it is longer than it declares");
    return end_ > 0;
  }

  std::filesystem::path path_;
  std::string name_;
  Archive archive_;
  Member file_;  ///< goes before its archive
  bool stored_;
  std::uint64_t size_;
  std::uint64_t read_ = 0;  ///< bytes that libzip gave or passed over
  std::vector<std::byte> buffer_;
  std::size_t begin_ = 0, end_ = 0;  ///< what is ready
};

}  // namespace

std::unique_ptr<ZipMember> open_zip_member(const std::filesystem::path& path, const std::string& member,
                                           const std::string& name) {
  Archive archive = open_archive(path);
  const std::uint64_t file_size = [&] {
    const WatchedStep step("looking at", path);
    return std::filesystem::file_size(path);
  }();
  zip_stat_t info;
  if (zip_stat(archive.get(), member.c_str(), 0, &info) != 0) return nullptr;
  constexpr zip_uint64_t kNeeded =
      ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD | ZIP_STAT_INDEX | ZIP_STAT_ENCRYPTION_METHOD;
  const bool stored = info.comp_method == ZIP_CM_STORE, deflated = info.comp_method == ZIP_CM_DEFLATE;
  if ((info.valid & kNeeded) != kNeeded || !(stored || deflated) || info.encryption_method != ZIP_EM_NONE) {
    throw DataError(
        name + " is compressed in a way that muffle does not read: use numpy.savez or savez_compressed.");
  }
  if (info.comp_size > file_size || info.size / kDeflateRatio > info.comp_size ||
      (stored && info.size != info.comp_size)) {
    throw DataError(name + " declares a size that its file cannot hold: the file is damaged or lies.");
  }
  return std::make_unique<OpenMember>(path, std::move(archive), info, name);
}

}  // namespace muffle::data
