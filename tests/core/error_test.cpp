#include "muffle/core/error.hpp"

#include <gtest/gtest.h>

#include <string>

#include "support/expect_error.hpp"

namespace muffle {
namespace {

template <class E>
int code_of() {
  try {
    throw E("what, where, what to do");
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(), "what, where, what to do");
    return static_cast<int>(error.code());
  }
}

TEST(Error, EveryKindHasItsDocumentedExitCode) {
  EXPECT_EQ(code_of<UsageError>(), 2);
  EXPECT_EQ(code_of<DataError>(), 65);
  EXPECT_EQ(code_of<CommError>(), 69);
  EXPECT_EQ(code_of<InvariantError>(), 70);
  EXPECT_EQ(code_of<IoError>(), 74);
  EXPECT_EQ(code_of<ProtocolError>(), 76);
  EXPECT_EQ(code_of<PrivacyError>(), 77);
  EXPECT_EQ(code_of<ConfigError>(), 78);
  EXPECT_EQ(code_of<DeviceError>(), 1);
}

TEST(Error, RemembersWhereItWasThrown) {
  try {
    throw DataError("x");
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.where().file_name()).find("error_test.cpp"), std::string::npos);
    EXPECT_GT(error.where().line(), 0u);
  }
}

TEST(Error, EveryCodeHasADescriptionOfItsOwn) {
  std::set<std::string_view> seen;
  const int codes[] = {0, 1, 2, 65, 69, 70, 74, 75, 76, 77, 78};
  for (const int code : codes) seen.insert(describe(static_cast<ExitCode>(code)));
  EXPECT_EQ(seen.size(), std::size(codes));
  EXPECT_FALSE(seen.contains("unknown"));
  EXPECT_EQ(describe(static_cast<ExitCode>(42)), "unknown");
}

TEST(Error, RequireThrowsOnlyWhenThePromiseIsBroken) {
  EXPECT_NO_THROW(require(true, "fine"));
  test::expect_error(ExitCode::kInvariant, {"broken"}, [] { require(false, "broken"); });
}

}  // namespace
}  // namespace muffle
