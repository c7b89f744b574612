#include "mpi_comm.hpp"

#include <fmt/format.h>
#include <sodium.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

#include "muffle/comm/termination.hpp"
#include "muffle/core/watchdog.hpp"

namespace muffle::comm {
namespace {

MPI_Comm duplicate(MPI_Comm ranks, const MpiOptions& options) {
  MPI_Comm copy = MPI_COMM_NULL;
  MPI_Request request = MPI_REQUEST_NULL;
  check_mpi(MPI_Comm_idup(ranks, &copy, &request), "MPI_Comm_idup");
  wait_or_throw(request, "setting up communication", options.deadline, options.stop_within);
  check_mpi(MPI_Comm_set_errhandler(copy, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  return copy;
}

}  // namespace

/// Numbers the collective, holds its deadline, accounts for its time, and turns a failed wait into the one
/// error that ends the communicator's life.
class MpiComm::Collective {
 public:
  /// @param bytes  what this rank puts in  @param within  where that is shorter than the deadline
  Collective(MpiComm& comm, std::string_view name, std::size_t bytes,
             std::chrono::milliseconds within = std::chrono::milliseconds::max())
      : comm_(comm),
        name_(name),
        bytes_(bytes),
        deadline_(std::min(within, comm.options_.deadline)),
        questions_(started_, deadline_, comm.options_.notice_after) {
    if (!comm_.died_in_.empty()) {
      throw CommError(
          fmt::format("{} on rank {}: this communicator died earlier, in {}; the process should end", name,
                      comm_.rank_, comm_.died_in_));
    }
    ++comm_.collectives_;
    if (comm_.roll_call_) comm_.roll_call_->enter(comm_.collectives_);
  }
  ~Collective() {
    if (comm_.roll_call_) comm_.roll_call_->leave();
    const double seconds = seconds_between(started_, Clock::now());
    comm_.seconds_ += seconds;
    CollectiveUse& use = comm_.use_[name_];
    use.name = name_;
    ++use.calls;
    use.seconds += seconds;
    use.bytes += bytes_;
  }
  Collective& operator=(Collective&&) = delete;

  /// `start` begins a non-blocking operation and returns MPI's code.
  template <typename Start>
  void run(const Start& start) {
    MPI_Request request = MPI_REQUEST_NULL;
    Waited outcome = Waited::kDone;
    try {
      check_mpi(start(&request), name_);
      Patience patience{until_, comm_.options_.termination_grace, comm_.options_.stop_within};
      outcome = wait_for(request, name_, patience, [&](Clock::time_point now) {
        const bool peer_gone = attend(now);
        patience.until = until_;
        return peer_gone;
      });
    } catch (...) {
      comm_.died_in_ = name_;
      comm_.die();
      throw;
    }
    if (outcome != Waited::kDone) fail(outcome);
  }

 private:
  /// Between polls; true if a peer has gone.
  bool attend(Clock::time_point now) {
    if (!comm_.roll_call_) return false;
    comm_.roll_call_->serve();
    if (questions_.due(now, until_)) comm_.roll_call_->ask();
    // The deadline bounds silence: those who are at work may be waited for.
    if (const auto patience = comm_.roll_call_->patience()) until_ = std::max(until_, *patience);
    if (termination_requested() && comm_.roll_call_->spread_stop()) {
      spdlog::debug(
          "told to stop (SIGTERM or SIGUSR1) while waiting for the other ranks in {}; they are told too",
          name_);
    }
    return comm_.roll_call_->somebody_is_gone();
  }

  [[noreturn]] void fail(Waited outcome) {
    comm_.died_in_ = name_;
    comm_.give_up(outcome,
                  fmt::format("{} (collective {}) on rank {} of {} (host {})", name_, comm_.collectives_,
                              comm_.rank_, comm_.size_, comm_.host_),
                  seconds_between(started_, until_));
  }

  MpiComm& comm_;
  std::string_view name_;
  std::size_t bytes_;
  Clock::time_point started_ = Clock::now();
  std::chrono::milliseconds deadline_;
  Clock::time_point until_ = started_ + deadline_;
  Questions questions_;
};

std::byte* MpiComm::Staging::reserve(std::size_t size) {
  if (size > capacity) {
    bytes = std::make_unique_for_overwrite<std::byte[]>(size);
    capacity = size;
  }
  return bytes.get();
}

void MpiComm::Staging::wipe(std::size_t size) { sodium_memzero(bytes.get(), std::min(size, capacity)); }

MpiComm::MpiComm(MPI_Comm ranks, const MpiOptions& options) : options_(options) {
  comm_ = duplicate(ranks, options_);
  check_mpi(MPI_Comm_rank(comm_, &rank_), "MPI_Comm_rank");
  check_mpi(MPI_Comm_size(comm_, &size_), "MPI_Comm_size");
  std::array<char, MPI_MAX_PROCESSOR_NAME + 1> name{};
  int length = 0;
  check_mpi(MPI_Get_processor_name(name.data(), &length), "MPI_Get_processor_name");
  host_.assign(name.data(), static_cast<std::size_t>(length));
  std::vector<std::string> hosts = all_gather(host_);
  const std::vector<std::string> introductions = all_gather(PeerWatch::introduction());
  roll_call_ = std::make_unique<RollCall>(duplicate(ranks, options_), rank_, std::move(hosts), introductions,
                                          options_.deadline);
  find_neighbours();
}

/// The communicators are left to MPI_Finalize: freeing them is collective, and a failing rank must not wait.
MpiComm::~MpiComm() {
  if (parent_ != nullptr) std::erase(parent_->children_, this);
}

std::unique_ptr<HostComm> MpiComm::split(bool member) {
  // MPI has no non-blocking split. Everybody is known to be here, so that it cannot take long.
  barrier();
  MPI_Comm part = MPI_COMM_NULL;
  {
    static const std::filesystem::path kCall = "MPI_Comm_split";
    const WatchedStep step("the call of", kCall);
    check_mpi(MPI_Comm_split(comm_, member ? 0 : MPI_UNDEFINED, rank_, &part), "MPI_Comm_split");
  }
  if (part == MPI_COMM_NULL) return nullptr;
  check_mpi(MPI_Comm_set_errhandler(part, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  auto group = std::make_unique<MpiComm>(part, options_);
  group->parent_ = this;
  children_.push_back(group.get());
  return group;
}

void MpiComm::find_neighbours() {
  // MPI has no non-blocking split. Everybody is known to be here, so that it cannot take long.
  barrier();
  static const std::filesystem::path kCall = "MPI_Comm_split_type";
  const WatchedStep step("the call of", kCall);
  MPI_Comm local = MPI_COMM_NULL;
  check_mpi(MPI_Comm_split_type(comm_, MPI_COMM_TYPE_SHARED, rank_, MPI_INFO_NULL, &local),
            "MPI_Comm_split_type");
  check_mpi(MPI_Comm_rank(local, &local_rank_), "MPI_Comm_rank");
  check_mpi(MPI_Comm_size(local, &local_size_), "MPI_Comm_size");
  hide_segments(local);
  check_mpi(MPI_Comm_free(&local), "MPI_Comm_free");
}

void MpiComm::die() {
  // MPI goes on using the staging buffers of the abandoned collective: they stay until the process ends.
  static auto* const kept = new std::vector<std::unique_ptr<std::byte[]>>;
  kept->push_back(std::move(first_.bytes));
  kept->push_back(std::move(second_.bytes));
  first_.capacity = 0;
  second_.capacity = 0;
}

std::vector<CollectiveUse> MpiComm::collective_use() const {
  std::vector<CollectiveUse> all;
  for (const auto& [name, use] : use_) all.push_back(use);
  return all;
}

void MpiComm::roll_call(std::chrono::milliseconds within) {
  Collective collective(*this, "roll call", 0, within);
  collective.run([&](MPI_Request* request) { return MPI_Ibarrier(comm_, request); });
}

void MpiComm::barrier() {
  Collective collective(*this, "barrier", 0);
  collective.run([&](MPI_Request* request) { return MPI_Ibarrier(comm_, request); });
}

void MpiComm::broadcast(std::span<std::byte> bytes, int root) {
  require(root >= 0 && root < size_, fmt::format("broadcast: there is no rank {} among {}", root, size_));
  Collective collective(*this, "broadcast", bytes.size());
  for (std::size_t at = 0; at < bytes.size(); at += options_.max_message_bytes) {
    const std::size_t count = std::min(options_.max_message_bytes, bytes.size() - at);
    std::byte* const staged = first_.reserve(count);
    if (rank_ == root) std::memcpy(staged, bytes.data() + at, count);
    collective.run([&](MPI_Request* request) {
      return MPI_Ibcast(staged, static_cast<int>(count), MPI_BYTE, root, comm_, request);
    });
    if (rank_ != root) std::memcpy(bytes.data() + at, staged, count);
  }
}

template <typename T>
void MpiComm::reduce(std::span<const T> in, std::span<T> out, MPI_Datatype type, MPI_Op op,
                     std::optional<int> root, std::string_view name) {
  Collective collective(*this, name, in.size_bytes());
  const bool receives = !root || *root == rank_;
  const std::size_t chunk = options_.max_message_bytes / sizeof(T);
  for (std::size_t at = 0; at < in.size(); at += chunk) {
    const std::size_t count = std::min(chunk, in.size() - at);
    std::byte* const mine = first_.reserve(count * sizeof(T));
    std::byte* const result = receives ? second_.reserve(count * sizeof(T)) : nullptr;
    std::memcpy(mine, in.data() + at, count * sizeof(T));
    collective.run([&](MPI_Request* request) {
      const int n = static_cast<int>(count);
      return root ? MPI_Ireduce(mine, result, n, type, op, *root, comm_, request)
                  : MPI_Iallreduce(mine, result, n, type, op, comm_, request);
    });
    if (receives) std::memcpy(out.data() + at, result, count * sizeof(T));
  }
}

void MpiComm::reduce_sum(std::span<const std::uint64_t> in, std::span<std::uint64_t> out, int root) {
  require(root >= 0 && root < size_, fmt::format("reduce_sum: there is no rank {} among {}", root, size_));
  require(rank_ != root || out.size() == in.size(),
          "reduce_sum: the root's output must be as long as the input");
  reduce(in, out, MPI_UINT64_T, MPI_SUM, root, "reduce_sum");
  // These are sums of records: they do not stay for as long as the process does. (What MPI itself kept of
  // them is MPI's. A reduce that failed leaves its buffers to MPI; the process then ends.)
  const std::size_t used = std::min(options_.max_message_bytes, in.size_bytes());
  first_.wipe(used);
  if (rank_ == root) second_.wipe(used);
}

void MpiComm::all_reduce_sum(std::span<float> values) {
  reduce<float>(values, values, MPI_FLOAT, MPI_SUM, {}, "all_reduce_sum");
}

void MpiComm::all_reduce_sum(std::span<double> values) {
  reduce<double>(values, values, MPI_DOUBLE, MPI_SUM, {}, "all_reduce_sum");
}

void MpiComm::all_reduce_max(std::span<std::int64_t> values) {
  reduce<std::int64_t>(values, values, MPI_INT64_T, MPI_MAX, {}, "all_reduce_max");
}

std::vector<std::string> MpiComm::all_gather(const std::string& bytes) {
  return gather_to(std::nullopt, bytes, "all_gather");
}

std::vector<std::string> MpiComm::gather(const std::string& bytes, int root) {
  require(root >= 0 && root < size_, fmt::format("gather: there is no rank {} among {}", root, size_));
  return gather_to(root, bytes, "gather");
}

std::vector<std::string> MpiComm::gather_to(std::optional<int> root, const std::string& bytes,
                                            std::string_view name) {
  Collective collective(*this, name, bytes.size());
  const bool receives = !root || *root == rank_;
  const auto ranks = static_cast<std::size_t>(size_);
  std::byte* const my_length = first_.reserve(sizeof(std::uint64_t));
  std::byte* const all_lengths = second_.reserve(ranks * sizeof(std::uint64_t));
  const std::uint64_t length = bytes.size();
  std::memcpy(my_length, &length, sizeof length);
  collective.run([&](MPI_Request* request) {
    return MPI_Iallgather(my_length, 1, MPI_UINT64_T, all_lengths, 1, MPI_UINT64_T, comm_, request);
  });
  std::vector<std::uint64_t> lengths(ranks);
  std::memcpy(lengths.data(), all_lengths, ranks * sizeof(std::uint64_t));

  std::vector<std::string> all(receives ? ranks : 0);
  for (std::size_t r = 0; r < all.size(); ++r) all[r].resize(lengths[r]);
  // In rounds, so that what one rank receives in a round stays below the longest message.
  const std::size_t share = std::max<std::size_t>(1, options_.max_message_bytes / ranks);
  const std::uint64_t longest = *std::max_element(lengths.begin(), lengths.end());
  // Counts and offsets are MPI's to read until the end, so they live in the staging buffers too.
  const std::size_t table = ranks * sizeof(int);
  for (std::size_t at = 0; at < longest; at += share) {
    std::vector<int> counts(ranks), offsets(ranks);
    for (std::size_t r = 0; r < ranks; ++r)
      counts[r] = static_cast<int>(lengths[r] > at ? std::min<std::size_t>(share, lengths[r] - at) : 0);
    std::exclusive_scan(counts.begin(), counts.end(), offsets.begin(), 0);
    const auto mine = static_cast<std::size_t>(counts[static_cast<std::size_t>(rank_)]);
    const auto total = static_cast<std::size_t>(offsets.back()) + static_cast<std::size_t>(counts.back());

    std::byte* const tables = first_.reserve(2 * table + mine);
    std::byte* const sent = tables + 2 * table;
    std::byte* const received = receives ? second_.reserve(total) : nullptr;
    std::memcpy(tables, counts.data(), table);
    std::memcpy(tables + table, offsets.data(), table);
    if (mine > 0) std::memcpy(sent, bytes.data() + at, mine);
    const auto* const their_counts = reinterpret_cast<const int*>(tables);
    const auto* const their_offsets = reinterpret_cast<const int*>(tables + table);
    collective.run([&](MPI_Request* request) {
      const int count = static_cast<int>(mine);
      return root ? MPI_Igatherv(sent, count, MPI_BYTE, received, their_counts, their_offsets, MPI_BYTE,
                                 *root, comm_, request)
                  : MPI_Iallgatherv(sent, count, MPI_BYTE, received, their_counts, their_offsets, MPI_BYTE,
                                    comm_, request);
    });
    for (std::size_t r = 0; r < all.size(); ++r)
      std::memcpy(all[r].data() + at, received + offsets[r], static_cast<std::size_t>(counts[r]));
  }
  return all;
}

}  // namespace muffle::comm
