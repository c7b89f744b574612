#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "muffle/schema/table.hpp"
#include "muffle/schema/table_text.hpp"

namespace muffle::schema {

/// Of Table::constraints, for people: "constraint 2 (of 'a', 'b')".
std::string constraint_name(const Table& table, std::size_t index);

/// Makes synthetic rows keep a table's constraints. Immutable and thread-safe. Public: post-processing.
///
/// A date and a datetime are compared by the day. A row that breaks a rule is mended: a comparison moves its
/// right column to the nearest value that keeps it (the left one where there is none); a sum sets its total,
/// or where that has no such value, its parts; an implication takes the first value of its `then`, or leaves
/// its `when` where `then` is about the label; of a combination that is not allowed the second column changes
/// (of lists that share columns, the one that is further from the label, or from the first list's first
/// column: so what does not form rings always succeeds). Mending goes on until all rules hold; a row that
/// never gets there becomes one that is known to keep them.
class RowRules {
 public:
  /// @param table  without problems() but, perhaps, contradiction(); it must outlive this.
  explicit RowRules(const Table& table);

  bool empty() const { return table_.constraints.empty(); }
  /// Why no row can keep all rules, for people; empty: rows can. Found by trying to mend a few.
  const std::string& contradiction() const { return contradiction_; }
  /// @param row  a cell for each of Table::columns. @returns the first constraint that it breaks.
  std::optional<std::size_t> broken(std::span<const Cell> row) const;
  /// All that a record breaks. @param numbers  positions, as samplers draw them; @param label  its class.
  std::vector<std::size_t> all_broken(std::span<const float> numbers, std::int64_t label) const;
  /// @param numbers  positions of a record, as samplers draw them; @param label  its class.
  void mend(std::span<float> numbers, std::int64_t label) const;

 private:
  using Row = std::vector<Cell>;
  /// Combinations of two columns.
  struct List {
    std::size_t rule, near, far;   ///< of Table::constraints, and its columns
    std::vector<CodePair> turned;  ///< Constraint::allowed with the second column's code first, ascending
  };

  Row row_of(std::span<const float> numbers, std::int64_t label) const;
  bool keeps(const Constraint& rule, std::span<const Cell> row) const;
  void repair(const Constraint& rule, Row& row) const;
  void repair_comparison(const Constraint& rule, Row& row) const;
  void repair_sum(const Constraint& rule, Row& row) const;
  void repair_among(const List& list, bool outwards, Row& row) const;
  void order_lists();
  bool keeps_lists_of(std::size_t column, std::span<const Cell> row) const;
  bool repair_all(Row& row) const;
  std::string rules_name() const;
  std::optional<Row> row_that_keeps_all(std::size_t label) const;
  double unit(const Constraint& rule, std::size_t column) const;
  double compared(const Constraint& rule, std::size_t column, std::span<const Cell> row) const;
  bool move(const Constraint& rule, std::size_t column, Constraint::Op op, double bound, Row& row) const;
  bool missing(std::size_t column, std::span<const Cell> row) const;
  double value(std::size_t column, std::span<const Cell> row) const;
  const Grid& grid(std::size_t column) const { return grids_.at(column); }

  const Table& table_;
  std::vector<std::size_t> features_, codes_;
  std::optional<std::size_t> label_;
  std::map<std::size_t, Grid> grids_;  ///< of the numbers in constraints
  std::vector<List> lists_;            ///< outwards from the label, or from a first list's first column
  std::map<std::size_t, std::vector<std::size_t>> rules_of_;  ///< the lists that a column is in
  std::vector<Row> known_good_;                               ///< by class
  std::string contradiction_;
};

}  // namespace muffle::schema
