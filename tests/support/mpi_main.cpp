#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <vector>

#include "support/mpi_world.hpp"

namespace muffle::test {
namespace {

comm::MpiSession* the_session = nullptr;
comm::HostComm* the_world = nullptr;

/// Failures of this rank, tagged with it; the passing part is rank 0's to print.
class RankTaggedFailures : public testing::EmptyTestEventListener {
 public:
  RankTaggedFailures(int rank, int size) : tag_(fmt::format("[rank {}/{}]", rank, size)) {}

  void OnTestStart(const testing::TestInfo& test) override {
    // Kept here: GoogleTest holds its lock while it reports a failure, so it cannot be asked then.
    test_ = fmt::format("{}.{}", test.test_suite_name(), test.name());
  }

  void OnTestPartResult(const testing::TestPartResult& result) override {
    if (!result.failed()) return;
    // One write per failure, so that the ranks' lines do not mix.
    const std::string text = fmt::format("{} failure in {}\n{} {}:{}\n{}\n", tag_, test_, tag_,
                                         result.file_name() ? result.file_name() : "unknown file",
                                         result.line_number(), result.message());
    std::fwrite(text.data(), 1, text.size(), stderr);
    std::fflush(stderr);
  }

 private:
  std::string tag_;
  std::string test_ = "(outside of a test)";
};

/// The size that CTest promised, or what is wrong with it.
std::optional<std::string> wrong_rank_count(int size) {
  const char* const promised = std::getenv("MUFFLE_TEST_RANKS");
  if (promised == nullptr) {
    return "MUFFLE_TEST_RANKS is not set: say how many ranks this run is meant to have (CTest does)";
  }
  if (promised != std::to_string(size)) {
    return fmt::format("MUFFLE_TEST_RANKS promises {} ranks, but MPI started {}", promised, size);
  }
  return std::nullopt;
}

void set_up_output(int rank, int size) {
  auto& listeners = testing::UnitTest::GetInstance()->listeners();
  if (rank != 0) {
    delete listeners.Release(listeners.default_result_printer());
    delete listeners.Release(listeners.default_xml_generator());
  }
  listeners.Append(new RankTaggedFailures(rank, size));
}

int run(int argc, char** argv) {
  comm::MpiSession mpi(&argc, &argv);
  comm::MpiOptions options;
  options.deadline = std::chrono::seconds(60);
  const auto world = mpi.world(options);
  the_session = &mpi;
  the_world = world.get();

  if (const auto problem = wrong_rank_count(world->size())) {
    if (world->is_root()) std::fprintf(stderr, "[mpi test] %s\n", problem->c_str());
    mpi.finish();
    return 1;
  }
  testing::InitGoogleTest(&argc, argv);
  set_up_output(world->rank(), world->size());
  int failed = RUN_ALL_TESTS();
  bool all_skipped = false;
  try {
    const testing::UnitTest& tests = *testing::UnitTest::GetInstance();
    const bool skipped =
        tests.test_to_run_count() > 0 && tests.skipped_test_count() == tests.test_to_run_count();
    const std::vector<std::string> verdicts = world->all_gather(failed ? "failed" : skipped ? "skipped" : "");
    all_skipped = std::ranges::count(verdicts, "skipped") == std::ssize(verdicts);
    for (std::size_t r = 0; r < verdicts.size(); ++r) {
      if (verdicts[r] != "failed") continue;
      failed = 1;
      if (world->is_root())
        std::fprintf(stderr, "[mpi test] failed on rank %zu of %zu\n", r, verdicts.size());
    }
    static_cast<void>(mpi.world(options));  // the end has the last one's deadline: not a test's
    mpi.finish();
  } catch (const std::exception& e) {
    std::fprintf(stderr, "[rank %d/%d] after the tests: %s\n", world->rank(), world->size(), e.what());
    world->abort(ExitCode::kInternal);
  }
  return failed != 0 ? failed : all_skipped ? 77 : 0;
}

}  // namespace

comm::HostComm& world() { return *the_world; }

comm::MpiSession& session() { return *the_session; }

}  // namespace muffle::test

int main(int argc, char** argv) { return muffle::test::run(argc, argv); }
