#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "differences.hpp"
#include "muffle/core/error.hpp"
#include "muffle/data/format.hpp"
#include "muffle/schema/table_text.hpp"
#include "quick_fields.hpp"

namespace muffle::data {

/// Fields of a table's columns become the numbers, label and person of a record, by the schema's rule for
/// those that do not fit (Schema::on_error). For all formats that hold columns.
class TableFields {
 public:
  /// Where the record is, asked only for messages.
  using Where = std::function<RecordStream::Place()>;

  /// @param spec  its schema has a table.
  TableFields(const DataSpec& spec, Where where);

  const schema::Table& table() const { return *table_; }
  /// Files must have the column: it is neither ignored nor that of a person whom nobody asks for.
  bool needs(std::size_t column) const {
    return columns_[column].use != Use::kNone && !table_->columns[column].time_of;
  }

  bool is_person(std::size_t column) const { return columns_[column].use == Use::kPerson; }

  void begin(Row& row);
  /// A field as text, or as a number. @throws DataError  it does not fit, under kRejectFile.
  void put(std::size_t column, std::string_view field, Row& row);
  void put(std::size_t column, double field, Row& row);
  /// After the last field.
  void end(Row& row);

  /// What did not fit, by column and reason: for the rank's own log. Empty: all did.
  std::string misfits() const;

 private:
  enum class Use { kNone, kNumber, kLabel, kPerson };
  struct ColumnUse {
    Use use = Use::kNone;
    std::size_t number = 0;           ///< of a record
    std::optional<std::size_t> time;  ///< of a datetime that has one: its time's column
    std::optional<schema::ColumnText> text;
    std::optional<QuickFields> quick;
    std::vector<float> middles;  ///< positions of the codes' middles: of categories all there are
    std::array<std::uint64_t, schema::kMisfits> misfits{};  ///< by schema::Misfit; private
  };

  void put(std::size_t column, const schema::FieldReading& field, Row& row);
  /// @param person  person_text()
  void put_person(std::size_t column, std::string person, Row& row);
  /// Counts it. @throws DataError  under kRejectFile.
  void misfit(std::size_t column, schema::Misfit which);

  std::shared_ptr<const schema::Table> table_;
  bool clamp_;
  Where where_;
  std::vector<ColumnUse> columns_;
  Differences differences_;
  std::size_t numbers_ = 0;
  /// Which of them says which of its person's records a record is. A record alone does not tell: it is 0
  /// here, and open_shard() sets it.
  std::optional<std::size_t> row_number_;
  bool usable_ = true;  ///< of the record at hand
};

}  // namespace muffle::data
