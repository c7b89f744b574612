#include "muffle/core/files.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <array>
#include <chrono>
#include <ctime>
#include <fstream>
#include <iterator>
#include <span>

#include "muffle/core/private_file.hpp"
#include "support/expect_error.hpp"
#include "support/temporary_folder.hpp"

namespace muffle {
namespace {

using test::expect_error;
using test::TemporaryFolder;

std::size_t entries(const std::filesystem::path& folder) {
  return static_cast<std::size_t>(
      std::distance(std::filesystem::directory_iterator(folder), std::filesystem::directory_iterator()));
}

TEST(Files, WritesWhatItReads) {
  const TemporaryFolder folder;
  const std::string text("a\0b\r\n\xFF", 6);
  write_file_atomically(folder / "f", text);
  EXPECT_EQ(read_file(folder / "f"), text);
  write_file_atomically(folder / "f", std::string_view());
  EXPECT_EQ(read_file(folder / "f"), "");
  EXPECT_EQ(entries(folder.path()), 1u);
}

TEST(Files, ReplacesAFileWithoutTouchingTheOldBytes) {
  const TemporaryFolder folder;
  write_file_atomically(folder / "f", "old");
  std::ifstream open_before(folder / "f");
  write_file_atomically(folder / "f", "new");
  std::string still;
  open_before >> still;
  EXPECT_EQ(still, "old");
  EXPECT_EQ(read_file(folder / "f"), "new");
  EXPECT_EQ(entries(folder.path()), 1u);
}

TEST(Files, PrivateOnesAreThisUsersAloneWhateverTheUmask) {
  const TemporaryFolder folder;
  const mode_t before = ::umask(0);
  write_file_atomically(folder / "f", "open to all");  // what takes its place is not
  write_private_file(folder / "f", "one");
  struct stat info {};
  ASSERT_EQ(::stat((folder / "f").c_str(), &info), 0);
  ::umask(before);
  EXPECT_EQ(info.st_mode & 0777u, 0600u);
  EXPECT_EQ(read_file(folder / "f"), "one");
  // A link that somebody has put where the new file is made is not followed.
  write_file_atomically(folder / "elsewhere", "untouched");
  std::filesystem::create_symlink(folder / "elsewhere", folder / ".f.private.tmp");
  write_private_file(folder / "f", "two");
  EXPECT_EQ(read_file(folder / "f"), "two");
  EXPECT_EQ(read_file(folder / "elsewhere"), "untouched");
  EXPECT_EQ(entries(folder.path()), 2u);
  expect_error(ExitCode::kIo, {"cannot write"}, [&] { write_private_file(folder / "none" / "f", "x"); });
}

TEST(Files, MayBeReadByWhomTheUmaskAllows) {
  const TemporaryFolder folder;
  const mode_t before = ::umask(0);
  for (const mode_t mask : {0022u, 0027u, 0077u, 0002u}) {
    ::umask(mask);
    write_file_atomically(folder / "f", "x");
    struct stat info {};
    ASSERT_EQ(::stat((folder / "f").c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777u, 0666u & ~mask);
  }
  ::umask(before);
}

TEST(Files, AnInputFileIsReadInPieces) {
  const TemporaryFolder folder;
  write_file_atomically(folder / "f", "abcdefgh");
  InputFile file(folder / "f", "a file", "Look for it.");
  EXPECT_EQ(file.size(), 8u);
  EXPECT_EQ(file.mode() & 0600, 0600u);
  std::string piece(2, '-');
  EXPECT_EQ(file.read(std::as_writable_bytes(std::span(piece))), 2u);
  file.skip(4);
  EXPECT_EQ(file.read(std::as_writable_bytes(std::span(piece))), 2u);
  EXPECT_EQ(piece, "gh");
  EXPECT_EQ(file.read(std::as_writable_bytes(std::span(piece))), 0u);
}

TEST(Files, TimesAreRoundedOfWhatWasChangedSince) {
  namespace fs = std::filesystem;
  const TemporaryFolder folder, elsewhere;
  fs::create_directories(folder / "sub");
  for (const auto& file : {folder / "old", folder / "sub/new", elsewhere / "theirs"})
    write_file_atomically(file, "x");
  fs::create_symlink(elsewhere / "theirs", folder / "link");
  const auto day = fs::file_time_type::duration(std::chrono::hours(24));
  fs::last_write_time(folder / "old",
                      fs::last_write_time(folder / "old") - 3 * day - std::chrono::seconds(1));
  const auto old = fs::last_write_time(folder / "old"), theirs = fs::last_write_time(elsewhere / "theirs");
  const auto since_midnight = [](const fs::path& file) {
    struct stat info {};
    EXPECT_EQ(::stat(file.c_str(), &info), 0);
    return std::array{info.st_mtim.tv_sec % 86400, info.st_mtim.tv_nsec, info.st_atim.tv_sec % 86400,
                      info.st_atim.tv_nsec};
  };
  using Times = std::array<long, 4>;
  round_times(folder.path(), std::time(nullptr) - 2 * 86400);
  for (const auto& file : {folder / "sub/new", folder / "sub", folder.path()})
    EXPECT_EQ(since_midnight(file), Times{}) << file;
  const Times of_old = since_midnight(folder / "old");
  EXPECT_EQ(Times({0, 0, of_old[2], of_old[3]}), Times{}) << "it was read since";
  EXPECT_EQ(fs::last_write_time(folder / "old"), old);
  fs::last_write_time(folder / "sub/new", old);
  round_own_times(folder / "sub");
  EXPECT_EQ(fs::last_write_time(folder / "sub/new"), old) << "not what lies in a folder";
  EXPECT_EQ(fs::last_write_time(elsewhere / "theirs"), theirs) << "a link is not followed";
  EXPECT_NO_THROW(round_times(folder / "absent"));
}

TEST(Files, PrivateLinesGoToAFileOfThisUsersAlone) {
  namespace fs = std::filesystem;
  const TemporaryFolder folder;
  const auto mode_of = [&](const std::string& name) {
    return static_cast<unsigned>(fs::status(folder / name).permissions());
  };
  const mode_t before = ::umask(0);
  EXPECT_EQ(write_all(open_private_file(folder / "new").get(), "a"), 0);
  ::umask(before);
  EXPECT_EQ(mode_of("new"), 0600u);
  fs::permissions(folder / "new", fs::perms(0644));  // of a copy
  EXPECT_EQ(write_all(open_private_file(folder / "new").get(), "b"), 0);
  EXPECT_EQ(read_file(folder / "new"), "ab");
  EXPECT_EQ(mode_of("new"), 0600u);

  write_file_atomically(folder / "theirs", "x");
  fs::create_symlink(folder / "theirs", folder / "link");
  fs::create_symlink(folder / "absent", folder / "link to nothing");
  fs::create_hard_link(folder / "theirs", folder / "another name");
  ASSERT_EQ(::mkfifo((folder / "fifo").c_str(), 0600), 0);
  fs::create_directory(folder / "folder");
  const auto refused = [&](const std::string& name) {
    expect_error(ExitCode::kIo, {name.substr(0, name.find('/'))}, [&] { open_private_file(folder / name); });
  };
  for (const char* name : {"link", "link to nothing", "another name", "fifo", "folder"}) refused(name);
  write_file_atomically(folder / "no folder", "x");
  fs::create_directory(folder / "of this user's");
  fs::create_directory_symlink(folder / "of this user's", folder / "linked");
  for (const char* name : {"no folder/new", "linked/new"}) refused(name);
  EXPECT_TRUE(fs::is_empty(folder / "of this user's"));
  EXPECT_EQ(write_all(open_private_file(folder / "of this user's/below/new").get(), "c"), 0);
  if (::geteuid() == 0) {  // else nobody has another's file to try
    fs::create_directory(folder / "another's");
    ASSERT_EQ(::chown((folder / "another's").c_str(), 65534, 65534), 0);
    refused("another's/new");
    write_file_atomically(folder / "of another", "x");
    ASSERT_EQ(::chown((folder / "of another").c_str(), 65534, 65534), 0);
    refused("of another");
  }
  EXPECT_EQ(read_file(folder / "theirs"), "x");
  EXPECT_FALSE(fs::exists(folder / "absent"));
}

TEST(Files, WhatMayNeverHaveAnythingToReadIsNoInputFile) {
  const TemporaryFolder folder;
  ASSERT_EQ(::mkfifo((folder / "fifo").c_str(), 0600), 0);
  for (const std::filesystem::path& path :
       {folder / "fifo", folder.path(), std::filesystem::path("/dev/zero")}) {
    expect_error(ExitCode::kIo, {path.string(), "not a regular file; a key is needed"},
                 [&] { InputFile(path, "a key", ""); });
  }
  expect_error(ExitCode::kIo, {"absent", "No such file", "Look for it."},
               [&] { InputFile(folder / "absent", "a key", "Look for it."); });
}

TEST(Files, RemovesWhatIsInAFolderButNotWhereItsLinksLead) {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder / "a" / "b" / "c");
  write_file_atomically(folder / "kept", "x");
  write_file_atomically(folder / "a" / "b" / "f", "x");
  std::filesystem::create_symlink(folder.path(), folder / "a" / "link");
  watched::remove_all(folder / "a");
  watched::remove_all(folder / "a");  // nothing is there
  EXPECT_EQ(entries(folder.path()), 1u);
}

// The tests may run as root, whom permissions do not stop: these paths stop root too.
TEST(Files, AnUnwritablePlaceIsAnIoErrorThatNamesIt) {
  const TemporaryFolder folder;
  write_file_atomically(folder / "file", "x");
  expect_error(ExitCode::kIo, {"file/below", "Check that the folder exists"},
               [&] { write_file_atomically(folder / "file/below", "x"); });
  expect_error(ExitCode::kIo, {"/proc/muffle-test"}, [] { write_file_atomically("/proc/muffle-test", "x"); });
  expect_error(ExitCode::kIo, {"absent/f"}, [&] { write_file_atomically(folder / "absent/f", "x"); });
}

TEST(Files, AFailedRenameLeavesNoTemporaryFile) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder / "taken");
  expect_error(ExitCode::kIo, {"taken"}, [&] { write_file_atomically(folder / "taken", "x"); });
  EXPECT_EQ(entries(folder.path()), 1u);
  EXPECT_TRUE(std::filesystem::is_directory(folder / "taken"));
}

