#include "support/thread_comm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>

namespace muffle::test {
namespace {

using Clock = std::chrono::steady_clock;

/// What a rank brings to a collective; the others read it between the two barriers of the exchange.
struct Contribution {
  std::string_view operation;
  const void* data = nullptr;
  std::size_t length = 0;  // elements
};

/// The meeting place of the ranks of one run.
class Group {
 public:
  Group(int n, std::chrono::milliseconds deadline)
      : deadline_(deadline),
        contributions_(static_cast<std::size_t>(n)),
        arrived_(contributions_.size()),
        left_(contributions_.size()) {}

  int size() const { return static_cast<int>(contributions_.size()); }
  const std::vector<Contribution>& contributions() const { return contributions_; }

  /// Waits until every rank has come.
  void meet(int rank, const Contribution& mine) {
    std::unique_lock lock(mutex_);
    throw_if_dead(rank, mine.operation);
    const auto me = static_cast<std::size_t>(rank);
    contributions_[me] = mine;
    arrived_[me] = true;
    if (std::all_of(arrived_.begin(), arrived_.end(), [](bool a) { return a; })) {
      arrived_.assign(arrived_.size(), false);
      ++generation_;
      changed_.notify_all();
      return;
    }
    const auto generation = generation_;
    const bool woken = changed_.wait_until(lock, Clock::now() + deadline_, [&] {
      return generation_ != generation || !cause_of_death_.empty() || somebody_never_comes();
    });
    if (generation_ != generation) return;
    if (cause_of_death_.empty()) {
      cause_of_death_ =
          fmt::format("{} {}: missing {}", mine.operation,
                      woken ? "cannot finish, because ranks have ended" : "passed its deadline", missing());
      changed_.notify_all();
    }
    throw_if_dead(rank, mine.operation);
  }

  void leave(int rank, std::exception_ptr error) {
    const std::lock_guard lock(mutex_);
    left_[static_cast<std::size_t>(rank)] = true;
    if (error && !first_error_) first_error_ = error;
    changed_.notify_all();
  }

  void rethrow_first_error() const {
    if (first_error_) std::rethrow_exception(first_error_);
  }

 private:
  void throw_if_dead(int rank, std::string_view operation) const {
    if (cause_of_death_.empty()) return;
    throw CommError(fmt::format("{} on thread rank {} of {}: {}", operation, rank, size(), cause_of_death_));
  }

  bool somebody_never_comes() const {
    for (std::size_t r = 0; r < left_.size(); ++r) {
      if (left_[r] && !arrived_[r]) return true;
    }
    return false;
  }

  std::string missing() const {
    std::string names;
    for (std::size_t r = 0; r < arrived_.size(); ++r) {
      if (!arrived_[r]) names += fmt::format("{}rank {}", names.empty() ? "" : ", ", r);
    }
    return names;
  }

  const std::chrono::milliseconds deadline_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Contribution> contributions_;
  std::vector<bool> arrived_;
  std::vector<bool> left_;
  std::uint64_t generation_ = 0;
  std::string cause_of_death_;
  std::exception_ptr first_error_;
};

class ThreadComm final : public comm::HostComm {
 public:
  ThreadComm(Group& group, int rank) : group_(group), rank_(rank) {}

  int rank() const override { return rank_; }
  int size() const override { return group_.size(); }
  int local_size() const override { return size(); }
  int local_rank() const override { return rank_; }
  std::string host() const override { return "threads"; }

  void barrier() override {
    exchange<std::byte>("barrier", {}, Lengths::kEqual, [](const auto&) {});
  }

  void broadcast(std::span<std::byte> bytes, int root) override {
    require(root >= 0 && root < size(), "broadcast: no such root");
    exchange<std::byte>("broadcast", bytes, Lengths::kEqual, [&](const auto& all) {
      if (rank_ != root) std::copy(all[index(root)].begin(), all[index(root)].end(), bytes.begin());
    });
  }

