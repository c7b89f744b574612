#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "muffle/app/config.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"

// Shipped configurations, what changes to them are refused for, and configurations written on the way.
namespace muffle::app::testing_config {

inline std::string shipped(const std::string& name) { return std::string(MUFFLE_CONFIGS) + "/" + name; }
inline const std::string kMain = shipped("fashion-mnist.toml");

/// The files that are shipped, as they are started: from the project's folder, to which their paths are
/// relative.
class ShippedConfigs {
 public:
  ShippedConfigs() : before_(std::filesystem::current_path()) {
    std::filesystem::current_path(std::filesystem::path(MUFFLE_CONFIGS).parent_path());
    for (const auto& entry : std::filesystem::directory_iterator(MUFFLE_CONFIGS)) {
      if (entry.is_regular_file()) files.push_back(entry.path().string());
    }
  }
  ~ShippedConfigs() { std::filesystem::current_path(before_); }
  ShippedConfigs& operator=(ShippedConfigs&&) = delete;

  std::vector<std::string> files;

 private:
  std::filesystem::path before_;
};

/// What load_config() says against it; empty where it says nothing.
inline std::string problem_with(const ConfigSources& sources, Stages stages = Stages::all()) {
  try {
    load_config(sources, stages);
  } catch (const ConfigError& e) {
    EXPECT_EQ(e.code(), ExitCode::kConfig);
    return e.what();
  }
  return {};
}

inline std::string problem_with_setting(const std::string& assignment) {
  return problem_with({kMain, {}, {assignment}, {}});
}

class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& text)
      : path_(std::filesystem::temp_directory_path() /
              ("muffle-config-" + std::to_string(::getpid()) + ".toml")) {
    write_file_atomically(path_, text);
  }
  ~TemporaryFile() { std::filesystem::remove(path_); }
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

}  // namespace muffle::app::testing_config
