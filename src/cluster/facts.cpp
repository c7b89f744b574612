#include "facts.hpp"

#include <fmt/format.h>
#include <link.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <span>
#include <sstream>
#include <system_error>

#include "muffle/comm/launcher.hpp"
#include "muffle/comm/mpi.hpp"
#include "muffle/core/hash.hpp"
#include "muffle/core/process.hpp"
#include "muffle/core/watchdog.hpp"
#include "muffle/features/block.hpp"
#include "muffle/privacy/entropy.hpp"
#ifdef MUFFLE_CUDA
#include "muffle/comm/nccl_group.hpp"
#endif

namespace muffle::cluster {

NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(FolderFacts, path, filesystem, free_bytes, error, renames,
                                                exclusive, syncs_file, syncs_folder, locks, sees_root,
                                                respects_lock)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE_WITH_DEFAULT(RankFacts, rank, local_rank, local_size, host, version,
                                                binary, cuda, mpi, libtorch, nccl, kernels, blas, better_blas,
                                                system, launcher, before, after, cores_online, cores,
                                                core_quota, threads, omp_threads, open_files, file_bytes,
                                                address_bytes, locked_bytes, memory_bytes,
                                                shared_memory_bytes, tcp_retries, keepalive_s, entropy,
                                                gpu_driver, gpus, gpu, folder)

namespace {

/// First line of a small file of /proc or /sys; empty if it is not there.
std::string line_of(const std::string& path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  return line;
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::int64_t soft_limit(decltype(RLIMIT_NOFILE) which) {
  rlimit limit{};
  if (::getrlimit(which, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return -1;
  return static_cast<std::int64_t>(limit.rlim_cur);
}

std::uint64_t available_memory(const std::string& group) {
  std::uint64_t bytes = 0;
  std::ifstream info("/proc/meminfo");
  for (std::string name, unit; info >> name;) {
    std::uint64_t value = 0;
    info >> value;
    std::getline(info, unit);
    if (name == "MemAvailable:") bytes = value * 1024;
  }
  std::uint64_t most = 0, used = 0;
  if (std::istringstream(line_of(group + "/memory.max")) >> most &&
      std::istringstream(line_of(group + "/memory.current")) >> used) {
    bytes = std::min(bytes, most > used ? most - used : 0);
  }
  return bytes;
}

/// Seconds until mpirun's daemons notice a cut link, from the settings that mpirun hands on; 0: not set.
double keepalive_seconds() {
  const auto number = [](const char* name) { return std::atof(variable(name).c_str()); };
  const double idle = number("OMPI_MCA_oob_tcp_keepalive_time");
  if (!(idle > 0)) return 0;
  return idle + number("OMPI_MCA_oob_tcp_keepalive_intvl") * number("OMPI_MCA_oob_tcp_keepalive_probes");
}

std::string launcher() {
  if (!comm::launched_by_mpi()) return "none";
  // mpirun inside a Slurm job sets Slurm's variables too, but only mpirun sets its own.
  return variable("OMPI_COMM_WORLD_SIZE").empty() ? "srun" : "mpirun";
}

namespace fs = std::filesystem;

constexpr std::size_t kShown = 6;  ///< bytes of a build ID

std::size_t padded(std::size_t n) { return (n + 3) & ~std::size_t{3}; }

/// Of the notes of one segment, in hexadecimal digits; empty: none of them is a build ID.
std::string build_id(std::span<const std::byte> notes) {
  ElfW(Nhdr) head;
  while (notes.size() >= sizeof head) {
    std::memcpy(&head, notes.data(), sizeof head);
    notes = notes.subspan(sizeof head);
    const std::size_t name = padded(head.n_namesz), content = padded(head.n_descsz);
    if (notes.size() < name || notes.size() - name < content) break;
    if (head.n_type == NT_GNU_BUILD_ID && head.n_namesz == 4 && std::memcmp(notes.data(), "GNU", 4) == 0) {
      std::string digits;
      for (const std::byte b : notes.subspan(name, std::min<std::size_t>(head.n_descsz, kShown)))
        digits += fmt::format("{:02x}", std::to_integer<unsigned>(b));
      return digits;
    }
    notes = notes.subspan(name + content);
  }
  return "";
}

struct Search {
  const std::string& name;
  std::string found;
};

int look_at(dl_phdr_info* info, std::size_t, void* data) {
  auto& search = *static_cast<Search*>(data);
  const fs::path path = info->dlpi_name;
  if (!path.filename().string().starts_with(search.name)) return 0;
  const WatchedStep step("looking at", path);
  std::error_code error;
  const fs::path file = fs::canonical(path, error);
  std::string id;
  for (int i = 0; i < info->dlpi_phnum && id.empty(); ++i) {
    const auto& part = info->dlpi_phdr[i];
    if (part.p_type == PT_NOTE)
      id = build_id({reinterpret_cast<const std::byte*>(info->dlpi_addr + part.p_vaddr), part.p_memsz});
  }
  if (id.empty()) {
    const auto bytes = fs::file_size(path, error);
    id = error ? "of unknown build" : fmt::format("of {} bytes", bytes);
  }
  search.found = fmt::format("{} {}", (file.empty() ? path : file).filename().string(), id);
  return 1;
}

}  // namespace

std::string loaded_library(const std::string& name) {
  Search search{name, ""};
  ::dl_iterate_phdr(look_at, &search);
  return search.found;
}

int cores_of(comm::HostComm& comm) {
  const std::string mine = comm.host() + " " + affinity_mask();
  const std::vector<std::string> all = comm.all_gather(mine);
  return owned_cores(core_facts(), comm.local_size(),
                     static_cast<int>(std::count(all.begin(), all.end(), mine)));
}

RankFacts local_facts(const comm::HostComm& comm, int threads) {
  RankFacts f;
  f.rank = comm.rank();
  f.local_rank = comm.local_rank();
  f.local_size = comm.local_size();
  f.host = comm.host();
  f.version = MUFFLE_VERSION;
  f.binary = sha256_file_hex(PublicFile("/proc/self/exe"));
  f.mpi = comm::MpiSession::library();
  f.libtorch = loaded_library("libtorch_cpu.so");
  f.kernels = features::kernel_variant();
  f.blas = blas_kernels();
  f.better_blas = better_blas_kernels(f.blas);
  utsname system{};
  if (::uname(&system) == 0)
    f.system = fmt::format("{} {} {}", system.sysname, system.release, system.machine);
  f.launcher = launcher();

  f.cores_online = static_cast<int>(::sysconf(_SC_NPROCESSORS_ONLN));
  cpu_set_t mask;
  CPU_ZERO(&mask);
  if (::sched_getaffinity(0, sizeof mask, &mask) == 0) {
    for (int i = 0; i < CPU_SETSIZE; ++i) {
      if (CPU_ISSET(i, &mask)) f.cores.push_back(i);
    }
  }
  const std::string group = control_group();
  f.core_quota = core_quota();
  f.threads = threads;
  f.omp_threads = variable("OMP_NUM_THREADS");

  f.open_files = soft_limit(RLIMIT_NOFILE);
  f.file_bytes = soft_limit(RLIMIT_FSIZE);
  f.address_bytes = soft_limit(RLIMIT_AS);
  f.locked_bytes = soft_limit(RLIMIT_MEMLOCK);
  f.memory_bytes = available_memory(group);
  struct statvfs shm {};
  if (::statvfs("/dev/shm", &shm) == 0) f.shared_memory_bytes = std::uint64_t{shm.f_bavail} * shm.f_frsize;
  f.tcp_retries = std::atoi(line_of("/proc/sys/net/ipv4/tcp_retries2").c_str());
  f.keepalive_s = keepalive_seconds();
  try {
    std::byte sample[32];
    privacy::os_entropy()->fill(sample);
    f.entropy = true;
  } catch (const Error&) {  // said by the finding
  }
  f.gpu_driver = fs::exists("/proc/driver/nvidia/version");
#ifdef MUFFLE_CUDA
  f.cuda = true;
  f.nccl = comm::nccl_version();
  f.gpus = comm::gpu_uuids();
  if (!f.gpus.empty()) f.gpu = comm.local_rank() % static_cast<int>(f.gpus.size());
#endif
  return f;
}

std::string facts_to_json(const RankFacts& facts) {
  return nlohmann::json(facts).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

RankFacts facts_from_json(const std::string& text) {
  try {
    return nlohmann::json::parse(text).get<RankFacts>();
  } catch (const nlohmann::json::exception& e) {
    throw ProtocolError(fmt::format(
        "what a rank says of itself cannot be read ({}): start the same muffle on every rank", e.what()));
  }
}

}  // namespace muffle::cluster
