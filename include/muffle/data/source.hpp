#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "muffle/data/batch.hpp"
#include "muffle/schema/schema.hpp"

namespace muffle::data {

/// How the public rule deals records to ranks.
enum class ShardRule {
  kContiguous,  ///< rank r of K holds records floor(r m / K) .. floor((r+1) m / K) - 1
  kRoundRobin,  ///< record i belongs to rank i mod K
  kPerRank,     ///< each rank has files of its own; "{rank}" in the path is replaced by the rank's number
};

enum class Format {
  kIdx,    ///< plain or .gz: uint8 or float32 records, uint8 labels in a file of their own
  kCifar,  ///< CIFAR-10's binary version, of any shape: records of a label byte and a uint8 per number
};

/// The files of one data set.
struct DataSpec {
  Format format = Format::kIdx;
  std::string dir;       ///< joined in front of relative paths
  std::string features;  ///< records x shape; CIFAR: one file or several, separated by commas, in their order
  std::string labels;  ///< empty: unlabelled; CIFAR: always empty (with one class the label byte is ignored)
  std::uint64_t records = 0;  ///< m, public: over all ranks
  schema::Schema schema;
  ShardRule shards = ShardRule::kContiguous;
};

/// A rank's shard, streamed: memory is one batch, whatever the shard's size.
class RecordSource {
 public:
  virtual ~RecordSource() = default;
  /// Records in this rank's shard, by the files' headers and the public rule.
  virtual std::uint64_t shard_size() const = 0;
  /// Records in the file(s) this rank opened (equals the shard's size under kPerRank).
  virtual std::uint64_t file_records() const = 0;
  /// Replaces `batch` with the next up to `max_records` records; batch.n == 0 at the end of the shard.
  /// @throws DataError  truncated file, trailing data, value or label outside the schema under kRejectFile.
  ///                    The message names the file; the record's number is a local detail; nothing holds the
  ///                    content.
  virtual void next(std::size_t max_records, Batch& batch) = 0;
  /// From now on next() hands out stored bytes in place of float32, where the file holds bytes: a quarter of
  /// the traffic to a GPU, which scales them itself. Checks and errors stay the same. Before the first
  /// next().
  virtual void hand_out_bytes() {}
};

/// Opens this rank's shard: checks magic, element type, shape and record counts of both files against the
/// schema before any record is read. Purely local; the ranks agree on the result afterwards (comm::agree).
/// @throws DataError, IoError.
std::unique_ptr<RecordSource> open_shard(const DataSpec& spec, int rank, int ranks);

/// The path this rank reads: dir joined, "{rank}" replaced.
std::string resolve_path(const DataSpec& spec, const std::string& file, int rank);

/// All the files that this rank reads.
std::vector<std::string> paths_of(const DataSpec& spec, int rank);

/// Does the path of `file` have "{rank}" in it, by itself or through dir?
bool names_rank(const DataSpec& spec, const std::string& file);

}  // namespace muffle::data
