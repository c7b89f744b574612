#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <exception>
#include <nlohmann/json.hpp>
#include <ostream>

#include "facts.hpp"
#ifdef MUFFLE_CUDA
#include "muffle/comm/nccl_group.hpp"
#endif

namespace muffle::cluster {
namespace {

using Json = nlohmann::ordered_json;
using Level = Finding::Level;

constexpr int kClockRounds = 20;
constexpr int kTimings = 9;
constexpr double kLateFiles_s = 5;

double wall_clock() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

/// Median seconds of an all-reduce of n floats.
double time_all_reduce(comm::HostComm& comm, std::size_t n) {
  using Clock = std::chrono::steady_clock;
  std::vector<float> numbers(n, 1.0f);
  std::vector<double> seconds;
  for (int i = 0; i < kTimings; ++i) {
    comm.barrier();
    const auto start = Clock::now();
    comm.all_reduce_sum(std::span(numbers));
    seconds.push_back(std::chrono::duration<double>(Clock::now() - start).count());
    std::fill(numbers.begin(), numbers.end(), 1.0f);
  }
  std::nth_element(seconds.begin(), seconds.begin() + kTimings / 2, seconds.end());
  return seconds[kTimings / 2];
}

/// Sums modulo 2^64 of numbers that wrap around: what a release rests on.
bool sums_are_right(comm::HostComm& comm) {
  constexpr std::size_t kCount = 1000;
  constexpr std::uint64_t kStep = 0x9E3779B97F4A7C15u;
  const auto term = [](std::uint64_t rank, std::uint64_t i) { return (rank + 1) * (i + 1) * kStep; };
  std::vector<std::uint64_t> mine(kCount), sum(kCount);
  for (std::size_t i = 0; i < kCount; ++i) mine[i] = term(static_cast<std::uint64_t>(comm.rank()), i);
  comm.reduce_sum(mine, sum, 0);
  if (!comm.is_root()) return true;
  for (std::size_t i = 0; i < kCount; ++i) {
    std::uint64_t expected = 0;
    for (int r = 0; r < comm.size(); ++r) expected += term(static_cast<std::uint64_t>(r), i);
    if (sum[i] != expected) return false;
  }
  return true;
}

const char* name_of(Level level) {
  constexpr std::array kNames{"ok", "note", "warning", "failure"};
  return kNames[static_cast<std::size_t>(level)];
}

std::string as_json(const std::vector<RankFacts>& ranks, const NetworkFacts& network,
                    const std::vector<Finding>& findings) {
  Json list = Json::array(), facts = Json::array();
  for (const Finding& f : findings)
    list.push_back({{"check", f.check},
                    {"level", name_of(f.level)},
                    {"ranks", f.ranks},
                    {"message", f.message},
                    {"fix", f.fix},
                    {"code", static_cast<int>(f.code)}});
  for (const RankFacts& f : ranks) {
    Json one = Json::parse(facts_to_json(f));
    one.erase("before");
    one.erase("after");
    const auto [low, high] = clock_bounds(f, ranks.front());
    one["clock_minus_rank_0"] = {low, high};
    facts.push_back(std::move(one));
  }
  const Json out = {{"format", "muffle-doctor"},
                    {"version", 1},
                    {"exit_code", static_cast<int>(verdict(findings))},
                    {"findings", list},
                    {"network",
                     {{"all_reduce_8_bytes_s", network.latency_s},
                      {"all_reduce_8_mib_s", network.large_s},
                      {"nccl", network.nccl}}},
                    {"ranks", facts}};
  return out.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string as_text(const std::vector<Finding>& findings) {
  std::string out;
  int counts[4] = {};
  for (const Finding& f : findings) {
    ++counts[static_cast<std::size_t>(f.level)];
    const std::string who = f.ranks.empty() ? ""
                                            : fmt::format(" (rank{} {})", f.ranks.size() == 1 ? "" : "s",
                                                          fmt::join(f.ranks, ", "));
    out += fmt::format("{:<8} {:<9} {}{}\n", name_of(f.level), f.check, f.message, who);
    if (!f.fix.empty()) out += fmt::format("{:18} -> {}\n", "", f.fix);
  }
  return out + fmt::format("{} failure{}, {} warning{}\n", counts[3], counts[3] == 1 ? "" : "s", counts[2],
                           counts[2] == 1 ? "" : "s");
}

/// Over one rank a GPU, unless a check failed. @returns what ended the communicator, which is yet to be
/// thrown; null: nothing did.
std::exception_ptr try_nccl([[maybe_unused]] comm::HostComm& comm,
                            [[maybe_unused]] const std::vector<RankFacts>& ranks,
                            [[maybe_unused]] double deadline_s, [[maybe_unused]] NetworkFacts& network) {
#ifdef MUFFLE_CUDA
  const std::vector<bool> takes_part = one_a_gpu(ranks);
  // Rank 0 decides for all: it alone knows whether the sums were right.
  std::int64_t go = comm.is_root() &&
                            std::find(takes_part.begin(), takes_part.end(), true) != takes_part.end() &&
                            verdict(examine(ranks, network)) == ExitCode::kDone
                        ? 1
                        : 0;
  comm.all_reduce_max(std::span(&go, 1));
  if (go == 0) return nullptr;
  const auto me = static_cast<std::size_t>(comm.rank());
  std::string version, error;
  try {
    const auto with_gpus = comm.split(takes_part[me]);
    try {
      if (with_gpus) version = comm::probe_nccl(*with_gpus, ranks[me].gpu, deadline_s);
    } catch (const Error& e) {
      if (!e.agreed()) throw;
      error = e.what();
    }
    for (const std::string& v : comm.all_gather(version)) network.nccl = std::max(network.nccl, v);
    for (const std::string& e : comm.all_gather(error)) network.nccl_error = std::max(network.nccl_error, e);
  } catch (const Error& e) {  // a rank is lost
    network.nccl_error = e.what();
    return std::current_exception();
  }
#endif
  return nullptr;
}

}  // namespace

ExitCode doctor(comm::HostComm& comm, const DoctorCommand& command, std::ostream& out) {
  RankFacts mine = local_facts(comm, cores_of(comm));
  for (int i = 0; i < kClockRounds; ++i) {
    comm.barrier();  // so that nobody's "before" is early: the bounds are as tight as the network allows
    mine.before.push_back(wall_clock());
    comm.all_gather("");
    mine.after.push_back(wall_clock());
  }
  mine.folder = folder_facts(comm, command.out, std::min(kLateFiles_s, command.deadline_s / 4));
  NetworkFacts network;
  network.sums = sums_are_right(comm);
  network.latency_s = time_all_reduce(comm, 2);
  network.large_s = time_all_reduce(comm, std::size_t{2} << 20);

  std::vector<RankFacts> ranks;
  for (const std::string& text : comm.all_gather(facts_to_json(mine))) ranks.push_back(facts_from_json(text));
  const std::exception_ptr lost = try_nccl(comm, ranks, command.deadline_s, network);
  std::int64_t code = 0;
  if (comm.is_root()) {
    const std::vector<Finding> findings = examine(ranks, network);
    out << (command.format == "json" ? as_json(ranks, network, findings) : as_text(findings)) << std::flush;
    code = static_cast<std::int64_t>(verdict(findings));
  }
  if (lost) std::rethrow_exception(lost);  // once rank 0 has told what was found
  comm.all_reduce_max(std::span(&code, 1));
  return static_cast<ExitCode>(code);
}

}  // namespace muffle::cluster
