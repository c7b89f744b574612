// The memory of a rank does not grow with its shard: O(D C + one batch). Each shard is embedded by a process
// of its own, whose peak is then compared. Not built under the sanitizers, which keep freed memory.
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <string>

#include "data/idx_bytes.hpp"
#include "embed/shards.hpp"
#include "support/resident_memory.hpp"
#include "support/temporary_folder.hpp"

extern char** environ;

namespace muffle {
namespace {

constexpr std::uint32_t kPixels = 784, kShort = 10'000, kLong = 20 * kShort;
/// The long shard is 157 MB of bytes, 627 MB as numbers: keeping a tenth of the bytes would be seen.
/// Peaks of equal runs were seen to differ by 0.3 MB (pages that threads' allocators touch or not).
constexpr long kAllowedKb = 8000;

data::DataSpec spec_of(const std::filesystem::path& folder, const std::string& ending,
                       std::uint32_t records) {
  const std::string name = std::to_string(records) + ending;
  return {"idx", folder.string(), "x-" + name, "y-" + name, records, {{1, 28, 28}, 10}};
}

/// In the measured process.
int measure(const std::filesystem::path& folder, const std::string& ending, std::uint32_t records) {
  const auto source = data::open_shard(spec_of(folder, ending, records), 0, 1);
  const embed::Embedder embedder = test::rff_embedder(kPixels, 32, 10, true);
  std::uint64_t done = 0;
  const embed::PartialSum sum = embed::embed_shard(embedder, *source, 2, [&](std::uint64_t n) { done = n; });
  if (done != records) return 3;
  std::ofstream(folder / "peak") << test::resident_kb("VmHWM");
  return 0;
}

/// A file of zeros behind the header: sparse if plain.
void write(const std::filesystem::path& file, const std::string& header, std::uint64_t zeros) {
  if (file.extension() != ".gz") {
    std::ofstream(file, std::ios::binary) << header;
    std::filesystem::resize_file(file, header.size() + zeros);
    return;
  }
  const gzFile out = gzopen(file.c_str(), "wb1");
  ASSERT_NE(out, nullptr);
  ASSERT_EQ(gzwrite(out, header.data(), static_cast<unsigned>(header.size())),
            static_cast<int>(header.size()));
  const std::string block(1 << 16, '\0');
  for (std::uint64_t left = zeros; left > 0;) {
    const auto n = static_cast<unsigned>(std::min<std::uint64_t>(left, block.size()));
    ASSERT_EQ(gzwrite(out, block.data(), n), static_cast<int>(n));
    left -= n;
  }
  ASSERT_EQ(gzclose(out), Z_OK);
}

long peak_of_another_process(const std::filesystem::path& folder, const std::string& ending,
                             std::uint32_t records) {
  std::string self = std::filesystem::read_symlink("/proc/self/exe"), place = folder.string(), end = ending,
              n = std::to_string(records), verb = "measure";
  char* const argv[] = {self.data(), verb.data(), place.data(), end.data(), n.data(), nullptr};
  pid_t child = 0;
  int status = 0;
  EXPECT_EQ(::posix_spawn(&child, self.c_str(), nullptr, nullptr, argv, environ), 0);
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << "status " << status;
  long peak = -1;
  std::ifstream(folder / "peak") >> peak;
  return peak;
}

class Memory : public ::testing::TestWithParam<const char*> {};

TEST_P(Memory, DoesNotGrowWithTheShard) {
  const test::TemporaryFolder folder;
  long peak[2] = {};
  for (const std::uint32_t records : {kShort, kLong}) {
    const data::DataSpec spec = spec_of(folder.path(), GetParam(), records);
    write(folder / spec.features, data::test::idx_header(0x08, {records, 28, 28}),
          std::uint64_t{records} * kPixels);
    write(folder / spec.labels, data::test::idx_header(0x08, {records}), records);
    peak[records == kLong] = peak_of_another_process(folder.path(), GetParam(), records);
  }
  EXPECT_GT(peak[0], 1000);
  EXPECT_LT(peak[1] - peak[0], kAllowedKb) << "short " << peak[0] << " kB, long " << peak[1] << " kB";
}

INSTANTIATE_TEST_SUITE_P(Files, Memory, ::testing::Values("", ".gz"),
                         [](const auto& p) { return std::string(p.param).empty() ? "plain" : "gzipped"; });

}  // namespace
}  // namespace muffle

int main(int argc, char** argv) {
  if (argc == 5 && std::string(argv[1]) == "measure") {
    try {
      return muffle::measure(argv[2], argv[3], static_cast<std::uint32_t>(std::stoul(argv[4])));
    } catch (const std::exception& e) {
      std::cerr << e.what() << '\n';
      return 4;
    }
  }
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