TEST(Files, ANewFileIsWholeOrAbsent) {
  const TemporaryFolder folder;
  const auto hello = std::as_bytes(std::span("hello", 5));
  {
    NewFile dropped(folder / "a");
    dropped.write(hello);
    EXPECT_EQ(read_file(dropped.temporary()), "hello");
    EXPECT_FALSE(std::filesystem::exists(folder / "a"));
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  NewFile file(folder / "a");
  file.write(hello);
  file.write(hello);
  file.commit();
  EXPECT_EQ(read_file(folder / "a"), "hellohello");
}

TEST(Files, MovesFilesAndFoldersIntoPlace) {
  const TemporaryFolder folder;
  std::filesystem::create_directories(folder / "working" / "png");
  write_file_atomically(folder / "working" / "a", "new");
  write_file_atomically(folder / "a", "old");
  move_into_place(folder / "working" / "a", folder / "a");
  move_into_place(folder / "working" / "png", folder / "png");
  EXPECT_EQ(read_file(folder / "a"), "new");
  EXPECT_TRUE(std::filesystem::is_directory(folder / "png"));
  expect_error(ExitCode::kIo, {"nowhere"}, [&] { move_into_place(folder / "nowhere", folder / "a"); });
}

TEST(Files, RoomIsRefusedThatTheDiskHasNot) {
  const TemporaryFolder folder;
  require_room(folder.path(), 1 << 20);
  const std::uintmax_t left = std::filesystem::space(folder.path()).available;
  expect_error(ExitCode::kIo, {"no room for", "bytes left", "Make room"},
               [&] { require_room(folder.path(), left + (std::uintmax_t{1} << 40)); });
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(Files, ReadRefusesWhatIsMissingAFolderOrTooLarge) {
  const TemporaryFolder folder;
  expect_error(ExitCode::kIo, {"absent", "No such file"}, [&] { read_file(folder / "absent"); });
  expect_error(ExitCode::kIo, {"is a folder"}, [&] { read_file(folder.path()); });
  write_file_atomically(folder / "f", "12345");
  EXPECT_EQ(read_file(folder / "f", 5), "12345");
  expect_error(ExitCode::kIo, {"larger than the 4 bytes"}, [&] { read_file(folder / "f", 4); });
}

TEST(Files, AFileIsMovedButNeverInThePlaceOfAnother) {
  const TemporaryFolder folder;
  write_file_atomically(folder / "from", "new");
  write_file_atomically(folder / "taken", "old");
  EXPECT_FALSE(move_if_new(folder / "from", folder / "taken"));
  EXPECT_EQ(read_file(folder / "taken"), "old");
  EXPECT_TRUE(move_if_new(folder / "from", folder / "free"));
  EXPECT_EQ(read_file(folder / "free"), "new");
  EXPECT_EQ(entries(folder.path()), 2u);
  expect_error(ExitCode::kIo, {"from"}, [&] { (void)move_if_new(folder / "from", folder / "other"); });
}

TEST(Files, EnsureWritableFolderMakesParentsAndLeavesNoProbe) {
  const TemporaryFolder folder;
  ensure_writable_folder(folder / "a/b/c");
  ensure_writable_folder(folder / "a/b/c");
  EXPECT_EQ(entries(folder / "a/b/c"), 0u);
}

TEST(Files, EnsureWritableFolderRefusesWhatCannotBeWritten) {
  const TemporaryFolder folder;
  write_file_atomically(folder / "file", "x");
  expect_error(ExitCode::kIo, {"file", "Choose another output folder"},
               [&] { ensure_writable_folder(folder / "file"); });
  expect_error(ExitCode::kIo, {"file/below", "Choose another"},
               [&] { ensure_writable_folder(folder / "file/below"); });
  expect_error(ExitCode::kIo, {"/proc/muffle-test", "Choose another"},
               [] { ensure_writable_folder("/proc/muffle-test"); });
  expect_error(ExitCode::kIo, {"/proc", "not writable"}, [] { ensure_writable_folder("/proc"); });
}

}  // namespace
}  // namespace muffle