  void reduce_sum(std::span<const std::uint64_t> in, std::span<std::uint64_t> out, int root) override {
    require(root >= 0 && root < size(), "reduce_sum: no such root");
    require(rank_ != root || out.size() == in.size(),
            "reduce_sum: the root's output must be as long as the input");
    std::vector<std::uint64_t> sum;
    exchange<std::uint64_t>("reduce_sum", in, Lengths::kEqual, [&](const auto& all) {
      if (rank_ == root) sum = combine(all, std::plus<>());
    });
    if (rank_ == root) std::copy(sum.begin(), sum.end(), out.begin());
  }

  void all_reduce_sum(std::span<float> values) override {
    all_reduce(values, "all_reduce_sum(float)", std::plus<>());
  }
  void all_reduce_sum(std::span<double> values) override {
    all_reduce(values, "all_reduce_sum(double)", std::plus<>());
  }
  void all_reduce_max(std::span<std::int64_t> values) override {
    all_reduce(values, "all_reduce_max", [](auto a, auto b) { return std::max(a, b); });
  }

  std::vector<std::string> all_gather(const std::string& bytes) override {
    std::vector<std::string> result;
    exchange<char>("all_gather", bytes, Lengths::kAny, [&](const auto& all) {
      for (const auto& part : all) result.emplace_back(part.begin(), part.end());
    });
    return result;
  }

  /// Threads cannot be ended from outside: this rank ends with the code, and the others find it missing.
  [[noreturn]] void abort(ExitCode code) override {
    throw Error(code, fmt::format("thread rank {} called abort({})", rank_, static_cast<int>(code)));
  }

  double seconds_in_collectives() const override { return seconds_; }

 private:
  enum class Lengths { kEqual, kAny };

  static std::size_t index(int rank) { return static_cast<std::size_t>(rank); }

  /// Shows `mine` to all ranks; `use` sees everybody's. Nobody may change its data until all have used it, so
  /// results that go back into the same memory are written after this returns (or, in a broadcast, where
  /// nobody reads).
  template <typename T, typename Use>
  void exchange(std::string_view operation, std::span<const T> mine, Lengths lengths, const Use& use) {
    const auto started = Clock::now();
    struct Account {
      ThreadComm& comm;
      Clock::time_point since;
      ~Account() { comm.seconds_ += std::chrono::duration<double>(Clock::now() - since).count(); }
    } account{*this, started};
    group_.meet(rank_, {operation, mine.data(), mine.size()});
    std::vector<std::span<const T>> all;
    for (const Contribution& c : group_.contributions()) {
      if (c.operation != operation || (lengths == Lengths::kEqual && c.length != mine.size())) {
        throw CommError(fmt::format("thread rank {} called {} of {} elements while another called {} of {}",
                                    rank_, operation, mine.size(), c.operation, c.length));
      }
      all.emplace_back(static_cast<const T*>(c.data), c.length);
    }
    use(all);
    group_.meet(rank_, {operation, nullptr, 0});
  }

  /// Element by element, in rank order: the same bits on every rank.
  template <typename T, typename Op>
  static std::vector<T> combine(const std::vector<std::span<const T>>& all, const Op& op) {
    std::vector<T> result(all[0].begin(), all[0].end());
    for (std::size_t r = 1; r < all.size(); ++r) {
      std::transform(result.begin(), result.end(), all[r].begin(), result.begin(), op);
    }
    return result;
  }

  template <typename T, typename Op>
  void all_reduce(std::span<T> values, std::string_view operation, const Op& op) {
    std::vector<T> result;
    exchange<T>(operation, values, Lengths::kEqual, [&](const auto& all) { result = combine(all, op); });
    std::copy(result.begin(), result.end(), values.begin());
  }

  Group& group_;
  int rank_;
  double seconds_ = 0;
};

}  // namespace

void run_thread_ranks(int n, const std::function<void(comm::HostComm&)>& body,
                      std::chrono::milliseconds deadline) {
  require(n >= 1, "run_thread_ranks: at least one rank");
  Group group(n, deadline);
  {
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < n; ++rank) {
      threads.emplace_back([&group, &body, rank] {
        std::exception_ptr error;
        try {
          ThreadComm comm(group, rank);
          body(comm);
        } catch (...) {
          error = std::current_exception();
        }
        group.leave(rank, error);
      });
    }
  }
  group.rethrow_first_error();
}

}  // namespace muffle::test
