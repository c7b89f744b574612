#include <charconv>
#include <cstdint>
#include <optional>

#include "arrays.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/text.hpp"

namespace muffle::data {
namespace {

using std::string_view_literals::operator""sv;

constexpr std::string_view kMagic = "\x93NUMPY"sv;
constexpr std::size_t kAlignment = 64;
constexpr std::size_t kMostHeaderBytes = std::size_t{1} << 16;
constexpr std::size_t kMostFieldsBytes = std::size_t{1} << 24;

/// Reads the few forms of Python literal that occur in such a header. Every function returns nothing if the
/// text does not go on as it wants.
class LiteralReader {
 public:
  explicit LiteralReader(std::string_view text) : text_(text) {}

  bool accept(std::string_view token) {
    skip_blanks();
    if (!text_.starts_with(token)) return false;
    text_.remove_prefix(token.size());
    return true;
  }

  std::optional<std::string> quoted() {
    skip_blanks();
    if (text_.empty() || (text_[0] != '\'' && text_[0] != '"')) return std::nullopt;
    const std::size_t end = text_.find(text_[0], 1);
    if (end == std::string_view::npos) return std::nullopt;
    std::string out(text_.substr(1, end - 1));
    text_.remove_prefix(end + 1);
    return out;
  }

  std::optional<std::vector<std::size_t>> tuple() {
    if (!accept("(")) return std::nullopt;
    std::vector<std::size_t> out;
    while (!accept(")")) {
      skip_blanks();
      std::size_t value = 0;
      const auto result = std::from_chars(text_.data(), text_.data() + text_.size(), value);
      if (result.ec != std::errc{}) return std::nullopt;
      text_.remove_prefix(static_cast<std::size_t>(result.ptr - text_.data()));
      out.push_back(value);
      if (accept(",")) continue;
      if (!accept(")")) return std::nullopt;
      break;
    }
    return out;
  }

  bool at_end() {
    skip_blanks();
    return text_.empty();
  }

 private:
  void skip_blanks() {
    const std::size_t n = text_.find_first_not_of(" \n\t");
    text_.remove_prefix(n == std::string_view::npos ? text_.size() : n);
  }

