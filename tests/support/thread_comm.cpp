#include "support/thread_comm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

namespace muffle::test {
namespace {

using Clock = std::chrono::steady_clock;

/// What a rank brings to a collective: a copy, so that a rank that gives up takes nothing away from a slower
/// one.
struct Contribution {
  std::string_view operation;
  std::string bytes;
};
using Contributions = std::vector<std::shared_ptr<const Contribution>>;

/// The meeting place of the ranks of one run.
class Group {
 public:
  Group(int n, std::chrono::milliseconds deadline)
      : deadline_(deadline),
        coming_(static_cast<std::size_t>(n)),
        met_(coming_.size()),
        left_(coming_.size()) {}

  int size() const { return static_cast<int>(coming_.size()); }
  std::chrono::milliseconds deadline() const { return deadline_; }

  /// Waits until every rank has come. @returns everybody's contribution, by rank.
  Contributions meet(int rank, std::shared_ptr<const Contribution> mine) {
    const std::string_view operation = mine->operation;
    std::unique_lock lock(mutex_);
    throw_if_dead(rank, operation);
    coming_[static_cast<std::size_t>(rank)] = std::move(mine);
    if (std::all_of(coming_.begin(), coming_.end(), [](const auto& c) { return c != nullptr; })) {
      met_ = std::exchange(coming_, Contributions(coming_.size()));
      ++generation_;
      changed_.notify_all();
      return met_;
    }
    const auto generation = generation_;
    const bool woken = changed_.wait_until(lock, Clock::now() + deadline_, [&] {
      return generation_ != generation || !cause_of_death_.empty() || !never_coming().empty();
    });
    // Nobody can have met again without this rank: met_ is still this meeting's.
    if (generation_ != generation) return met_;
    if (cause_of_death_.empty()) {
      cause_of_death_ =
          woken ? fmt::format("{} cannot finish, for want of {}, which has ended", operation, never_coming())
                : fmt::format("{} passed its deadline, for want of {}", operation, not_here());
      changed_.notify_all();
    }
    throw_if_dead(rank, operation);
    return {};
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

  std::string never_coming() const {
    return names([this](std::size_t r) { return left_[r] && !coming_[r]; });
  }

  std::string not_here() const {
    return names([this](std::size_t r) { return !coming_[r]; });
  }

  template <typename Which>
  std::string names(const Which& which) const {
    std::string text;
    for (std::size_t r = 0; r < coming_.size(); ++r) {
      if (which(r)) text += fmt::format("{}rank {}", text.empty() ? "" : ", ", r);
    }
    return text;
  }

  const std::chrono::milliseconds deadline_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Contributions coming_;  // to the meeting that is being waited for; null where a rank has not come
  Contributions met_;     // of the last complete meeting
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

  std::vector<std::string> gather(const std::string& bytes, int root) override {
    require(root >= 0 && root < size(), "gather: no such root");
    std::vector<std::string> result;
    exchange<char>("gather", bytes, Lengths::kAny, [&](const auto& all) {
      if (rank_ != root) return;
      for (const auto& part : all) result.emplace_back(part.begin(), part.end());
    });
    return result;
  }

  /// The first member makes the group and hands the others its address.
  std::unique_ptr<comm::HostComm> split(bool member) override {
    const std::vector<std::string> said = all_gather(member ? "+" : "");
    const auto first = static_cast<int>(std::find(said.begin(), said.end(), "+") - said.begin());
    const auto members = static_cast<int>(std::count(said.begin(), said.end(), "+"));
    const auto mine = static_cast<int>(std::count(said.begin(), said.begin() + rank_, "+"));
    std::string address;
    auto made = std::make_unique<std::shared_ptr<Group>>();
    if (rank_ == first) {
      *made = std::make_shared<Group>(members, group_.deadline());
      const void* const p = made.get();
      address.assign(reinterpret_cast<const char*>(&p), sizeof p);
    }
    const std::vector<std::string> addresses = all_gather(address);
    std::unique_ptr<ThreadComm> part;
    if (member) {
      const std::shared_ptr<Group>* shared = nullptr;
      std::memcpy(&shared, addresses[index(first)].data(), sizeof shared);
      part = std::make_unique<ThreadComm>(**shared, mine);
      part->owned_ = *shared;
    }
    barrier();  // until all have copied it
    return part;
  }
  ~ThreadComm() override {
    if (owned_) owned_->leave(rank_, nullptr);
  }

  /// Threads cannot be ended from outside: this rank ends with the code, and the others find it missing.
  [[noreturn]] void abort(ExitCode code) override {
    throw Error(code, fmt::format("thread rank {} called abort({})", rank_, static_cast<int>(code)));
  }

  double seconds_in_collectives() const override { return seconds_; }

 private:
  enum class Lengths { kEqual, kAny };

  static std::size_t index(int rank) { return static_cast<std::size_t>(rank); }

  /// Shows `mine` to all ranks; `use` gets everybody's.
  template <typename T, typename Use>
  void exchange(std::string_view operation, std::span<const T> mine, Lengths lengths, const Use& use) {
    const auto started = Clock::now();
    const char* const first = reinterpret_cast<const char*>(mine.data());
    Contribution contribution{operation, std::string(first, first + mine.size_bytes())};
    const Contributions all =
        group_.meet(rank_, std::make_shared<const Contribution>(std::move(contribution)));
    seconds_ += std::chrono::duration<double>(Clock::now() - started).count();
    std::vector<std::vector<T>> parts;
    for (const auto& c : all) {
      if (c->operation != operation || (lengths == Lengths::kEqual && c->bytes.size() != mine.size_bytes())) {
        throw CommError(fmt::format("thread rank {} called {} with {} bytes while another called {} with {}",
                                    rank_, operation, mine.size_bytes(), c->operation, c->bytes.size()));
      }
      auto& part = parts.emplace_back(c->bytes.size() / sizeof(T));
      if (!part.empty()) std::memcpy(part.data(), c->bytes.data(), c->bytes.size());
    }
    use(parts);
  }

  /// Element by element, in rank order: the same bits on every rank.
  template <typename T, typename Op>
  static std::vector<T> combine(const std::vector<std::vector<T>>& all, const Op& op) {
    std::vector<T> result = all[0];
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
  std::shared_ptr<Group> owned_;  ///< of a communicator that was split off
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
