// CSV of a table, through open_shard(). Input: options, and the file (tests/fuzz/make_format_seeds.py writes
// seeds). What is read is written and read again.
#include <memory>

#include "fuzz.hpp"
#include "muffle/core/error.hpp"
#include "muffle/data/format.hpp"
#include "muffle/schema/table_text.hpp"
#include "read_shard.hpp"
#include "support/temporary_folder.hpp"

using namespace muffle;

namespace {

/// Every type of column, some missing, one ignored, a label and a person.
std::shared_ptr<const schema::Table> mixed_table(bool notations) {
  using enum schema::ColumnType;
  schema::Table table;
  const auto add = [&](const char* name, schema::ColumnType type) -> schema::Column& {
    table.columns.emplace_back();
    table.columns.back().name = name;
    table.columns.back().type = type;
    return table.columns.back();
  };
  const auto number = [&](const char* name, schema::ColumnType type, double lo, double hi, double step,
                          int decimals) -> schema::Column& {
    schema::Column& c = add(name, type);
    c.lo = lo;
    c.hi = hi;
    c.step = step;
    c.decimals = decimals;
    c.edges = {lo, (lo + hi) / 2, hi + step / 2};
    return c;
  };
  number("i", kInteger, -5, 100, 1, 0).missing = true;
  if (notations) table.columns.back().notation.top_code = "100+";
  table.columns.back().spellings = {"?", "", "NA"};
  if (schema::Notation& n = number("d", kDecimal, 0, 2.5, 0.01, 2).notation; notations) {
    n.decimal_mark = ",";
    n.thousands_mark = ".";
    n.suffix = " %";
    n.negative = "(1)";
  }
  add("c", kCategory).values = {{"a", {"A"}}, {"b,\"", {}}, {"c\nd", {}}};
  table.columns.back().missing = true;
  table.columns.back().spellings = {"-"};
  add("o", kOrdinal).values = {{"low", {}}, {"high", {}}};
  add("n", kIgnore);
  if (schema::Notation& n = number("t", kDate, 0, 20000, 50, 0).notation; notations) n.format = "%-d.%-m.%y";
  if (schema::Notation& n = number("s", kDatetime, 0, 86400, 144, 0).notation; notations)
    n.format = "%d-%b-%Y %I:%M:%S %p";
  add("y", kCategory).values = {{"0", {}}, {"1", {}}};
  table.columns.back().role = schema::ColumnRole::kLabel;
  add("p", kCategory).role = schema::ColumnRole::kPerson;
  return std::make_shared<const schema::Table>(table);
}

void write_and_read_again(const data::DataSpec& spec, const data::Batch& read) {
  static const test::TemporaryFolder folder;
  schema::Records records;
  records.shape = spec.schema.shape;
  records.floats = read.x;
  for (const std::int32_t y : read.y) records.labels.push_back(static_cast<std::uint8_t>(y < 0 ? 0 : y));
  const auto files = data::find_format("csv").writers(folder.path(), "again",
                                                      {records.shape, true, read.n, spec.schema.table});
  files.front().writer->add(records);
  files.front().writer->finish([] {});
  data::DataSpec again = data::written_records(folder / "again.csv");
  again.schema = spec.schema;
  again.schema.on_error = schema::OnError::kRejectFile;
  data::Batch back;
  data::open_shard(again, 0, 1)->next(read.n, back);
  fuzz::demand(back.n == read.n, "as many records come back");
  const std::vector<std::size_t> codes = spec.schema.table->codes();
  for (std::size_t i = 0; i < read.x.size(); ++i) {
    const std::size_t k = codes[i % codes.size()];
    fuzz::demand(schema::cell_at(back.x[i], k).code == schema::cell_at(read.x[i], k).code, "codes come back");
  }
  for (std::size_t i = 0; i < read.n; ++i)
    fuzz::demand(back.y[i] == static_cast<std::int32_t>(records.labels[i]), "labels come back");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const auto plain = mixed_table(false), notations = mixed_table(true);
  fuzz::Input input(data, size);
  const std::uint8_t options = input.byte();
  const auto& table = ((options >> 1) & 3) == 1 ? notations : plain;  // with semicolons
  const fuzz::MemoryFile file(input.rest());
  data::DataSpec spec;
  spec.format = "csv";
  spec.features = file.path();
  spec.header = (options & 1) != 0;
  spec.separator = ",;\t|"[(options >> 1) & 3];
  if ((options & 8) != 0) spec.comment = "#";
  if ((options & 14) == 14) spec.separator = data::kBlankSeparator;
  spec.schema.shape = {table->features().size()};
  spec.schema.classes = 2;
  spec.schema.lo = 0;
  spec.schema.hi = 1;
  spec.schema.table = table;
  if ((options & 16) != 0) spec.schema.on_error = schema::OnError::kRejectFile;
  spec.shards = (options & 32) != 0 ? data::ShardRule::kRoundRobin : data::ShardRule::kContiguous;
  if ((options & 64) != 0) {
    spec.records_per_person = 1;
    spec.person_key = data::new_person_key();
  }
  if ((options & 128) != 0) {
    spec.encoding = "utf-16le";
    spec.skip = 1;
  }
  try {
    for (int rank = 0; rank < 2; ++rank) fuzz::read_shard(spec, rank, 2);
    data::Batch all;
    data::open_shard(spec, 0, 1)->next(100, all);
    if (all.n > 0) write_and_read_again(spec, all);
  } catch (const DataError& error) {
    fuzz::demand(error.local_detail().size() < 2000 + 16 * size, "no message without end");
  }
  return 0;
}
