#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <regex>
#include <sstream>

#include "muffle/cluster/slurm.hpp"
#include "muffle/core/error.hpp"

namespace muffle::cluster {
namespace {

constexpr int kBeforeGrace = 60;  ///< seconds that a job has for itself at the least

/// A word of a shell command: as it is where that is safe, else in single quotes.
std::string word(const std::string& text) {
  static const std::regex kPlain("[A-Za-z0-9_./:=,+@%-]+");
  if (std::regex_match(text, kPlain)) return text;
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

/// Of a --time as sbatch reads it: minutes, M:S, H:M:S, or D-H, D-H:M, D-H:M:S.
long long seconds_of(const std::string& time) {
  const auto dash = time.find('-');
  std::vector<long long> parts;
  std::stringstream rest(dash == std::string::npos ? time : time.substr(dash + 1));
  for (std::string part; std::getline(rest, part, ':');) parts.push_back(std::atoll(part.c_str()));
  if (dash != std::string::npos) {
    parts.resize(3);
    return std::atoll(time.c_str()) * 86'400 + parts[0] * 3600 + parts[1] * 60 + parts[2];
  }
  if (parts.size() == 3) return parts[0] * 3600 + parts[1] * 60 + parts[2];
  parts.resize(2);
  return parts[0] * 60 + parts[1];
}

/// What sbatch would read as the 4h, 90m, 30s or 2d that is meant; empty if it is none of these.
std::string as_sbatch_reads(const std::string& time) {
  std::smatch parts;
  if (!std::regex_match(time, parts, std::regex("([0-9]{1,5})([smhd])"))) return {};
  const std::string number = parts[1];
  switch (time.back()) {
    case 'd':
      return number + "-00:00:00";
    case 'h':
      return number + ":00:00";
    case 'm':
      return number;
    default:
      return "00:" + number;
  }
}

/// Values of #SBATCH lines are no shell words: what sbatch would not read as one value is refused.
void check(const SlurmJob& job) {
  std::vector<std::string> problems;
  const auto fits = [&](const char* option, const std::string& value, const char* pattern, const char* like) {
    if (!std::regex_match(value, std::regex(pattern)))
      problems.push_back(fmt::format("{} is \"{}\", not like {}", option, value, like));
  };
  const auto within = [&](const char* option, int value, int least, int most) {
    if (value < least || value > most)
      problems.push_back(fmt::format("{} is {}, not from {} to {}", option, value, least, most));
  };
  fits("--kind", job.kind, "whole|embed|train|seeds", "whole, embed, train or seeds");
  fits("--launcher", job.launcher, "srun|mpirun", "srun or mpirun");
  fits("--name", job.name, "[A-Za-z0-9_.-]+", "muffle-1");
  if (const std::string time = as_sbatch_reads(job.time); !time.empty()) {
    problems.push_back(fmt::format("--time is \"{}\", which sbatch does not read: write {}", job.time, time));
  } else {
    fits("--time", job.time, "([0-9]{1,5}-)?[0-9]{1,9}(:[0-9]{1,9}){0,2}",
         "90 (minutes), 12:00:00, 2-12 or 2-00:00:00");
  }
  fits("--seeds", job.seeds, "[0-9]+(-[0-9]+)?(,[0-9]+(-[0-9]+)?)*(%[0-9]+)?", "1-5, 1,3,7 or 1-20%4");
  fits("--partition", job.partition, "[A-Za-z0-9_.,-]*", "gpu");
  fits("--account", job.account, "[A-Za-z0-9_.-]*", "project1");
  fits("--mem", job.memory, "([0-9]+[KMGT]?)?", "16G");
  within("--nodes", job.nodes, 1, 100'000);
  within("--ntasks-per-node", job.ranks_per_node, 1, 4096);
  within("--cpus-per-task", job.cores_per_rank, 1, 4096);
  within("--gpus-per-node", job.gpus_per_node, 0, 64);
  within("--grace", job.grace_s, 1, 65535);
  // 0 is no limit. A job that is told to stop before it has begun would be queued again for ever.
  if (const long long limit = seconds_of(job.time);
      problems.empty() && limit > 0 && limit <= job.grace_s + kBeforeGrace)
    problems.push_back(
        fmt::format("--time {} is too short: ranks are told to stop --grace = {} s before it, up to half a "
                    "minute sooner, and have to start before; more than {} s are needed",
                    job.time, job.grace_s, job.grace_s + kBeforeGrace));
  for (const auto& [option, value] : {std::pair("--config", &job.config), std::pair("--out", &job.out),
                                      std::pair("--muffle", &job.muffle)}) {
    if (value->empty() || value->find('\n') != std::string::npos)
      problems.push_back(fmt::format("{} must be a path on one line", option));
  }
  for (const std::string& s : job.set) {
    if (job.kind == "seeds" && s.starts_with("train.seed="))
      problems.push_back(
          fmt::format("--set {} contradicts --kind seeds, which trains once with each of --seeds {}: leave "
                      "it out, or name that seed in --seeds",
                      s, job.seeds));
  }
  if (!problems.empty()) throw UsageError(fmt::format("{}.", fmt::join(problems, "; ")));
}

/// What the job itself would be refused for, hours later, as comm::choose_gpus() does.
void check_gpus(const SlurmJob& job, const GpuUse& use) {
  using comm::DeviceWish;
  const auto check = [&](const char* key, DeviceWish wish, int ranks, const char* doing,
                         const char* instead) {
    if (wish == DeviceWish::kCpu) return;
    if (job.gpus_per_node == 0) {
      if (wish == DeviceWish::kAuto) return;
      throw UsageError(
          fmt::format("{} = \"cuda\" promises a GPU to every rank, but the job asks for none. Ask for them "
                      "(--gpus-per-node), or set {} to \"auto\" or \"cpu\".",
                      key, key));
    }
    if (ranks <= job.gpus_per_node || use.share_gpus) return;
    throw UsageError(fmt::format(
        "{} of the ranks on a node {} on GPUs, but it has {} (--gpus-per-node), and two ranks on one GPU are "
        "refused. Lower --ntasks-per-node, {}, or allow it (runtime.share_gpus = true).",
        ranks, doing, job.gpus_per_node, instead));
  };
  if (job.kind == "whole" || job.kind == "embed")
    check("features.device", use.embed, job.ranks_per_node, "embed",
          "embed on CPUs (features.device = \"cpu\")");
  // A closed form is fitted by rank 0, on its CPU.
  if (job.kind == "embed" || !use.trains) return;
  int trainers = job.ranks_per_node;
  if (use.train_ranks.kind == comm::RankWish::Kind::kFirst)
    trainers = static_cast<int>(std::min<std::int64_t>(use.train_ranks.count, trainers));
  if (use.train_ranks.kind == comm::RankWish::Kind::kWithGpu) trainers = 0;  // none without one of its own
  check("train.device", use.train, trainers, "train",
        "let only those train that have one (train.ranks = \"with-gpu\")");
}

std::string purpose(const SlurmJob& job) {
  if (job.kind == "embed")
    return "# The private half: embeds the records on CPUs, charges the ledger and writes release.mfl.\n";
  if (job.kind == "train")
    return "# The public half: trains on the release that is in the run folder, and samples. Reads nothing "
           "private.\n";
  if (job.kind == "seeds")
    return "# One training a seed, all of the one release in the run folder: no further privacy cost. "
           "Choosing a seed by its\n# score on real data is not covered by the guarantee.\n";
  return "# The whole job: release, training, samples, scores. Stages that are finished are kept.\n";
}

std::string header(const SlurmJob& job) {
  std::string out =
      "#!/usr/bin/env bash\n" + purpose(job) +
      "# Made by `muffle slurm`; docs/how-to/clusters.md says how to size a job. Submit it with sbatch.\n";
  const auto line = [&](const std::string& option) { out += "#SBATCH --" + option + "\n"; };
  line("job-name=" + job.name);
  line(fmt::format("nodes={}", job.nodes));
  line(fmt::format("ntasks-per-node={}", job.ranks_per_node));
  line(fmt::format("cpus-per-task={}", job.cores_per_rank));
  if (job.launcher == "mpirun") {
    out += "# A CPU is a core: mpirun counts cores, and Slurm may count their hardware threads.\n";
    line("hint=nomultithread");
  }
  if (job.gpus_per_node > 0) line(fmt::format("gpus-per-node={}", job.gpus_per_node));
  if (!job.memory.empty()) line("mem=" + job.memory);
  if (!job.partition.empty()) line("partition=" + job.partition);
  if (!job.account.empty()) line("account=" + job.account);
  if (job.kind == "seeds") line("array=" + job.seeds);
  line("time=" + job.time);
  // Without "B:" the signal goes to srun's ranks; mpirun is no job step of Slurm's, so the script hands it
  // on.
  line(fmt::format("signal={}USR1@{}", job.launcher == "srun" ? "" : "B:", job.grace_s));
  line("requeue");
  line("open-mode=append");
  line(job.kind == "seeds" ? "output=%x-%A_%a.log" : "output=%x-%j.log");
  return out + "set -euo pipefail\n";
}

constexpr const char* kThreads = R"(
# A rank computes with its own cores, also where Slurm does not bind it to them.
export OMP_NUM_THREADS=$SLURM_CPUS_PER_TASK
)";

constexpr const char* kSrun = R"(
# A rank that fails ends its step, and so does one that is still there a minute after the first has ended: they end together.
# Ranks that are told to stop (time limit, preemption) checkpoint and leave with 75.
launch() {
  srun --mpi=pmix --kill-on-bad-exit=1 --wait=60 --cpu-bind=cores --cpus-per-task="$SLURM_CPUS_PER_TASK" "$@"
}
)";

constexpr const char* kMpirun = R"(
if [[ $(ompi_info --version 2>/dev/null) == "Open MPI v"[5-9]* ]]; then
  echo "mpirun of Open MPI 5 ends with 0 when a host is lost: use Open MPI 4.1, or muffle slurm --launcher srun" >&2
  exit 78
fi

# The time limit's signal is handed on to the ranks, which checkpoint and leave with 75. Preemption is not: Slurm's TERM ends
# mpirun's daemons before the ranks have checkpointed; use srun where jobs are preempted. A cut link is noticed in 11 s.
job='' told=''
trap 'told=yes; [[ -z $job ]] || kill -USR1 "$job" 2>/dev/null || true' USR1
launch() {
  [[ -z $told ]] || return 75  # told between two steps, or too late for the last one
  mpirun --map-by "slot:PE=$SLURM_CPUS_PER_TASK" --bind-to core -x OMP_NUM_THREADS \
    --mca oob_tcp_keepalive_time 5 --mca oob_tcp_keepalive_intvl 2 --mca oob_tcp_keepalive_probes 3 "$@" &
  job=$!
  local code
  while :; do
    code=0
    wait "$job" || code=$?
    kill -0 "$job" 2>/dev/null || return "$code"  # a signal ends wait, but not the job
  done
}
)";

constexpr const char* kStep = R"(
# step VERB OPTIONS...: a step that stopped with a checkpoint (75) is queued again, and goes on there; so is one that lost a
# rank (69) or was killed (above 128), three times a job. Exit code 0 would count as COMPLETED. A job that Slurm has started
# 100 times does not get on: see that --time is long enough (docs/how-to/clusters.md).
own_id=${SLURM_ARRAY_JOB_ID:+${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID} # an array's number alone may mean all its tasks
own_id=${own_id:-$SLURM_JOB_ID}
step() {
  local code=0 lost="$out/lost-$own_id" again=
  launch "$muffle" "$@" || code=$?
  ((code != 0)) || return 0
  if ((code == 75)); then
    again=yes
  elif ((code == 69 || code > 128)); then
    { mkdir -p "$out" && echo "$code" >>"$lost"; } || exit "$code"
    (($(wc -l <"$lost") > 3)) || again=yes
  fi
  if [[ -n $again ]] && ((${SLURM_RESTART_COUNT:-0} < 100)); then
    echo "muffle $1: exit code $code; job $own_id is queued again"
    scontrol requeue "$own_id" || exit "$code"
    sleep 120  # Slurm ends this script meanwhile
  fi
  exit "$code"
}
)";

std::string steps(const SlurmJob& job) {
  const auto step = [](const std::string& verb, const std::string& folder, const std::string& more) {
    return fmt::format("step {} \"${{settings[@]}}\" --out \"{}\"{}\n", verb, folder, more);
  };
  if (job.kind == "embed") return step("release", "$out", "");
  if (job.kind == "train") return step("train", "$out", "") + step("sample", "$out", "");
  if (job.kind == "seeds")
    return "seed=$SLURM_ARRAY_TASK_ID\n" +
           step("train", "$out/seed-$seed", " --release \"$out/release.mfl\" --set \"train.seed=$seed\"") +
           step("sample", "$out/seed-$seed", " --set \"train.seed=$seed\"");
  return step("run", "$out", "");
}

}  // namespace

std::string slurm_script(const SlurmJob& job, const GpuUse& use) {
  check(job);
  check_gpus(job, use);
  // Never empty: to bash before 4.4 an empty array is an unset one, which `set -u` refuses.
  std::string settings = "--config \"$config\"";
  for (const std::string& s : job.set) settings += " --set " + word(s);
  return header(job) +
         fmt::format("\nmuffle={}\nconfig={}\nout={}\nsettings=({})\n", word(job.muffle), word(job.config),
                     word(job.out), settings) +
         kThreads + (job.launcher == "srun" ? kSrun : kMpirun) + kStep + "\n" + steps(job);
}

}  // namespace muffle::cluster
