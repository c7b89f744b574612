#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "muffle/data/source.hpp"

namespace muffle::data {

/// The names in data.features. @throws DataError  one is empty.
std::vector<std::string> split_at_commas(const std::string& list);

/// A rank's shard of records in CIFAR-10's binary format: files that one after the other hold records of a
/// label byte and then a byte for each number, channel by channel, row by row. Nothing in them says what they
/// are: the schema does. @throws DataError, IoError as open_shard().
std::unique_ptr<RecordSource> open_cifar(const DataSpec& spec, std::uint64_t rank, std::uint64_t ranks);

}  // namespace muffle::data
