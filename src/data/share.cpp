#include "share.hpp"

namespace muffle::data {

Share share_of(ShardRule rule, std::uint64_t records, std::uint64_t rank, std::uint64_t ranks) {
  switch (rule) {
    case ShardRule::kPerRank:
      return {0, records, 1};
    case ShardRule::kRoundRobin:
      return {rank, records / ranks + (rank < records % ranks ? 1 : 0), ranks};
    case ShardRule::kContiguous:
      break;
  }
  const auto cut = [&](std::uint64_t r) {
    return static_cast<std::uint64_t>(static_cast<unsigned __int128>(r) * records / ranks);
  };
  return {cut(rank), cut(rank + 1) - cut(rank), 1};
}

DataError misfit(const schema::Schema& schema, const std::string& files, std::uint64_t record,
                 const std::string& what) {
  return DataError(
      "a record of " + files + " does not fit the public schema: it has a number that is not " +
          "finite or lies outside [data.lo, data.hi], or a label outside 0.." +
          std::to_string(schema.classes - 1) +
          " (data.classes), and data.on_error = \"reject-file\" refuses the job for it. Mend the record, " +
          "correct the schema, or set data.on_error = \"clamp\".",
      LocalDetail{"record " + std::to_string(record) + " (counting from 0) of " + what});
}

}  // namespace muffle::data
