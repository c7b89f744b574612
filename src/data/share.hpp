#pragma once

#include <cstdint>
#include <string>

#include "muffle/core/error.hpp"
#include "muffle/data/source.hpp"

namespace muffle::data {

/// Which records of a file are a rank's own: first, first + stride, ... (count of them).
struct Share {
  std::uint64_t first = 0;
  std::uint64_t count = 0;
  std::uint64_t stride = 1;
};
Share share_of(ShardRule rule, std::uint64_t records, std::uint64_t rank, std::uint64_t ranks);

/// A record that its schema does not allow. One text whatever is wrong: which record it is, and whether a
/// number or the label is bad, is private. @param files  "'FILE'", or "'RECORDS' and 'LABELS'".
/// @param what  goes to the rank's own log: "'FILE' has ..."
DataError misfit(const schema::Schema& schema, const std::string& files, std::uint64_t record,
                 const std::string& what);

}  // namespace muffle::data
