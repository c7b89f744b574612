#include "comm/host_comm_cases.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <set>

#include "muffle/core/philox.hpp"

namespace muffle::test {
namespace {

using comm::HostComm;

// Zero, one, odd, and several times the 64-byte messages that the MPI test also runs with.
constexpr std::size_t kLengths[] = {0, 1, 7, 64, 1000, 4099};

std::uint64_t value(int rank, std::size_t i) {
  return CounterStream(static_cast<std::uint64_t>(rank) + 1, Stream::kTest).bits(i);
}

// A failed check never skips a collective: the other ranks would wait for this one until the deadline.

/// An integer small enough that sums over ranks are exact in float.
int small_value(int rank, std::size_t i) { return static_cast<int>(value(rank, i) % 4001) - 2000; }

std::string text_of(int rank, std::size_t length) {
  std::string text(length, '\0');
  for (std::size_t i = 0; i < length; ++i) text[i] = static_cast<char>(value(rank, i));
  return text;
}

void knows_its_place(HostComm& comm) {
  ASSERT_GE(comm.rank(), 0);
  ASSERT_LT(comm.rank(), comm.size());
  EXPECT_EQ(comm.is_root(), comm.rank() == 0);
  EXPECT_FALSE(comm.host().empty());
  EXPECT_EQ(comm.local_size(), comm.size());  // these tests run on one machine
  const auto places = comm.all_gather(std::to_string(comm.local_rank()));
  EXPECT_EQ(std::set<std::string>(places.begin(), places.end()).size(),
            static_cast<std::size_t>(comm.size()));
}

void barrier_waits_for_everybody(HostComm& comm) {
  const auto folder = std::filesystem::temp_directory_path().string();
  const auto stem = comm::broadcast_text(comm, folder + "/muffle-barrier-" + std::to_string(getpid()));
  const auto mine = stem + "." + std::to_string(comm.rank());
  std::ofstream(mine) << "here\n";
  comm.barrier();
  for (int r = 0; r < comm.size(); ++r)
    EXPECT_TRUE(std::filesystem::exists(stem + "." + std::to_string(r))) << r;
  comm.barrier();
  std::filesystem::remove(mine);
}

void broadcast_from_every_root(HostComm& comm) {
  for (int root = 0; root < comm.size(); ++root) {
    for (const std::size_t length : kLengths) {
      std::string bytes = comm.rank() == root ? text_of(root, length) : std::string(length, 'x');
      comm.broadcast(std::as_writable_bytes(std::span(bytes.data(), bytes.size())), root);
      EXPECT_EQ(bytes, text_of(root, length)) << "root " << root << ", length " << length;
    }
  }
}

/// Of numbers of all 64 bits, so that sums wrap.
void reduce_sum_on_every_root(HostComm& comm) {
  for (int root = 0; root < comm.size(); ++root) {
    for (const std::size_t length : kLengths) {
      std::vector<std::uint64_t> in(length);
      for (std::size_t i = 0; i < length; ++i) in[i] = value(comm.rank(), i);
      const auto before = in;
      std::vector<std::uint64_t> out(length, 5), expected(length, comm.rank() == root ? 0 : 5);
      comm.reduce_sum(in, out, root);
      EXPECT_EQ(in, before);
      for (std::size_t i = 0; i < length; ++i) {
        for (int r = 0; r < comm.size() && comm.rank() == root; ++r) expected[i] += value(r, i);
      }
      EXPECT_EQ(out, expected) << "root " << root << ", length " << length;
    }
  }
}

template <typename T>
void all_reduce_sum_is_exact_on_exact_inputs(HostComm& comm) {
  const T unit = T(1) / 1024;
  for (const std::size_t length : kLengths) {
    std::vector<T> values(length);
    for (std::size_t i = 0; i < length; ++i) values[i] = unit * static_cast<T>(small_value(comm.rank(), i));
    comm.all_reduce_sum(std::span<T>(values));
    std::vector<T> expected(length);
    for (std::size_t i = 0; i < length; ++i) {
      int sum = 0;
      for (int r = 0; r < comm.size(); ++r) sum += small_value(r, i);
      expected[i] = unit * static_cast<T>(sum);
    }
    EXPECT_EQ(values, expected) << "length " << length;
  }
}

/// Data-parallel training needs it: ranks that add in different orders would drift apart.
template <typename T>
void all_reduce_sum_gives_every_rank_the_same_bits(HostComm& comm) {
  for (const std::size_t length : kLengths) {
    const CounterStream numbers(static_cast<std::uint64_t>(comm.rank()) + 100, Stream::kTest);
    std::vector<T> values(length);
    for (std::size_t i = 0; i < length; ++i) values[i] = static_cast<T>(numbers.normal(i));
    comm.all_reduce_sum(std::span<T>(values));
    std::string bytes(length * sizeof(T), '\0');
    if (length > 0) std::memcpy(bytes.data(), values.data(), bytes.size());
    for (const auto& other : comm.all_gather(bytes)) EXPECT_TRUE(other == bytes) << "length " << length;
  }
}

void all_reduce_max_of_signed_numbers(HostComm& comm) {
  for (const std::size_t length : kLengths) {
    std::vector<std::int64_t> values(length);
    for (std::size_t i = 0; i < length; ++i) values[i] = static_cast<std::int64_t>(value(comm.rank(), i));
    comm.all_reduce_max(values);
    std::vector<std::int64_t> expected(length, std::numeric_limits<std::int64_t>::min());
    for (std::size_t i = 0; i < length; ++i) {
      for (int r = 0; r < comm.size(); ++r) {
        expected[i] = std::max(expected[i], static_cast<std::int64_t>(value(r, i)));
      }
    }
    EXPECT_EQ(values, expected) << "length " << length;
  }
}

constexpr int kLengthShapes = 5;

/// Nobody has anything; equal; growing, the first empty; shrinking, the last empty; one rank only.
std::size_t gathered_length(int shape, int rank, int ranks) {
  const int last = ranks - 1;
  const std::array<int, kLengthShapes> lengths{0, 33, rank * 301, (last - rank) * 77,
                                               rank == last ? 5001 : 0};
  return static_cast<std::size_t>(lengths.at(static_cast<std::size_t>(shape)));
}

void expect_all_texts(const std::vector<std::string>& all, int shape, int ranks) {
  EXPECT_EQ(all.size(), static_cast<std::size_t>(ranks));
  for (std::size_t r = 0; r < all.size(); ++r) {
    const int rank = static_cast<int>(r);
    EXPECT_TRUE(all[r] == text_of(rank, gathered_length(shape, rank, ranks)))
        << "shape " << shape << ", " << r;
  }
}

void all_gather_of_equal_different_and_no_lengths(HostComm& comm) {
  for (int shape = 0; shape < kLengthShapes; ++shape) {
    const std::size_t length = gathered_length(shape, comm.rank(), comm.size());
    expect_all_texts(comm.all_gather(text_of(comm.rank(), length)), shape, comm.size());
  }
}

void gather_on_every_root(HostComm& comm) {
  for (int root = 0; root < comm.size(); ++root) {
    for (int shape = 0; shape < kLengthShapes; ++shape) {
      const std::size_t length = gathered_length(shape, comm.rank(), comm.size());
      const auto all = comm.gather(text_of(comm.rank(), length), root);
      if (comm.rank() == root) {
        expect_all_texts(all, shape, comm.size());
      } else {
        EXPECT_TRUE(all.empty()) << "root " << root;
      }
    }
  }
}

void broadcast_text_of_every_root(HostComm& comm) {
  for (int root = 0; root < comm.size(); ++root) {
    for (const std::size_t length : kLengths) {
      const auto mine = comm.rank() == root ? text_of(root, length) : "ignored";
      EXPECT_EQ(comm::broadcast_text(comm, mine, root), text_of(root, length)) << "root " << root;
    }
  }
}

void a_root_that_does_not_exist_is_refused(HostComm& comm) {
  std::vector<std::uint64_t> in(1), out(1);
  EXPECT_THROW(comm.broadcast({}, comm.size()), InvariantError);
  EXPECT_THROW(comm.reduce_sum(in, out, -1), InvariantError);
  EXPECT_THROW(comm.gather("mine", comm.size()), InvariantError);
  comm.barrier();  // refused before anything was sent: the communicator lives
}

void time_in_collectives_grows(HostComm& comm) {
  const double before = comm.seconds_in_collectives();
  comm.barrier();
  if (comm.size() > 1) {
    EXPECT_GT(comm.seconds_in_collectives(), before);
  } else {
    EXPECT_GE(comm.seconds_in_collectives(), before);
  }
}

}  // namespace

const std::vector<HostCommCase>& host_comm_cases() {
#define MUFFLE_CASE(body) \
  { #body, body }
  static const std::vector<HostCommCase> own{
      MUFFLE_CASE(knows_its_place),
      MUFFLE_CASE(barrier_waits_for_everybody),
      MUFFLE_CASE(broadcast_from_every_root),
      MUFFLE_CASE(reduce_sum_on_every_root),
      {"all_reduce_sum_float_is_exact", all_reduce_sum_is_exact_on_exact_inputs<float>},
      {"all_reduce_sum_double_is_exact", all_reduce_sum_is_exact_on_exact_inputs<double>},
      {"all_reduce_sum_float_same_bits", all_reduce_sum_gives_every_rank_the_same_bits<float>},
      {"all_reduce_sum_double_same_bits", all_reduce_sum_gives_every_rank_the_same_bits<double>},
      MUFFLE_CASE(all_reduce_max_of_signed_numbers),
      MUFFLE_CASE(all_gather_of_equal_different_and_no_lengths),
      MUFFLE_CASE(gather_on_every_root),
      MUFFLE_CASE(broadcast_text_of_every_root),
      MUFFLE_CASE(a_root_that_does_not_exist_is_refused),
      MUFFLE_CASE(time_in_collectives_grows),
  };
#undef MUFFLE_CASE
  static const std::vector<HostCommCase> cases = [] {
    std::vector<HostCommCase> all = own;
    for (const auto* more : {&agreement_cases(), &detachment_cases()})
      all.insert(all.end(), more->begin(), more->end());
    return all;
  }();
  return cases;
}

}  // namespace muffle::test
