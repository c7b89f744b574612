#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace muffle::evaluate {

/// How far a release's noise alone moves what is known of a table's columns, on average, by their names. The
/// best that samples can be expected to come near, but for what a model guesses. Public.
struct NoiseAlone {
  std::map<std::string, double> columns;  ///< total variation, in the groups that were counted
  std::map<std::string, double> numbers;  ///< of learned bins: Kolmogorov and Smirnov's distance
  /// Total variation, in the groups that were counted; the earlier column first, the label last.
  std::map<std::pair<std::string, std::string>, double> pairs;
};

/// None: there is no such file, or it holds no counts of a table's columns (or only as another muffle counted
/// them). @throws IoError, ProtocolError  it is no release.
std::optional<NoiseAlone> noise_alone(const std::filesystem::path& release);

}  // namespace muffle::evaluate
