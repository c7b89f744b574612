#pragma once

#include "html.hpp"
#include "public_material.hpp"
#include "results.hpp"

// A section of the report, in a file of its own. What is public is written from public material alone: the
// functions that are given real rows are others. The table of them: report.cpp.
namespace muffle::report {

/// Real rows, in memory, and what was computed from them. PRIVATE.
struct PrivateMaterial {
  Rows real;
  std::optional<Rows> held_out;
  nlohmann::json metrics;                       ///< of these samples; null: none
  bool metrics_are_others = false;              ///< there are scores, of other samples
  std::optional<TableScores> scores;            ///< of a table
  std::optional<Disclosure> disclosure;         ///< none: nothing is held out
  std::vector<double> people, held_out_people;  ///< real_people(); empty: rows of a person are not released
};

void public_summary(const PublicMaterial& m, Page& page);
void public_settings(const PublicMaterial& m, Page& page);
void public_columns(const PublicMaterial& m, Page& page);
void public_pairs(const PublicMaterial& m, Page& page);
void public_images(const PublicMaterial& m, Page& page);
void public_use(const PublicMaterial& m, Page& page);

/// All that can be promised of a synthetic record.
std::string drawn_not_copied(const release::Artifact& a);

void private_summary(const PublicMaterial& m, const PrivateMaterial& real, Page& page);
void private_columns(const PublicMaterial& m, const PrivateMaterial& real, Page& page);
void private_pairs(const PublicMaterial& m, const PrivateMaterial& real, Page& page);
void private_images(const PublicMaterial& m, const PrivateMaterial& real, Page& page);
void private_scores(const PublicMaterial& m, const PrivateMaterial& real, Page& page);
void private_disclosure(const PublicMaterial& m, const PrivateMaterial& real, Page& page);

/// Whether held-out rows cannot be what chance alone gives: an attack takes them for members, or most of them
/// are the release's own.
bool not_comparable(const Disclosure& d);

/// Of a table's columns: half the sum of differences, of each; of learned bins the farthest difference of the
/// distribution functions.
struct ColumnDistance {
  std::size_t column = 0;
  double distance = 0.0;  ///< samples from what the release says
  double by_noise = 0.0;  ///< what the release's noise alone makes of it, on average
  std::optional<double> known_to =
      {};  ///< of learned bins: what the function is known to, in 95 of 100 releases
};
/// By the release's own numbers. Empty without them.
std::vector<ColumnDistance> released_distances(const PublicMaterial& m);
/// Says what they mean, in words: adds to what a summary calls good and bad.
void quality_by_noise(const PublicMaterial& m, std::vector<std::string>& good, std::vector<std::string>& bad);

}  // namespace muffle::report
