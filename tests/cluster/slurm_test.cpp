#include "muffle/cluster/slurm.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "support/temporary_folder.hpp"

namespace muffle::cluster {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

SlurmJob of_kind(const std::string& kind) {
  SlurmJob job;
  job.kind = kind;
  if (kind == "train") job.gpus_per_node = 4;
  return job;
}

bool shell_reads(const std::string& script) {
  const test::TemporaryFolder folder;
  write_file_atomically(folder / "script", script);
  return std::system(("bash -n '" + (folder / "script").string() + "'").c_str()) == 0;
}

TEST(SlurmScript, TheShippedTemplatesAreWhatTheDefaultsMake) {
  for (const char* kind : {"whole", "embed", "train", "seeds"}) {
    EXPECT_EQ(read_file(std::string(MUFFLE_CLUSTER) + "/" + kind + ".sbatch"),
              slurm_script(of_kind(kind), {}))
        << kind;
  }
  SlurmJob job;
  job.launcher = "mpirun";
  EXPECT_EQ(read_file(std::string(MUFFLE_CLUSTER) + "/whole-mpirun.sbatch"), slurm_script(job, {}));
}

TEST(SlurmScript, SaysWhatWasAskedFor) {
  SlurmJob job = of_kind("train");
  job.nodes = 7;
  job.ranks_per_node = 2;
  job.gpus_per_node = 2;
  job.time = "2-00:00:00";
  job.partition = "gpu";
  job.account = "p1";
  job.memory = "16G";
  job.grace_s = 300;
  const std::string script = slurm_script(job, {});
  for (const char* line :
       {"#SBATCH --nodes=7\n", "#SBATCH --ntasks-per-node=2\n", "#SBATCH --gpus-per-node=2\n",
        "#SBATCH --time=2-00:00:00\n", "#SBATCH --partition=gpu\n", "#SBATCH --account=p1\n",
        "#SBATCH --mem=16G\n", "#SBATCH --signal=USR1@300\n", "#SBATCH --requeue\n", "--kill-on-bad-exit=1"})
    EXPECT_THAT(script, HasSubstr(line));
  EXPECT_THAT(script, Not(HasSubstr("release --config"))) << "training spends nothing";
  EXPECT_TRUE(shell_reads(script));
}

TEST(SlurmScript, SeedsShareOneRelease) {
  const std::string script = slurm_script(of_kind("seeds"), {});
  EXPECT_THAT(script, HasSubstr("#SBATCH --array=1-5\n"));
  EXPECT_THAT(script, HasSubstr("--release \"$out/release.mfl\""));
  EXPECT_THAT(script, Not(HasSubstr("step run"))) << "a run a seed would pay for a release a seed";
}

TEST(SlurmScript, WordsReachTheShellUnchanged) {
  SlurmJob job;
  job.config = "/data/my jobs/it's.toml";
  job.set = {"data.features=a b", "train.steps=5", "x=$(touch /tmp/evil)`id`\"'"};
  const std::string script = slurm_script(job, {});
  ASSERT_TRUE(shell_reads(script));
  // The shell itself says what it makes of them.
  const test::TemporaryFolder folder;
  const auto cut = script.find("\n# A rank computes");
  ASSERT_NE(cut, std::string::npos);
  write_file_atomically(folder / "script", script.substr(0, cut) + "\nprintf '%s|' \"${settings[@]}\"\n");
  const std::string told = (folder / "told").string();
  ASSERT_EQ(std::system(("bash '" + (folder / "script").string() + "' >'" + told + "'").c_str()), 0);
  EXPECT_EQ(read_file(told),
            "--config|/data/my jobs/it's.toml|--set|data.features=a b|--set|train.steps=5|--set|x=$(touch "
            "/tmp/evil)`id`\"'|");
}

TEST(SlurmScript, HasNoEmptyArrayWhichAnOldBashCallsUnset) {
  for (const char* kind : {"whole", "embed", "train", "seeds"})
    EXPECT_THAT(slurm_script(of_kind(kind), {}), Not(HasSubstr("=()"))) << kind;
}

TEST(SlurmScript, MpirunGetsCoresWhereSlurmCountsThreads) {
  SlurmJob job;
  EXPECT_THAT(slurm_script(job, {}), Not(HasSubstr("--hint"))) << "srun binds to cores by itself";
  job.launcher = "mpirun";
  const std::string script = slurm_script(job, {});
  EXPECT_LT(script.find("\n#SBATCH --hint=nomultithread\n"), script.find("set -euo"));
}

TEST(SlurmScript, RefusesWhatSbatchWouldReadAsSomethingElse) {
  const auto refused = [](auto change, const char* says) {
    SlurmJob job;
    change(job);
    try {
      slurm_script(job, {});
      ADD_FAILURE() << "accepted: " << says;
    } catch (const UsageError& e) {
      EXPECT_THAT(e.what(), HasSubstr(says));
    }
  };
  for (const char* no_time : {"tomorrow", "", "1-", "-1", "1:2:3:4", "1-2:3:4:5", "1-2-3"})
    refused([&](SlurmJob& j) { j.time = no_time; }, ("--time is \"" + std::string(no_time) + "\"").c_str());
  refused([](SlurmJob& j) { j.time = "4h"; }, "--time is \"4h\", which sbatch does not read: write 4:00:00");
  refused([](SlurmJob& j) { j.time = "2d"; }, "write 2-00:00:00");
  refused([](SlurmJob& j) { j.time = "90m"; }, "write 90");
  for (const char* short_time :
       {"3", "3:00", "0:03:00", "0-0:3", "0-0:3:0"})  // 120 s of grace, and 60 to get on
    refused([&](SlurmJob& j) { j.time = short_time; }, "is too short");
  refused([](SlurmJob& j) { j.partition = "a --wrap=evil"; }, "--partition");
  refused([](SlurmJob& j) { j.name = "a\n#SBATCH --nodes=9"; }, "--name");
  refused([](SlurmJob& j) { j.nodes = 0; }, "--nodes is 0");
  refused([](SlurmJob& j) { j.kind = "fast"; }, "--kind");
  refused([](SlurmJob& j) { j.seeds = "1-"; }, "--seeds");
  refused([](SlurmJob& j) { j.out = "a\nb"; }, "--out");
  refused(
      [](SlurmJob& j) {
        j.kind = "seeds";
        j.set = {"train.steps=5", "train.seed=3"};
      },
      "--set train.seed=3 contradicts --kind seeds");
  refused(
      [](SlurmJob& j) {
        j.nodes = -1;
        j.memory = "much";
      },
      "--mem is \"much\", not like 16G; --nodes is -1");
}

TEST(SlurmScript, TakesEveryTimeThatIsLongEnough) {
  for (const char* time :
       {"4", "3:01", "0:03:01", "1-00:00:00", "0-0:4", "1-0:0", "0", "1-12", "2-0", "0-1"}) {
    SlurmJob job;
    job.time = time;
    EXPECT_NO_THROW(slurm_script(job, {})) << time;
  }
}

/// Runs the seeds' script as Slurm's batch host would; srun and scontrol are doubles. A step ends with the
/// codes of `codes`, one a start. @returns what happened: "requeue 7_2 -> 75" a start.
std::string starts(const std::string& codes, const std::string& environment = "",
                   const std::string& scontrol = "echo -n \"$1 $2\"") {
  const test::TemporaryFolder folder;
  SlurmJob job = of_kind("seeds");
  job.out = (folder / "out").string();
  write_file_atomically(folder / "script", slurm_script(job, {}));
  write_file_atomically(folder / "run",
                        "srun() { [[ $1 == --mpi=pmix ]] && return \"$now\"; }\n"
                        "scontrol() { " +
                            scontrol +
                            "; }; sleep() { :; }\n"
                            "export -f srun scontrol sleep\n"
                            "export SLURM_JOB_ID=9 SLURM_CPUS_PER_TASK=1 SLURM_ARRAY_TASK_ID=2\n"
                            "export SLURM_ARRAY_JOB_ID=7 " +
                            environment +
                            "\n"
                            "for now in " +
                            codes +
                            "; do export now\n"
                            "bash script | sed '/exit code/d'; echo \" -> ${PIPESTATUS[0]}\"; done");
  EXPECT_EQ(std::system(("cd '" + folder.path().string() + "' && bash run >told 2>&1").c_str()), 0);
  return read_file(folder / "told");
}

TEST(SlurmScript, QueuesATaskOfAnArrayAgainByItsOwnNumber) {
  EXPECT_EQ(starts("75"), "requeue 7_2 -> 75\n");
  EXPECT_EQ(starts("75", "SLURM_ARRAY_JOB_ID="), "requeue 9 -> 75\n");
  EXPECT_EQ(starts("0 65"), " -> 0\n -> 65\n");
}

TEST(SlurmScript, LostRanksAreCountedApartFromStops) {
  EXPECT_EQ(starts("69 75 137 75 69 69", "SLURM_RESTART_COUNT=50"),
            "requeue 7_2 -> 69\nrequeue 7_2 -> 75\nrequeue 7_2 -> 137\nrequeue 7_2 -> 75\n"
            "requeue 7_2 -> 69\n -> 69\n");
}

TEST(SlurmScript, AJobThatDoesNotGetOnIsGivenUp) {
  EXPECT_EQ(starts("75", "SLURM_RESTART_COUNT=100"), " -> 75\n");
  EXPECT_EQ(starts("75", "", "return 1"), " -> 75\n") << "its own code, not scontrol's";
}

/// What the job's script says, run by `driver`, which has functions in the place of Slurm and MPI.
std::string told_by(const std::string& kind, const std::string& driver) {
  const test::TemporaryFolder folder;
  SlurmJob job = of_kind(kind);
  job.launcher = "mpirun";
  job.out = (folder / "out").string();
  write_file_atomically(folder / "script", slurm_script(job, {}));
  write_file_atomically(folder / "run", driver);
  EXPECT_EQ(std::system(("cd '" + folder.path().string() + "' && bash run >told 2>&1").c_str()), 0);
  return read_file(folder / "told");
}

/// Under mpirun: a signal that comes too late for the training ends the job before the sampling, to be queued
/// again, and not by its time limit.
TEST(SlurmScript, ASignalBetweenTwoStepsIsNotLost) {
  const std::string told = told_by("train", R"(
mpirun() {
  trap '' USR1
  [[ " $* " =~ \ muffle\ ([a-z]+) ]] && echo "${BASH_REMATCH[1]}"
  [[ -z $signal ]] || kill -USR1 $$
  command sleep 1
}
scontrol() { echo "$1 $2"; }
sleep() { :; }
export -f mpirun scontrol sleep
export SLURM_JOB_ID=9 SLURM_CPUS_PER_TASK=1
for signal in '' yes; do export signal; code=0; bash script || code=$?; echo "-> $code"; done
)");
  EXPECT_EQ(told,
            "train\nsample\n-> 0\n"
            "train\nmuffle sample: exit code 75; job 9 is queued again\nrequeue 9\n-> 75\n");
}

/// Open MPI 5's mpirun ends with 0 when a host is lost: the job would count as COMPLETED.
TEST(SlurmScript, MpirunOfOpenMpi5IsRefused) {
  const std::string told = told_by("whole", R"(
ompi_info() { echo "Open MPI v$version"; }
mpirun() { echo started; }
export -f ompi_info mpirun
export SLURM_JOB_ID=9 SLURM_CPUS_PER_TASK=1
for version in 4.1.4 5.0.10; do export version; code=0; bash script 2>/dev/null || code=$?; echo "$version -> $code"; done
)");
  EXPECT_EQ(told, "started\n4.1.4 -> 0\n5.0.10 -> 78\n");
}

GpuUse gpus(comm::DeviceWish train, comm::RankWish ranks = {},
            comm::DeviceWish embed = comm::DeviceWish::kCpu) {
  return {embed, train, ranks, false, true};
}
constexpr auto kAuto = comm::DeviceWish::kAuto, kCpu = comm::DeviceWish::kCpu,
               kCuda = comm::DeviceWish::kCuda;
const comm::RankWish kWithGpu{comm::RankWish::Kind::kWithGpu, 0};

comm::RankWish first(std::int64_t count) { return {comm::RankWish::Kind::kFirst, count}; }

std::string refusal(const std::string& kind, int gpus_per_node, const GpuUse& use) {
  SlurmJob job = of_kind(kind);
  job.gpus_per_node = gpus_per_node;
  try {
    slurm_script(job, use);
  } catch (const UsageError& e) {
    return e.what();
  }
  return "";
}

TEST(SlurmGpus, TwoRanksOnOneAreRefusedUnlessTheConfigurationAllowsThem) {
  const auto problem = [](const std::string& kind, const GpuUse& use) { return refusal(kind, 2, use); };
  GpuUse shared = gpus(kAuto);
  shared.share_gpus = true;
  for (const char* kind : {"whole", "train", "seeds"}) {  // 4 ranks and 2 GPUs a node
    EXPECT_THAT(problem(kind, {}), HasSubstr("4 of the ranks on a node train on GPUs")) << kind;
    EXPECT_THAT(problem(kind, gpus(kAuto, first(3))), HasSubstr("3 of the ranks on a node")) << kind;
    for (const GpuUse& use : {gpus(kAuto, first(2)), gpus(kAuto, kWithGpu), shared, gpus(kCpu)})
      EXPECT_EQ(problem(kind, use), "") << kind;
  }
  EXPECT_EQ(problem("embed", {}), "") << "on CPUs";
  EXPECT_THAT(problem("embed", gpus(kAuto, {}, kCuda)), HasSubstr("embed on GPUs"));
  EXPECT_THAT(problem("whole", gpus(kAuto, kWithGpu, kAuto)), HasSubstr("embed on GPUs"));
  EXPECT_EQ(problem("train", gpus(kAuto, kWithGpu, kCuda)), "") << "it embeds nothing";
}

TEST(SlurmGpus, OneThatTheJobDoesNotAskForIsNotPromised) {
  const auto refused = [](const std::string& kind, const GpuUse& use) {  // the setting, or nothing
    const std::string told = refusal(kind, 0, use);
    if (!told.empty()) {
      EXPECT_THAT(told, HasSubstr("the job asks for none. Ask for them (--gpus-per-node)"));
    }
    return told.substr(0, told.find(' '));
  };
  GpuUse shared = gpus(kCuda), untrained = gpus(kCuda);
  shared.share_gpus = true;
  untrained.trains = false;
  for (const char* kind : {"whole", "train", "seeds"}) {
    for (const GpuUse& use : {gpus(kCuda), gpus(kCuda, kWithGpu), gpus(kCuda, first(1)), shared})
      EXPECT_EQ(refused(kind, use), "train.device") << kind;
    EXPECT_EQ(refused(kind, gpus(kAuto, {}, kAuto)), "") << kind;
    EXPECT_EQ(refused(kind, untrained), "") << "nothing is trained";
  }
  for (const char* kind : {"whole", "embed"})
    EXPECT_EQ(refused(kind, gpus(kAuto, {}, kCuda)), "features.device") << kind;
  EXPECT_EQ(refused("embed", gpus(kCuda)), "") << "it trains nothing";
  EXPECT_EQ(refused("train", gpus(kAuto, {}, kCuda)), "") << "it embeds nothing";
}

}  // namespace
}  // namespace muffle::cluster
