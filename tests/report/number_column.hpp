// A column of whole numbers, for tests.
#pragma once

#include <utility>
#include <vector>

#include "report/rows.hpp"

namespace muffle::report {

inline Column number(double lo, double hi, std::vector<double> edges, bool missing = false) {
  Column out;
  out.name = "n";
  out.lo = lo;
  out.hi = hi;
  out.may_be_missing = missing;
  out.schema.emplace();
  out.schema->type = schema::ColumnType::kInteger;
  out.schema->lo = lo;
  out.schema->hi = hi;
  out.schema->edges = std::move(edges);
  out.schema->missing = missing;
  return out;
}

}  // namespace muffle::report
