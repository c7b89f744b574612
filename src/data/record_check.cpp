#include "muffle/data/record_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "check_notes.hpp"
#include "file_names.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/text.hpp"
#include "muffle/data/format.hpp"
#include "muffle/schema/scaling.hpp"

namespace muffle::data {
namespace {

/// Numbers that fill no more than this part of [lo, hi] are perhaps in another unit.
constexpr double kSmallPart = 0.05;
/// So many labels that are no class are listed.
constexpr std::size_t kMostOthers = 20;

std::string with_detail(const DataError& e) {
  return e.local_detail().empty() ? e.what() : fmt::format("{} {}", e.what(), e.local_detail());
}

/// Records that are no table's.
class PlainChecker {
 public:
  PlainChecker(const DataSpec& spec, CheckNotes& notes)
      : schema_(spec.schema), scaling_(spec.schema), notes_(notes), classes_(spec.schema.classes, 0) {}

  /// @throws DataError  they cannot be read to their end.
  void read(RecordStream& stream) {
    Row row;
    for (std::uint64_t record = 0; record < stream.records(); ++record) {
      stream.go_to(record);
      stream.read(row);
      ++notes_.found.records;
      const auto where = [&](const std::string& file) {
        return fmt::format("record {} (counting from 0) of {}", record, file);
      };
      if (!row.misfit.empty()) {
        ++unfit_;
        notes_.misfit(fmt::format("record {} (counting from 0): {}", record, row.misfit));
        continue;
      }
      if (stream.holds_bytes() ? !look_at(row.bytes) : !look_at(row.floats)) {
        ++outside_;
        notes_.misfit(fmt::format("{} has a number that is not finite or lies outside [data.lo, data.hi]",
                                  where(stream.last().numbers)));
      }
      if (row.label >= 0 && static_cast<std::uint64_t>(row.label) < classes_.size()) {
        ++classes_[static_cast<std::size_t>(row.label)];
      } else {
        ++others_[row.label];
        notes_.misfit(
            fmt::format("{} has a label that is not one of the classes", where(stream.last().label)));
      }
    }
    stream.expect_end();
  }

  void finish() {
    notes_.count(unfit_,
                 fmt::format("pictures of another size or other channels than data.shape says: {}", unfit_));
    notes_.count(outside_, fmt::format("records with a number outside [data.lo, data.hi]: {}", outside_));
    std::uint64_t no_class = 0;
    for (const auto& [label, n] : others_) no_class += n;
    notes_.count(no_class, fmt::format("records with a label that is none of 0 to {} (data.classes = {}): {}",
                                       classes_.size() - 1, classes_.size(), no_class));
    tell_of_numbers();
    if (classes_.size() > 1) tell_of_labels();
  }

 private:
  /// @returns whether all numbers fit.
  template <class Number>
  bool look_at(const std::vector<Number>& numbers) {
    bool fit = true;
    for (const Number number : numbers) {
      const auto v = static_cast<float>(number);
      fit = fit && scaling_.fits(v);
      if (!std::isfinite(v)) continue;
      least_ = std::min(least_, v);
      largest_ = std::max(largest_, v);
    }
    return fit;
  }

  void tell_of_numbers() {
    HeldValues held{
        "numbers", fmt::format("{} to {}", exact_text(schema_.lo), exact_text(schema_.hi)), {}, {}, {}};
    if (least_ <= largest_) {
      held.least = fmt::format("{}", least_);
      held.largest = fmt::format("{}", largest_);
      const double width = static_cast<double>(largest_) - static_cast<double>(least_);
      if (width < kSmallPart * (schema_.hi - schema_.lo))
        notes_.found.doubts.push_back(fmt::format(
            "all numbers lie within {} to {}, a small part of {} (data.lo to data.hi): perhaps those are the "
            "bounds of other numbers",
            held.least, held.largest, held.bounds));
    }
    notes_.found.holds.push_back(std::move(held));
  }

  void tell_of_labels() {
    HeldValues held{"labels", {}, {}, {}, {}};
    for (std::size_t c = 0; c < classes_.size(); ++c)
      held.counts.emplace_back(std::to_string(c), classes_[c]);
    std::uint64_t more = 0;
    for (const auto& [label, n] : others_) {
      if (label >= 0 && held.counts.size() < classes_.size() + kMostOthers) {
        held.counts.emplace_back(fmt::format("{} (no class)", label), n);
      } else {
        more += n;
      }
    }
    if (more > 0) held.counts.emplace_back("others that are no class", more);
    notes_.found.holds.push_back(std::move(held));
    const bool from_one = classes_[0] == 0 && others_.contains(static_cast<std::int64_t>(classes_.size()));
    if (from_one)
      notes_.found.doubts.push_back(fmt::format(
          "no label is 0, and some are {}: do they count from 1? Subtract 1 from each, classes are 0 to {}",
          classes_.size(), classes_.size() - 1));
  }

  const schema::Schema& schema_;
  schema::Scaling scaling_;
  CheckNotes& notes_;
  std::vector<std::uint64_t> classes_;
  std::map<std::int64_t, std::uint64_t> others_;  ///< labels that are no class
  std::uint64_t outside_ = 0, unfit_ = 0;
  float least_ = INFINITY, largest_ = -INFINITY;
};

void doubt_shape(const schema::Schema& schema, CheckNotes& notes) {
  if (!schema.is_image() || schema.shape[2] > 4 || schema.shape[0] <= 4 || schema.shape[1] <= 4) return;
  notes.found.doubts.push_back(fmt::format(
      "data.shape = [{0}, {1}, {2}] means {0} channels of {1} x {2}; if the images have {2} "
      "channels, these stand last in the file: set data.layout = \"channels-last\" and data.shape "
      "= [{2}, {0}, {1}]",
      schema.shape[0], schema.shape[1], schema.shape[2]));
}

}  // namespace

RecordCheck check_records(const DataSpec& spec, int rank, std::size_t most_places) {
  CheckNotes notes(most_places);
  notes.found.files = fmt::format("'{}'", resolve_path(spec, spec.features, rank));
  try {
    const Format& format = find_format(spec.format);
    if (spec.schema.table) {
      const bool arrays = !format.is_text();
      check_table(spec, arrays ? std::vector{resolve_path(spec, spec.features, rank)} : files_of(spec, rank),
                  arrays, notes);
    } else {
      doubt_shape(spec.schema, notes);
      const std::unique_ptr<RecordStream> stream = open_records(spec, rank);
      notes.found.read = true;
      PlainChecker checker(spec, notes);
      try {
        checker.read(*stream);
      } catch (const DataError& e) {
        notes.refused(with_detail(e));
      }
      checker.finish();
    }
  } catch (const DataError& e) {
    notes.refused(with_detail(e));
  }
  RecordCheck& found = notes.found;
  if (!found.read) found.holds.clear();
  if (spec.records != 0 && spec.shards != ShardRule::kPerRank && found.records != spec.records &&
      !found.refused) {
    notes.refused(fmt::format("{} holds {} record{}, data.records says {}: correct whichever is wrong",
                              found.files, found.records, found.records == 1 ? "" : "s", spec.records));
  }
  if (!found.refused && found.records == 0) notes.refused(found.files + " holds no records");
  return std::move(found);
}

}  // namespace muffle::data
