#include "muffle/data/settings.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "decoded_stream.hpp"
#include "file_names.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/kinds.hpp"
#include "muffle/core/text.hpp"
#include "muffle/data/format.hpp"
#include "muffle/schema/table_toml.hpp"

namespace muffle::data {
namespace {

constexpr std::size_t kMostSide = std::size_t{1} << 24;  // of a record's shape, in a model file

std::string formats_help() {
  std::string help = "of the record files;";
  for (const FormatKind& kind : format_kinds())
    help += fmt::format(" {}: {};", kind.name, kind.format->summary());
  help.pop_back();
  return help;
}

}  // namespace

DataSpec Settings::test() const {
  DataSpec spec = *this;
  spec.features = test_features;
  spec.labels = test_labels;
  if (!test_arrays.empty()) spec.arrays = test_arrays;
  if (test_skip >= 0) spec.skip = static_cast<std::uint64_t>(test_skip);
  spec.records = 0;
  spec.shards = ShardRule::kContiguous;
  return spec;
}

void Settings::read_schema(const std::filesystem::path& folder,
                           const std::function<bool(const std::string& key)>& named) {
  if (schema_file.empty() || schema.table) return;
  schema_file = std::filesystem::absolute(folder / schema_file).lexically_normal().string();
  const schema::Schema said = schema;
  const auto is_private = [this, held_out = test()](const std::filesystem::path& file) {
    return names_file(*this, file) || names_file(held_out, file);
  };
  describe_table(schema,
                 std::make_shared<const schema::Table>(schema::read_table_toml(schema_file, is_private)));
  settings::Problems other;
  const auto same = [&](const char* key, bool equal) {
    other.unless(equal || !named(key), fmt::format("data.{} follows from the schema '{}': leave it out", key,
                                                   printable(schema_file)));
  };
  same("shape", said.shape == schema.shape);
  same("classes", said.classes == schema.classes);
  same("lo", said.lo == schema.lo);
  same("hi", said.hi == schema.hi);
  other.throw_if_any("[data]");
  if (!named("format")) format = "csv";
}

void declare(settings::Keys& keys, Settings& s) {
  using enum settings::Stage;
  constexpr settings::Range kFloat{-3e38, 3e38};
  constexpr std::int64_t kMany = std::int64_t{1} << 46;
  keys.stage(kRelease);
  keys.text("dir", s.dir,
            "folder in front of relative file names; itself relative to where muffle is started");
  keys.name("generate", s.generate, {"", "gaussian-mixture-2d"},
            "data that muffle makes itself, in OUT/data (leave data.dir empty)");
  keys.name("format", s.format, names_of(format_kinds()), formats_help());
  keys.stage(kRuntime);  // what is in the file decides, not its name
  keys.text(
      "schema", s.schema_file,
      "of tables: the file that says what is public about their columns (`muffle schema init` drafts it); a "
      "relative name is looked up beside the configuration that names it");
  keys.stage(kRelease);
  keys.text("features", s.features,
            "the files of records, by data.format; \"{rank}\" stands for the rank's number");
  for (const FormatKind& kind : format_kinds()) kind.format->declare(keys, s);
  keys.text("labels", s.labels, "labels; empty when classes = 1 or the format has them beside the records");
  keys.stage(kEvaluate);
  keys.text("test_features", s.test_features, "held-out real records, for evaluate alone");
  keys.text("test_labels", s.test_labels, "their labels");
  keys.texts("test_arrays", s.test_arrays, "[\"x_test\", \"y_test\"]",
             "names of their arrays in an .npz or HDF5 file; empty: those of data.arrays");
  keys.count("test_skip", s.test_skip, -1, 1'000'000, "data.skip of their CSV file; -1: the same");
  keys.stage(kRelease);
  keys.count("records", s.records, 0, kMany, "m, public under replace-one: records over all ranks");
  keys.count(
      "expected_records", s.expected_records, 0, kMany,
      "under add-remove-one, where m is private: a public guess of it; a wrong one costs quality alone");
  keys.choice<LabelAs>(
      "label_as", s.label_as,
      {{"auto", LabelAs::kAuto}, {"class", LabelAs::kClass}, {"column", LabelAs::kColumn}},
      "of a table's label: each class has sums of its own; or it is a column like the others, which few "
      "records bear better where columns are counted (kind = \"pairs\"); auto: by data.records, or the guess "
      "of it");
  keys.count("classes", s.schema.classes, 1, 256, "C, public: labels are 0..C-1, each one byte");
  keys.sizes("shape", s.schema.shape, "one record: [channels, height, width] or [columns]");
  keys.number("lo", s.schema.lo, kFloat, "public lower bound of every number");
  keys.number("hi", s.schema.hi, kFloat, "public upper bound of every number");
  keys.choice<schema::OnError>(
      "on_error", s.schema.on_error,
      {{"reject-file", schema::OnError::kRejectFile}, {"clamp", schema::OnError::kClamp}},
      "a number outside [lo, hi] or a label that is no class: clamp it, or refuse the whole job, which tells "
      "others that there is such a record (a malformed file is refused under both)");
  keys.choice<ShardRule>("shards", s.shards,
                         {{"contiguous", ShardRule::kContiguous},
                          {"round-robin", ShardRule::kRoundRobin},
                          {"per-rank", ShardRule::kPerRank}},
                         "the public rule that deals records to ranks");
}

bool schema_problems(const schema::Schema& schema, settings::Problems& p) {
  const auto& shape = schema.shape;
  const bool sized = shape.size() == 1 || shape.size() == 3, apart = schema.lo < schema.hi;
  p.unless(
      sized,
      "data.shape needs 3 numbers for images, [channels, height, width], or 1 for plain records, [columns]");
  p.unless(apart, "data.lo must be below data.hi");
  const std::string names = schema::class_names_problem(schema);
  p.unless(names.empty(), "data.class_names " + names);
  if (!sized || !apart || !names.empty() ||
      !p.check("data.shape, data.lo or data.hi: ", [&] { schema.validate(); }))
    return false;
  p.unless(*std::max_element(shape.begin(), shape.end()) <= kMostSide,
           fmt::format("data.shape has a size above {}", kMostSide));
  return true;
}

std::string comment_problem(const DataSpec& s) {
  const bool good = s.comment.size() <= 1 && s.comment.find_first_of("\" \t\r\n") == std::string::npos &&
                    s.comment != std::string(1, s.separator);
  if (!good) return "data.comment needs one character, neither a quote nor a blank nor data.separator";
  return s.comment.empty() || s.header
             ? ""
             : "data.comment needs a header: without one a record's first character would decide whether it "
               "counts. Write how many lines stand above the records, data.skip (data.test_skip)";
}

std::string encoding_problem(const DataSpec& s) { return encoding_problem(s.encoding); }

void problems(const Settings& s, settings::Problems& p) {
  p.unless(!s.features.empty(), "data.features names no file with records");
  const std::string labels = find_format(s.format).labels_problem(s);
  p.unless(labels.empty(), labels);
  const std::string columns = find_format(s.format).schema_problem(s.schema);
  p.unless(columns.empty(), columns);
  const std::string comment = comment_problem(s);
  p.unless(comment.empty(), comment);
  const std::string encoding = encoding_problem(s.encoding);
  p.unless(encoding.empty(), encoding);
  const auto arrays = [&](const std::vector<std::string>& names, const char* key) {
    p.unless(names.size() == 2 || (names.size() == 1 && s.schema.classes == 1),
             fmt::format("{} needs two names, of the records and of their labels", key));
  };
  arrays(s.arrays, "data.arrays");
  if (!s.test_arrays.empty()) arrays(s.test_arrays, "data.test_arrays");
  p.unless(!s.channels_last || s.schema.is_image(),
           "data.layout = \"channels-last\" is for images, whose data.shape is [channels, height, width]");
  p.unless(find_format(s.format).holds_pictures() || s.resize == Resize::kNone,
           fmt::format(
               "data.resize is for pictures (data.format = {})",
               names_where(format_kinds(), [](const FormatKind& k) { return k.format->holds_pictures(); })));
  const bool per_rank = s.shards == ShardRule::kPerRank;
  p.unless(names_rank(s, s.features) == per_rank,
           "data.shards = \"per-rank\" and \"{rank}\" in data.features (or data.dir) go together: one is "
           "there without the other");
  p.unless(
      s.labels.empty() || names_rank(s, s.labels) == per_rank,
      "data.labels and data.features go together: with one file a rank both need \"{rank}\" (or data.dir "
      "does), and otherwise neither has it");
  p.unless(s.generate.empty() || s.dir.empty(),
           "data.generate makes the files in OUT/data: leave data.dir empty");
}

}  // namespace muffle::data
