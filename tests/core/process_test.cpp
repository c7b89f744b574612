#include "muffle/core/process.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace muffle {
namespace {

TEST(StandardStreamsDeathTest, AFileNeverGetsTheNumberOfAClosedStream) {
  const auto in_child = [] {
    for (const int stream : {0, 1, 2}) ::close(stream);
    secure_standard_streams();
    const int file = ::open("/dev/null", O_WRONLY);
    std::_Exit(file > 2 && ::write(1, "x", 1) == 1 && ::write(2, "x", 1) == 1 ? 42 : 1);
  };
  EXPECT_EXIT(in_child(), testing::ExitedWithCode(42), "");
}

TEST(StandardStreamsDeathTest, AReaderThatGoesAwayDoesNotEndTheProcess) {
  const auto in_child = [] {
    secure_standard_streams();
    int ends[2];
    if (::pipe(ends) != 0) std::_Exit(1);
    ::dup2(ends[1], 1);
    ::close(ends[0]);
    std::fputs("text", stdout);
    last_words("still here");
    std::_Exit(flush_standard_output() ? 1 : 42);
  };
  EXPECT_EXIT(in_child(), testing::ExitedWithCode(42), "still here");
}

TEST(StandardStreamsDeathTest, AFullDiskIsNoticed) {
  const auto in_child = [] {
    ::dup2(::open("/dev/full", O_WRONLY), 1);
    std::fputs("text", stdout);
    std::_Exit(flush_standard_output() ? 1 : 42);
  };
  EXPECT_EXIT(in_child(), testing::ExitedWithCode(42), "");
}

TEST(Blas, AProcessorNewerThanItsLibraryIsNotTakenForAnOldOne) {
#ifdef __x86_64__
  const bool new_enough = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  EXPECT_NE(better_blas_kernels("Prescott").empty(), new_enough);
#endif
  for (const char* const right : {"", "Haswell", "Zen", "SkylakeX", "SapphireRapids"})
    EXPECT_EQ(better_blas_kernels(right), "") << right;
}

TEST(StandardStreams, OutputThatArrivesIsFine) { EXPECT_TRUE(flush_standard_output()); }

}  // namespace
}  // namespace muffle
