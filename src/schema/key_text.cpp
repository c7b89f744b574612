#include "muffle/schema/key_text.hpp"

#include <fmt/format.h>

#include <iterator>

#include "muffle/core/error.hpp"

namespace muffle::schema {

KeyText::KeyText(const Column& column)
    : prefix_(column.notation.prefix), suffix_(column.notation.suffix), digits_(column.digits) {
  require(column.type == ColumnType::kKey || (column.is_person() && column.rows > 0),
          "keys are of a column of keys, or of people");
}

std::uint64_t KeyText::largest() const {
  std::uint64_t end = 1;
  for (int i = 0; i < (digits_ > 0 ? digits_ : kMostKeyDigits); ++i) end *= 10;
  return end - 1;
}

void KeyText::write(std::uint64_t number, std::string& out) const {
  fmt::format_to(std::back_inserter(out), "{}{:0{}}{}", prefix_, number, digits_, suffix_);
}

}  // namespace muffle::schema
