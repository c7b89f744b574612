#include "comm/peer_watch.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <thread>

namespace muffle::comm {
namespace {

/// A process that sleeps until it is killed, and how it would introduce itself.
class Sleeper {
 public:
  Sleeper() : pid_(::fork()) {
    if (pid_ != 0) return;
    for (;;) ::pause();
  }
  ~Sleeper() { end(); }
  Sleeper(const Sleeper&) = delete;
  Sleeper& operator=(const Sleeper&) = delete;

  std::string introduction() const {
    const std::string mine = PeerWatch::introduction();
    return std::to_string(pid_) + mine.substr(mine.find(' '));
  }
  void kill() const { ::kill(pid_, SIGKILL); }
  void stop() const { ::kill(pid_, SIGSTOP); }
  void end() {
    if (pid_ <= 0) return;
    kill();
    ::waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }

 private:
  pid_t pid_;
};

bool ends_soon(PeerWatch& watch, int rank) {
  for (int i = 0; i < 1000 && !watch.has_ended(rank); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  return watch.has_ended(rank);
}

TEST(PeerWatch, SeesWhichRankEnded) {
  Sleeper one, two;
  PeerWatch watch({PeerWatch::introduction(), one.introduction(), two.introduction()}, 0);
  EXPECT_FALSE(watch.any_has_ended());
  two.kill();
  EXPECT_TRUE(ends_soon(watch, 2)) << "though nobody has waited for it";
  EXPECT_TRUE(watch.any_has_ended());
  EXPECT_FALSE(watch.has_ended(1));
  one.end();
  EXPECT_TRUE(ends_soon(watch, 1));
  EXPECT_FALSE(watch.has_ended(0)) << "this process itself";
}

TEST(PeerWatch, AStoppedRankHasNotEnded) {
  Sleeper sleeper;
  PeerWatch watch({PeerWatch::introduction(), sleeper.introduction()}, 0);
  sleeper.stop();
  std::this_thread::sleep_for(std::chrono::milliseconds(60));
  EXPECT_FALSE(watch.any_has_ended());
}

TEST(PeerWatch, RanksElsewhereAreNotMistakenForProcessesHere) {
  Sleeper sleeper;
  const std::string number = sleeper.introduction().substr(0, sleeper.introduction().find(' '));
  PeerWatch watch({PeerWatch::introduction(), number + " another-boot/4026531836", number, "", "x y"}, 0);
  sleeper.end();
  std::this_thread::sleep_for(std::chrono::milliseconds(60));
  EXPECT_FALSE(watch.any_has_ended());
}

}  // namespace
}  // namespace muffle::comm
