// Every record format of the table, through open_shard(). Input: which one, options, a piece that is the
// labels' file or the first of two record files, and the records' file (tests/fuzz/make_format_seeds.py
// writes seeds).
#include <memory>

#include "fuzz.hpp"
#include "muffle/core/error.hpp"
#include "muffle/data/format.hpp"
#include "read_shard.hpp"

using namespace muffle;

namespace {

/// Columns a (a whole number) to d (categories) and, unless there is one class, the label y.
std::shared_ptr<const schema::Table> table_of_four(std::size_t classes) {
  schema::Table table;
  for (const char* name : {"a", "b", "c", "d", "y"}) {
    schema::Column column;
    column.name = name;
    column.values = {{"0", {}}, {"1", {}}, {"2", {}}};
    table.columns.push_back(column);
  }
  schema::Column& a = table.columns.front();
  a.type = schema::ColumnType::kInteger;
  a.values.clear();
  a.hi = 9;
  a.edges = {0, 5, 10};
  table.columns.back().role = schema::ColumnRole::kLabel;
  if (classes == 1) table.columns.pop_back();
  return std::make_shared<const schema::Table>(table);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  fuzz::Input input(data, size);
  const auto kinds = data::format_kinds();
  const std::uint8_t kind = input.byte(), options = input.byte();
  const fuzz::MemoryFile first(input.piece()), second(input.rest());
  data::DataSpec spec;
  spec.format = kinds[kind % kinds.size()].name;
  if (spec.format == "hdf5") return 0;  // libhdf5's to fuzz
  spec.features = (options & 64) != 0 ? first.path() + ", " + second.path() : second.path();
  if ((options & 1) != 0) spec.labels = first.path();
  spec.schema.shape = (options & 2) != 0 ? std::vector<std::size_t>{1, 2, 2} : std::vector<std::size_t>{4};
  spec.channels_last = kind >= 128 && (options & 2) != 0;
  if ((options & 4) != 0) spec.schema.on_error = schema::OnError::kClamp;
  spec.shards = (options & 8) != 0 ? data::ShardRule::kRoundRobin : data::ShardRule::kContiguous;
  spec.schema.classes = (options & 32) != 0 ? 3 : 1;
  if ((options & 128) != 0) {
    spec.schema.table = table_of_four(spec.schema.classes);
    spec.schema.shape = {4};
    spec.schema.hi = 1;
  }
  const int ranks = (options & 16) != 0 ? 2 : 1;
  for (int rank = 0; rank < ranks; ++rank) {
    try {
      fuzz::read_shard(spec, rank, ranks);
    } catch (const DataError&) {
    } catch (const IoError&) {
      if ((options & 64) == 0) throw;  // a format of one file took the two names for one
    }
  }
  return 0;
}
