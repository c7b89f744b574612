#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "html.hpp"
#include "muffle/data/source.hpp"
#include "muffle/release/noisy_tables.hpp"

namespace muffle::report {

/// The schema without the number that says which of its person's records one is: reports show how many rows
/// people have by itself, and not as a column among others.
schema::Schema without_rows(schema::Schema schema);

/// How many rows people have, by public files.
struct PublicPeople {
  std::string column;            ///< whose they are
  std::vector<double> at_least;  ///< people with at least 1, 2, .. rows, as the release says
  double sigma = 0.0;            ///< of the noise in each
  std::vector<double> samples;   ///< shares of people with 1, 2, .. rows
};
/// None: the schema has no rows of a person.
/// @param tables  of the release, before release::without_row_number()  @param samples  null: there are none
std::optional<PublicPeople> public_people(const schema::Schema& released, const release::NoisyTables& tables,
                                          const data::DataSpec* samples);
/// Of real rows, the same shares. Private.
std::vector<double> real_people(const schema::Schema& released, data::DataSpec spec);

/// @param real, held_out  empty: not of a private report, or not there
void add_people(const PublicPeople& people, const std::vector<double>& real,
                const std::vector<double>& held_out, Page& page);

}  // namespace muffle::report
