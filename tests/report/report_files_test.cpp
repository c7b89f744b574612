#include <gtest/gtest.h>
#include <sys/stat.h>

#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/report/report.hpp"
#include "report/html.hpp"
#include "support/temporary_folder.hpp"

namespace muffle::report {
namespace {

mode_t mode_of(const std::filesystem::path& file) {
  struct stat s {};
  EXPECT_EQ(::stat(file.c_str(), &s), 0);
  return s.st_mode & 0777;
}

Report some(bool is_private, const char* title) {
  return {document(title, is_private ? "private" : "public", is_private ? "PRIVATE" : "", {}), is_private,
          false};
}

class ReportFilesTest : public testing::Test {
 protected:
  muffle::test::TemporaryFolder folder_;
};

TEST_F(ReportFilesTest, APrivateOneIsThisUsersAlone) {
  const auto file = folder_.path() / "r.html";
  const mode_t before = ::umask(0);
  write_report(file, some(true, "one"));
  EXPECT_EQ(mode_of(file), 0600u);
  write_report(file, some(true, "two"));
  ::umask(before);
  EXPECT_EQ(mode_of(file), 0600u);
  EXPECT_NE(read_file(file).find("<title>two</title>"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / ".r.html.private.tmp"));
}

TEST_F(ReportFilesTest, NeitherTakesTheOthersPlaceNorAnotherFiles) {
  const auto file = folder_.path() / "r.html";
  write_report(file, some(false, "public"));
  EXPECT_THROW(write_report(file, some(true, "private")), ConfigError);
  EXPECT_NE(read_file(file).find("<title>public</title>"), std::string::npos);
  write_report(file, some(false, "again"));
  const auto other = folder_.path() / "other.html";
  write_report(other, some(true, "private"));
  EXPECT_THROW(write_report(other, some(false, "public")), ConfigError);
  const auto text = folder_.path() / "notes.html";
  write_file_atomically(text, "notes");
  EXPECT_THROW(write_report(text, some(false, "public")), ConfigError);
  EXPECT_EQ(read_file(text), "notes");
}

TEST_F(ReportFilesTest, APrivateOneIsNotCalledAsPublicOnesAre) {
  EXPECT_THROW(write_report(folder_.path() / kPublicName, some(true, "private")), ConfigError);
  EXPECT_FALSE(std::filesystem::exists(folder_.path() / kPublicName));
}

}  // namespace
}  // namespace muffle::report
