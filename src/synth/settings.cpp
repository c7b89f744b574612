#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "muffle/schema/key_text.hpp"
#include "muffle/schema/scaling.hpp"
#include "muffle/synth/sampler.hpp"

namespace muffle::synth {
namespace {

constexpr std::size_t kMostPictureSide = 6000;  // ten of them side by side still make a PNG

/// A count in a configuration is exact up to here.
constexpr std::uint64_t kMostSkipped = std::uint64_t{1} << 53;
/// More is taken for a slip of the pen: 2^40 bytes of numbers.
constexpr double kMostSampleBytes = 0x1p40;
/// What a thread may take to draw a tile. A tile is drawn as a whole, since its products and its strays need
/// all of its records, so longer records cannot be drawn.
constexpr double kMostTileBytes = 0x1p34;

std::vector<std::string> names_of(Formats formats) {
  std::vector<std::string> names;
  for (const schema::RecordFormat* format : formats) names.push_back(format->name());
  return names;
}

/// Every record has a key of its own.
void key_problems(const SampleSpec& spec, const schema::Schema& schema, settings::Problems& p) {
  bool any = false;
  for (const schema::Column& column : schema.table ? schema.table->columns : std::vector<schema::Column>()) {
    if (column.type != schema::ColumnType::kKey && !(column.is_person() && column.rows > 0)) continue;
    any = true;
    const std::uint64_t last = spec.skip_keys + spec.count;
    p.unless(last <= schema::KeyText(column).largest(),
             fmt::format("sample.skip_keys + sample.count is {}, and the keys of column '{}' have {} digits: "
                         "give them more in the schema, or leave 'digits' out",
                         last, column.name, column.digits));
  }
  p.unless(
      any || spec.skip_keys == 0,
      "sample.skip_keys is of tables with a column of type \"key\", or with rows of a person, and there is "
      "none: leave it out");
}

}  // namespace

double tile_bytes(const schema::Schema& schema) {
  const auto stored = static_cast<double>(schema::SampleScaling(schema).number_bytes());
  return static_cast<double>(kTileRecords) * static_cast<double>(schema.dims()) *
         (2 * sizeof(float) + stored);
}

void declare(settings::Keys& keys, SampleSpec& s, Formats formats) {
  keys.stage(settings::Stage::kSample);
  keys.count("count", s.count, 1, UINT32_MAX, "synthetic records");
  keys.choice<Labels>(
      "labels", s.labels,
      {{"auto", Labels::kAuto}, {"uniform", Labels::kUniform}, {"released-counts", Labels::kReleasedCounts}},
      "labels of the synthetic records; auto: a table's as often as the release says, all others' equally "
      "often");
  keys.names("formats", s.formats, names_of(formats), "files to write; left out, a table's are csv");
  keys.count("files", s.files, 1, schema::kMostParts,
             "files that the records are split over: samples-00000-of-0000N and so on");
  keys.choice<bool>(
      "quotes", s.text.quote_texts, {{"needed", false}, {"texts", true}},
      "in a CSV file: around what needs them, or around all names and categories; separator and "
      "header are as data.separator and data.header say");
  keys.count("skip_keys", s.skip_keys, 0, kMostSkipped,
             "of columns of type \"key\": keys that other samples have; these count on from there");
  keys.count("seed", s.seed, 0, INT64_MAX, "seed of the samples");
  keys.number("floor", s.floor, {0, 1}, "numbers of a record (scaled to [0, 1]) below it become 0");
  keys.number("outliers", s.outliers, {0, 0.5},
              "share of records whose normal numbers are four times as large: against classifiers that "
              "believe \"never\"");
  keys.number("mixed", s.mixed, {0, 0.5},
              "share of records that lie 0.4 of the way to another class's mean: likewise");
  keys.number("stray", s.stray, {0, 0.5},
              "share of a record that is taken over from others, of images in soft patches: likewise");
  keys.number("sharpen", s.sharpen, {0, 10},
              "of images that lack their highest frequencies: how far a pixel moves away from the mean of "
              "the square around it (3 x 3 up to 41 pixels a side), as a multiple of its distance to it, and "
              "at most to the square's least or greatest; of a closed form of k x k coefficients this x "
              "(longer side / k - 1), where that is below 1; of networks all of it");
}

void problems(const SampleSpec& spec, Formats formats, settings::Problems& p) {
  const std::vector<std::string> known = names_of(formats);
  p.unless(spec.count > 0, "sample.count is 0: ask for at least one record");
  p.unless(!spec.formats.empty(),
           fmt::format("sample.formats is empty: name one of {}", fmt::join(known, ", ")));
  p.unless(spec.files <= std::max<std::uint64_t>(1, spec.count),
           "sample.files is above sample.count: some files would be empty");
  for (const schema::RecordFormat* format : formats) {
    p.unless(spec.files == 1 || !spec.wants(*format) || format->writes_parts(),
             fmt::format("sample.files is above 1, but \"{}\" in sample.formats is always one file",
                         format->name()));
  }
  for (const std::string& name : spec.formats) {
    p.unless(std::find(known.begin(), known.end(), name) != known.end(),
             fmt::format("sample.formats has \"{}\", which is none of {}", name, fmt::join(known, ", ")));
  }
}

void problems(const SampleSpec& spec, const schema::Schema& schema, Formats formats, settings::Problems& p) {
  key_problems(spec, schema, p);
  const schema::RecordKind kind{schema.shape, !schema::SampleScaling(schema).as_bytes(), spec.count,
                                schema.table};
  for (const schema::RecordFormat* format : formats) {
    if (!spec.wants(*format)) continue;
    const std::string problem = format->cannot_hold(kind);
    p.unless(problem.empty(), fmt::format("sample.formats has \"{}\", but {}", format->name(), problem));
  }
  p.unless(
      !kind.is_picture() || std::max(schema.shape[1], schema.shape[2]) <= kMostPictureSide,
      fmt::format("data.shape has images with a side above {} pixels, of which samples.png cannot be made",
                  kMostPictureSide));
  p.unless(!schema.table || (spec.floor == 0 && spec.outliers == 0 && spec.mixed == 0 && spec.stray == 0),
           "sample.floor, sample.outliers, sample.mixed and sample.stray are for images and vectors: a "
           "table's columns have values of their own");
  p.unless(schema.is_image() || spec.sharpen == 0,
           "sample.sharpen is for images: other records' numbers have no neighbours; leave it at 0");
  const double record =
      static_cast<double>(schema.dims()) * static_cast<double>(schema::SampleScaling(schema).number_bytes());
  p.unless(static_cast<double>(spec.count) * record <= kMostSampleBytes,
           "sample.count x data.shape is above 1 TB: draw them in parts, each with a sample.seed of its own");
  p.unless(
      tile_bytes(schema) <= kMostTileBytes,
      fmt::format("data.shape has {} numbers a record, of which {} are drawn at a time in {:.3g} GB, above "
                  "{:.3g} GB: describe records by fewer numbers",
                  schema.dims(), kTileRecords, tile_bytes(schema) * 1e-9, kMostTileBytes * 1e-9));
}

}  // namespace muffle::synth
