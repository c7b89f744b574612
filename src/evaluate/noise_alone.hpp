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
  /// Of learned bins, on the numbers' own values.
  struct Number {
    double ks = 0.0;           ///< Kolmogorov and Smirnov's distance
    double wasserstein = 0.0;  ///< over the bounds
    double tvd = 0.0;          ///< total variation, in kMostGroups groups of about equally many records
  };
  std::map<std::string, Number> numbers;
  /// Total variation, in the groups that were counted; the earlier column first, the label last.
  std::map<std::pair<std::string, std::string>, double> pairs;
};

/// None: there is no such file, or it holds no counts of a table's columns (or only as another muffle counted
/// them). @throws IoError, ProtocolError  it is no release.
std::optional<NoiseAlone> noise_alone(const std::filesystem::path& release);

}  // namespace muffle::evaluate
