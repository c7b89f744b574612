#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "muffle/core/heartbeat.hpp"
#include "muffle/schema/schema.hpp"

namespace muffle::data {

/// How the public rule deals records to ranks.
enum class ShardRule {
  kContiguous,  ///< rank r of K holds records floor(r m / K) .. floor((r+1) m / K) - 1
  kRoundRobin,  ///< record i belongs to rank i mod K
  kPerRank,     ///< each rank has files of its own; "{rank}" in the path is replaced by the rank's number
};

/// How a picture of another size becomes one of the schema's shape. Public, and of each record by itself.
enum class Resize {
  kNone,     ///< not at all: it is an error
  kStretch,  ///< mean over the area that each new pixel covers
  kCrop,     ///< the same of the largest part in its middle that has the shape's proportions
};

/// As a separator: one or more blanks or tabs.
inline constexpr char kBlankSeparator = ' ';

/// The files of one data set.
struct DataSpec {
  std::string format = "idx";  ///< a kind of format_kinds.inc
  std::string dir;             ///< joined in front of relative paths
  std::string features;        ///< the records; some formats take several files, separated by commas
  std::string labels;          ///< empty: none, or where the format has them beside the records
  std::uint64_t records = 0;   ///< m, public: over all ranks; 0: not public, or not known
  schema::Schema schema;
  ShardRule shards = ShardRule::kContiguous;

  // Arrays:
  std::vector<std::string> arrays = {"x", "y"};  ///< of an .npz: the records, and their labels
  bool channels_last = false;                    ///< images are height x width x channels in their file

  // Pictures:
  Resize resize = Resize::kNone;

  // Text files:
  char separator = ',';     ///< between fields
  bool header = true;       ///< the first line names the columns
  bool as_written = false;  ///< without a header: the columns are those that samples have, not all
  /// Lines before the header that begin with this character are passed over; empty: none are.
  std::string comment = {};
  std::uint64_t skip = 0;          ///< lines at a file's beginning that are none of the table's
  std::string encoding = "utf-8";  ///< a name that iconv knows
  /// q: of each person of a table's person column q records count, by what they hold and a secret key, and
  /// the others contribute zero; 0: nobody is counted, and the column need not be there. Counted over the
  /// files of a rank (kPerRank), or over the shared ones, which each rank then goes over to their end.
  std::uint64_t records_per_person = 0;
  /// new_person_key(), the same on all ranks that share files. Empty: one is drawn where only one rank reads
  /// them. Secret: never logged or written.
  std::string person_key = {};
  /// Called as the files are gone over before open_shard() returns (rows are counted, people bounded); what
  /// it throws ends that.
  Heartbeat heartbeat = {};
};

/// A tile of records, ready for feature maps. Private.
struct Batch {
  std::vector<float> x;  ///< n x dims, row-major, scaled to [0, 1]; empty where `bytes` has the records
  std::vector<std::int32_t> y;  ///< n labels in 0..C-1; schema::kNoClass: the record contributes zero
  std::size_t n = 0;
  std::vector<std::uint8_t> bytes;  ///< n x dims as stored, where RecordSource::hand_out_bytes() asked for it
  const schema::ByteScale* scale = nullptr;  ///< of `bytes`, the source's; null: the records are in x

  bool as_bytes() const { return scale != nullptr; }
};

/// Where a shard's records stand among all of a data set: first, first + stride, ... By the public rule
/// alone, so that a record that takes another's place has it, whatever it holds.
struct Places {
  std::uint64_t first = 0;
  std::uint64_t stride = 1;
};

/// A rank's shard, streamed: memory is one batch, whatever the shard's size.
class RecordSource {
 public:
  virtual ~RecordSource() = default;
  /// Records in this rank's shard, by the files' headers and the public rule.
  virtual std::uint64_t shard_size() const = 0;
  /// Replaces `batch` with the next up to `max_records` records; batch.n == 0 at the end of the shard.
  /// @throws DataError  truncated file, trailing data, value or label outside the schema under kRejectFile.
  ///                    The message names the file; the record's number is a local detail; no content.
  virtual void next(std::size_t max_records, Batch& batch) = 0;
  /// From now on next() hands out stored bytes in place of float32, where the file holds bytes: a quarter of
  /// the traffic to a GPU, which scales them itself. Checks and errors stay the same. Before any next().
  virtual void hand_out_bytes() {}
  /// None: what others hold decides where a record stands (pictures, in the order of their names and classes'
  /// folders), or each rank counts its own files.
  virtual std::optional<Places> places() const { return std::nullopt; }
};

/// Opens this rank's shard: checks what the files say of themselves (type, shape, numbers of records) against
/// the schema before any record is read. Local; the ranks agree on the result afterwards (comm::agree).
/// @throws DataError, IoError;  ConfigError: no such format.
std::unique_ptr<RecordSource> open_shard(const DataSpec& spec, int rank, int ranks);

/// A random secret for DataSpec::person_key, from the operating system.
std::string new_person_key();

/// Whether the same records are in both: the same file under whatever name, or a copy of it, byte by byte; of
/// an archive the same array, of pictures any. Of all ranks' files those that can be read here are looked at.
/// Privacy: the answer is for a refusal; nothing else of the files comes out.
bool share_records(const DataSpec& one, const DataSpec& other, int ranks);

/// The path this rank reads: dir joined, "{rank}" replaced.
std::string resolve_path(const DataSpec& spec, const std::string& file, int rank);

/// Does the path of `file` have "{rank}" in it, by itself or through dir?
bool names_rank(const DataSpec& spec, const std::string& file);

}  // namespace muffle::data
