// What the program without LibTorch has in place of the verbs that need it: the way to the one that has them.
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>
#include <string_view>

#include "command_line.hpp"
#include "muffle/app/commands.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/process.hpp"
#include "muffle/train/trainer.hpp"
#include "program.hpp"

namespace muffle::app {
namespace {

constexpr std::array<std::string_view, 6> kVerbsOfTorch{"run",      "train",  "sample",
                                                        "evaluate", "export", "doctor"};
constexpr std::array<std::string_view, 2> kVerbsOfMaps{"release", "audit"};

template <std::size_t N>
bool has(const std::array<std::string_view, N>& verbs, std::string_view verb) {
  return std::find(verbs.begin(), verbs.end(), verb) != verbs.end();
}

/// Whether the records are summed by a map that needs LibTorch.
bool has_map_of_torch(int argc, char** argv) {
  try {
    CommandLine line;
    line.parse(argc, argv);
    return may_need_torch(line.sources);
  } catch (const Error&) {  // dispatch() says so
    return false;
  }
}

/// Whether it is a site's step, and the site has networks for rounds that ask for one.
bool is_step_with_networks(int argc, char** argv) {
  try {
    CommandLine line;
    line.parse(argc, argv);
    return line.party.is_site_step() && !load_party(line.party.folder, true).config.party->networks.empty();
  } catch (const Error&) {  // dispatch() says so
    return false;
  }
}

[[noreturn]] void no_training() {
  throw InvariantError(
      "this program has no LibTorch, and a verb that needs it was not passed on: this is a bug in muffle.");
}

}  // namespace

void become_needed_program(int argc, char** argv) {
  // No option stands before the verb that has a value of its own.
  const auto verb = std::find_if(argv + std::min(argc, 1), argv + argc,
                                 [](std::string_view word) { return !word.starts_with('-'); });
  if (verb == argv + argc) return;
  const bool needed = has(kVerbsOfTorch, *verb) ||
                      (has(kVerbsOfMaps, *verb) && has_map_of_torch(argc, argv)) ||
                      (*verb == std::string_view("site") && is_step_with_networks(argc, argv));
  if (!needed) return;
  std::error_code none;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", none);
  const std::filesystem::path whole = self.parent_path().parent_path() / "libexec/muffle/muffle-torch";
  help_blas();
  ::execv(whole.c_str(), argv);
  throw IoError("'" + whole.string() +
                "', the part of muffle that needs LibTorch, can't be started: " + std::strerror(errno) +
                ". Install both: cmake --install puts them where they look for each other.");
}

void train(Context&, const std::filesystem::path&) { no_training(); }
void sample(Context&, const std::filesystem::path&) { no_training(); }
void evaluate(Context&, const std::filesystem::path&, const std::filesystem::path&) { no_training(); }
void require_held_out(Context&) { no_training(); }
void export_command(const ExportCommand&, std::ostream&) { no_training(); }

}  // namespace muffle::app

namespace muffle::train {

int torch_gpus() noexcept { return 0; }
std::string why_no_torch_gpus() { return "this program has no LibTorch"; }

}  // namespace muffle::train
