#include "mpi_roll_call.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

namespace muffle::comm {

RollCall::RollCall(MPI_Comm peers, int rank, std::vector<std::string> hosts,
                   const std::vector<std::string>& introductions, std::chrono::milliseconds deadline)
    : peers_(peers),
      hosts_(std::move(hosts)),
      rank_(rank),
      size_(static_cast<int>(hosts_.size())),
      deadline_(deadline),
      attendance_(size_, deadline),
      watch_(introductions, rank_),
      failing_(hosts_.size(), false),
      farewell_(hosts_.size()) {}

RollCall::~RollCall() {
  // MPI may still read a message that was never delivered; it stays until the process ends.
  static auto* const kept = new std::list<Outgoing>;
  kept->splice(kept->end(), outgoing_);
}

void RollCall::enter(std::int64_t number) {
  current_ = number;
  inside_ = true;
  answer_.reset();
  asked_at_.reset();
  patience_.reset();
  if (size_ > 1) serve();
}

void RollCall::leave() {
  inside_ = false;
  shown_at_ = Clock::now();
}

void RollCall::serve() {
  drop_delivered();
  // Answered last: what the others have sent meanwhile counts.
  std::vector<std::pair<int, std::int64_t>> questions;
  for (;;) {
    int waiting = 0;
    MPI_Status status;
    check_mpi(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, peers_, &waiting, &status), "MPI_Iprobe");
    if (!waiting) break;
    Message message{};
    check_mpi(MPI_Recv(message.data(), static_cast<int>(message.size()), MPI_INT64_T, status.MPI_SOURCE,
                       status.MPI_TAG, peers_, MPI_STATUS_IGNORE),
              "MPI_Recv of a roll-call message");
    if (status.MPI_TAG == kAnswer) {
      if (message[0] == current_) take(message);
      continue;
    }
    const auto source = static_cast<std::size_t>(status.MPI_SOURCE);
    if (status.MPI_TAG == kStop) {
      stop_heard_ = true;
      if (rank_ == 0) spread_stop();
    }
    if (status.MPI_TAG == kFailing) failing_[source] = true;
    if (status.MPI_TAG == kFarewell) farewell_[source] = static_cast<int>(message[1]);
    attendance_.note(status.MPI_SOURCE, message[0], Clock::now());
    if (status.MPI_TAG == kQuestion) questions.emplace_back(status.MPI_SOURCE, message[0]);
  }
  for (const auto& [rank, number] : questions) send(rank, kAnswer, missing_from(number));
}

void RollCall::show_life() {
  const auto now = Clock::now();
  if (rank_ == 0 || now - shown_at_ < sign_interval(deadline_)) return;
  shown_at_ = now;
  send(0, kAtWork, {current_});
}

void RollCall::ask() {
  if (rank_ == 0) return take(missing_from(current_));
  if (asked_at_) return;
  asked_at_ = Clock::now();
  send(0, kQuestion, {current_});
}

void RollCall::take(const Message& answer) {
  answer_ = answer;
  asked_at_.reset();
  patience_.reset();
  if (answer[1] > 0) patience_ = Clock::now() + deadline_ - std::chrono::milliseconds(answer[2]);
}

std::string RollCall::describe_missing() {
  serve();
  if (rank_ == 0) answer_ = missing_from(current_);
  // An answer that does not come any more is older than what happened to rank 0.
  if (!answer_ || (asked_at_ && Clock::now() - *asked_at_ > deadline_ / 2)) {
    return fmt::format(
        "{}, which keeps the roll call, did not answer either: it is lost or stopped, or busy elsewhere",
        name(0));
  }
  const auto count = static_cast<std::size_t>((*answer_)[1]);
  if (count == 0) return "every rank has arrived, so the network between them is stuck or far too slow";
  return "not heard from: " + names(std::span(*answer_).subspan(kFirstName), count);
}

bool RollCall::spread_stop() {
  if (stop_spread_) return false;
  stop_spread_ = true;
  rank_ == 0 ? send_to_all(kStop, {current_}) : send(0, kStop, {current_});
  return true;
}

bool RollCall::somebody_is_gone() {
  return std::any_of(farewell_.begin(), farewell_.end(), [](const auto& code) { return code.has_value(); }) ||
         watch_.any_has_ended();
}

RollCall::Findings RollCall::find_out(std::chrono::milliseconds grace) noexcept {
  Findings found;
  try {
    send_to_all(kFailing, {current_});
    const auto until = Clock::now() + grace;
    for (bool over = false;;) {
      serve();
      found = {};
      for (int r = 0; r < size_; ++r) {
        const auto i = static_cast<std::size_t>(r);
        if (r == rank_) continue;
        // A rank that failed as this one did, and ends for the same reason, is not the cause.
        if (failing_[i]) {
          found.lower_rank_speaks = found.lower_rank_speaks || r < rank_;
          if (farewell_[i] && !found.ender) found.ender = r, found.ender_code = *farewell_[i];
        } else if (farewell_[i]) {
          if (!found.farewell) found.farewell = r, found.farewell_code = *farewell_[i];
        } else if (watch_.has_ended(r)) {
          found.ended.push_back(r);
        } else {
          found.silent.push_back(r);
        }
      }
      if (over || found.silent.empty() || found.farewell) break;
      over = Clock::now() >= until;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  } catch (...) {  // what is known by now has to do
  }
  return found;
}

void RollCall::say_farewell(int exit_code) noexcept { send_to_all(kFarewell, {current_, exit_code}); }

void RollCall::send_to_all(Tag tag, const Message& message) noexcept {
  for (int r = 0; r < size_; ++r) {
    if (r == rank_) continue;
    try {
      send(r, tag, message);
    } catch (...) {  // lost already: the others still have to be told
    }
  }
}

std::string RollCall::names(std::span<const std::int64_t> ranks, std::size_t count) const {
  std::string text;
  for (std::size_t i = 0; i < std::min(count, kNamesAtMost); ++i) text += (i ? ", " : "") + name(ranks[i]);
  if (count > kNamesAtMost) text += fmt::format(" and {} more", count - kNamesAtMost);
  return text;
}

void RollCall::send(int to, Tag tag, const Message& message) {
  Outgoing& out = outgoing_.emplace_back();
  out.message = message;
  check_mpi(MPI_Isend(out.message.data(), static_cast<int>(out.message.size()), MPI_INT64_T, to, tag, peers_,
                      &out.request),
            "MPI_Isend of a roll-call message");
}

void RollCall::drop_delivered() {
  for (auto it = outgoing_.begin(); it != outgoing_.end();) {
    int done = 0;
    check_mpi(MPI_Test(&it->request, &done, MPI_STATUS_IGNORE), "MPI_Test of a roll-call message");
    it = done ? outgoing_.erase(it) : std::next(it);
  }
}

RollCall::Message RollCall::missing_from(std::int64_t number) const {
  const auto [named, silence] = attendance_.missing_from(number, current_, inside_, Clock::now());
  Message answer{number, static_cast<std::int64_t>(named.size()),
                 std::chrono::duration_cast<std::chrono::milliseconds>(silence).count()};
  std::copy_n(named.begin(), std::min(named.size(), kNamesAtMost), answer.begin() + kFirstName);
  return answer;
}

std::string RollCall::name(std::int64_t rank) const {
  return fmt::format("rank {} (host {})", rank, hosts_.at(static_cast<std::size_t>(rank)));
}

}  // namespace muffle::comm
