#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "muffle/data/source.hpp"

namespace muffle::data {

/// Goes over the records that spec names, of one rank: of each number of records, 1, 2, .. most, how many
/// people have it. Who has more counts as having `most`, which are all that a release counts. Records of
/// nobody, and those without a label, are passed over. Memory: the people's names.
/// @param spec  its table has a person
/// Privacy: of real records what comes out is private.
/// @throws as open_records() and RecordStream::read(): DataError  the files lack the person's column.
std::vector<std::uint64_t> people_by_records(DataSpec spec, std::size_t most);

/// Each one's share of all of them; all 0 where there are none.
std::vector<double> shares_of_people(const std::vector<std::uint64_t>& people);

}  // namespace muffle::data