  std::string_view text_;
};

DataError bad_header(const std::string& name, const std::string& what) {
  return DataError(name + " is not an array that muffle can read: " + what + ". Write it with numpy.savez.");
}

/// "<U12", "|S7": texts of so many characters, or bytes.
std::optional<ElementType> parse_text_type(const std::string& descr) {
  std::size_t length = 0;
  const char* const end = descr.data() + descr.size();
  const auto result = std::from_chars(descr.data() + 2, end, length);
  if (result.ec != std::errc{} || result.ptr != end || length == 0) return std::nullopt;
  const bool characters = descr[1] == 'U';
  if (length > kMostTextBytes / (characters ? 4 : 1)) return std::nullopt;
  return characters ? ElementType{ElementType::Kind::kCharacters, 4 * length, descr[0] == '>'}
                    : ElementType{ElementType::Kind::kBytes, length};
}

/// "<M8[ns]", "<M8[25s]": counts of a unit since 1970-01-01.
std::optional<ElementType> parse_time_type(std::string_view descr) {
  using Unit = ElementType::Unit;
  constexpr std::pair<std::string_view, Unit> kUnits[] = {
      {"Y", {1, 1, 12}},         {"M", {1, 1, 1}},
      {"W", {604800, 1, 0}},     {"D", {86400, 1, 0}},
      {"h", {3600, 1, 0}},       {"m", {60, 1, 0}},
      {"s", {1, 1, 0}},          {"ms", {1, 1000, 0}},
      {"us", {1, 1'000'000, 0}}, {"ns", {1, 1'000'000'000, 0}}};
  if (descr.size() < 6 || descr.substr(1, 3) != "M8[" || descr.back() != ']') return std::nullopt;
  std::string_view unit = descr.substr(4, descr.size() - 5);
  std::int64_t multiple = 1;
  constexpr std::int64_t kMostMultiple = 1'000'000;
  const auto digits = std::from_chars(unit.data(), unit.data() + unit.size(), multiple);
  unit.remove_prefix(static_cast<std::size_t>(digits.ptr - unit.data()));
  if (multiple < 1 || multiple > kMostMultiple) return std::nullopt;
  for (auto [name, size] : kUnits) {
    if (name != unit) continue;
    (size.months > 0 ? size.months : size.seconds) *= multiple;
    return ElementType{ElementType::Kind::kTime, 8, descr[0] == '>', size};
  }
  return std::nullopt;
}

/// "<f4": byte order, kind, bytes.
ElementType parse_type(const std::string& descr, const std::string& name, bool texts) {
  using enum ElementType::Kind;
  const bool ordered = descr.size() >= 3 && std::string_view("<>|=").find(descr[0]) != std::string_view::npos;
  if (ordered && descr.size() == 3) {
    const auto size = static_cast<std::size_t>(descr[2] - '0');
    const bool big = descr[0] == '>', whole = size == 1 || size == 2 || size == 4 || size == 8;
    if (descr[1] == 'u' && whole) return {kUnsigned, size, big};
    if (descr[1] == 'i' && whole) return {kSigned, size, big};
    if (descr[1] == 'f' && (size == 2 || size == 4 || size == 8)) return {kFloat, size, big};
    if (descr[1] == 'b' && size == 1) return {kUnsigned, size, big};
  }
  if (texts && ordered && (descr[1] == 'U' || descr[1] == 'S')) {
    if (const auto type = parse_text_type(descr)) return *type;
  }
  if (const auto type = texts && ordered ? parse_time_type(descr) : std::nullopt) return *type;
  throw DataError(
      name + " has elements of type '" + printable(descr.substr(0, 32)) +
      "'; muffle reads float16, float32 and float64, whole numbers of 8 to 64 bits, and truth values" +
      (texts ? ", times (datetime64), and text of up to 1 MiB (types U and S: array.astype(str))" : "") +
      ". Convert the array.");
}

/// "[('age', '<i8'), ('', '|V4'), ('sex', '<U1')]": a record's fields, with room between them.
/// @returns false: it is no such list.
bool parse_fields(LiteralReader& in, const std::string& name, ArrayHeader& header) {
  if (!in.accept("[")) return false;
  header.type = {ElementType::Kind::kFields, 0};
  while (!in.accept("]")) {
    if (!in.accept("(")) return false;
    ArrayHeader::Field field;
    auto called = in.quoted();
    if (!called || !in.accept(",")) return false;
    const auto descr = in.quoted();
    if (!descr) return false;
    std::size_t room = 0;
    const bool is_room = descr->starts_with("|V") && called->empty();
    if (is_room) {
      if (std::from_chars(descr->data() + 2, descr->data() + descr->size(), room).ec != std::errc{})
        return false;
    } else {
      field.type =
          parse_type(*descr, name + ", field " + printable(called->substr(0, 64)) + ",", /*texts=*/true);
      room = field.type.size;
    }
    if (in.accept(",")) {
      const auto shape = in.tuple();
      if (!shape) return false;
      field.elements = schema::numbers_of(*shape);
      in.accept(",");
    }
    if (!in.accept(")")) return false;
    field.name = std::move(*called);
    field.offset = header.type.size;
    if (room > kMostFieldsBytes || field.elements > kMostFieldsBytes ||
        (header.type.size += room * field.elements) > kMostFieldsBytes)
      return false;
    if (!is_room) header.fields.push_back(std::move(field));
    if (in.accept(",")) continue;
    if (!in.accept("]")) return false;
    break;
  }
  return header.type.size > 0;
}

ArrayHeader parse_dict(std::string_view text, const std::string& name, bool texts, bool& in_fortran_order) {
  LiteralReader in(text);
  ArrayHeader header;
  bool typed = false;
  std::optional<std::vector<std::size_t>> shape;
  std::optional<bool> fortran;
  if (!in.accept("{")) throw bad_header(name, "its header is not a dict");
  while (!in.accept("}")) {
    const auto key = in.quoted();
    if (!key || !in.accept(":")) throw bad_header(name, "its header is malformed");
    if (*key == "descr") {
      if (const auto descr = in.quoted()) {
        header.type = parse_type(*descr, name, texts);
      } else if (!parse_fields(in, name, header)) {
        throw bad_header(name, "its element type is not one of plain numbers and texts");
      } else if (!texts) {
        throw bad_header(name, "its records have fields with names, as those of a table (data.schema)");
      }
      typed = true;
    } else if (*key == "shape") {
      if (!(shape = in.tuple())) throw bad_header(name, "its shape is malformed");
    } else if (*key == "fortran_order") {
      if (in.accept("False")) {
        fortran = false;
      } else if (in.accept("True")) {
        fortran = true;
      }
    } else {
      throw bad_header(name, "its header has an unknown key");
    }
    if (in.accept(",")) continue;
    if (!in.accept("}")) throw bad_header(name, "its header is malformed");
    break;
  }
  if (!in.at_end() || !typed || !shape || !fortran) throw bad_header(name, "its header is incomplete");
  if (shape->empty()) throw DataError(name + " is a single number; one row per record is needed.");
  header.dims.assign(shape->begin(), shape->end());
  in_fortran_order = *fortran && shape->size() > 1;
  return header;
}

}  // namespace

std::string npy_header(const std::string& descr, std::span<const std::size_t> sizes) {
  std::string shape;
  for (const std::size_t s : sizes) shape += std::to_string(s) + ", ";
  if (sizes.size() > 1) shape.resize(shape.size() - 2);
  if (sizes.size() == 1) shape.resize(shape.size() - 1);  // a tuple of one keeps its comma
  std::string dict = "{'descr': '" + descr + "', 'fortran_order': False, 'shape': (" + shape + "), }";
  const std::size_t before = kMagic.size() + 4;
  dict.append(kAlignment - 1 - (before + dict.size()) % kAlignment, ' ');
  dict += '\n';
  std::string out(kMagic);
  out += '\x01';
  out += '\x00';
  out += static_cast<char>(dict.size() & 0xFF);
  out += static_cast<char>(dict.size() >> 8);
  return out + dict;
}

ArrayReader read_npy(const std::string& name, const OpenBytes& open, std::uint64_t size, bool texts) {
  std::unique_ptr<ByteReader> bytes = open();
  std::string fixed(kMagic.size() + 2, '\0');
  const auto fill = [&](std::string& out) {
    return bytes->read(std::as_writable_bytes(std::span(out))) == out.size();
  };
  if (!fill(fixed) || !fixed.starts_with(kMagic)) throw bad_header(name, "its first bytes are not NumPy's");
  const auto major = static_cast<unsigned char>(fixed[kMagic.size()]);
  if (major < 1 || major > 3) throw bad_header(name, "its format version is " + std::to_string(major));
  std::string digits(major == 1 ? 2 : 4, '\0');
  if (!fill(digits)) throw bad_header(name, "it is truncated");
  std::size_t length = 0;
  for (std::size_t i = 0; i < digits.size(); ++i)
    length |= static_cast<std::size_t>(static_cast<unsigned char>(digits[i])) << (8 * i);
  if (length > kMostHeaderBytes) throw bad_header(name, "its header is too long");
  std::string text(length, '\0');
  if (!fill(text)) throw bad_header(name, "it is truncated");
  bool in_fortran_order = false;
  ArrayHeader header = parse_dict(text, name, texts, in_fortran_order);
  const std::uint64_t before = fixed.size() + digits.size() + length;
  check_size(name, header, header.checked_bytes(name) + before, size);
  if (in_fortran_order) {
    bytes = in_c_order(header, [open, before] {
      std::unique_ptr<ByteReader> again = open();
      again->skip(before);
      return again;
    });
  }
  return {name, std::move(header), std::move(bytes)};
}

}  // namespace muffle::data
