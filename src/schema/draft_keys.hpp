#pragma once

#include <string>
#include <string_view>

#include "muffle/schema/draft.hpp"

namespace muffle::schema {

/// In the order of their enumerators.
inline constexpr std::string_view kRoleNames[] = {"feature", "label", "person"};

// Which keys a column of a draft has.
inline bool has_bounds(const DraftColumn& c) {
  return is_number_type(c.type) && c.role == ColumnRole::kFeature;
}
inline bool has_values(const DraftColumn& c) {
  return !is_number_type(c.type) && !is_unread_type(c.type) && c.role != ColumnRole::kPerson;
}
inline bool may_lack_values(const DraftColumn& c) {
  return !is_unread_type(c.type) && c.role == ColumnRole::kFeature;
}

/// Its notation as keys: `format = "%d.%m.%Y"`; empty: muffle's own.
std::string notation_text(const DraftColumn& column);
/// lo or hi, in muffle's own way; of decimals without `decimals` with 6 places.
std::string bound_text(const DraftColumn& column, double bound);
/// What nothing tells apart, with ", or " between.
std::string choices_text(const DraftColumn& column);

}  // namespace muffle::schema
