#include "hdf5_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <string_view>
#include <utility>

#include "muffle/core/error.hpp"
#include "muffle/core/text.hpp"

namespace muffle::data {
namespace {

using Bytes = std::vector<std::byte>;

constexpr std::size_t kMostHeaderBytes = std::size_t{1} << 20, kMostLinks = std::size_t{1} << 12;
constexpr std::size_t kMostBlocks = 256, kMostDimensions = 32, kMostFilters = 8;

constexpr const char* kAdvice =
    " Write it again, with h5py: h5py.File(NAME, \"w\", libver=\"earliest\"), create_dataset(\"x\", data=x, "
    "compression=\"gzip\").";

/// A message of an object's header.
struct Message {
  enum Type : unsigned {
    kDataspace = 1,
    kLinkInfo = 2,
    kDatatype = 3,
    kLink = 6,
    kExternalFiles = 7,
    kLayout = 8,
    kFilters = 11,
    kContinuation = 16,
    kSymbolTable = 17
  };
  unsigned type = 0;
  bool shared = false;
  Bytes bytes;
};

/// The file's tree of groups.
class Tree {
 public:
  explicit Tree(Hdf5Bytes& file) : file_(file) { find_root(); }

  /// The header's messages of what has this path.
  std::vector<Message> find(const std::string& path) {
    std::uint64_t at = root_;
    std::string_view left = path;
    while (!left.empty()) {
      const std::string_view part = left.substr(0, left.find('/'));
      left.remove_prefix(std::min(left.size(), part.size() + 1));
      if (part.empty()) continue;
      const auto next = child(header(at), part);
      if (!next)
        throw DataError(fmt::format(
            "array {} of {} is missing. Set data.arrays to the names of its arrays of records and labels.",
            printable(path), file_.name()));
      at = *next;
    }
    return header(at);
  }
  std::uint64_t base() const { return base_; }

 private:
  Bytes block(std::uint64_t address, std::uint64_t bytes) {
    Bytes out(bytes);
    if (address > file_.size()) throw file_.damaged();
    file_.read(base_ + address, out);
    return out;
  }
  Hdf5Fields fields(const Bytes& bytes) const { return {file_, bytes}; }
  void expect(Hdf5Fields& in, std::string_view mark) const {
    const auto found = in.take(mark.size());
    if (std::memcmp(found.data(), mark.data(), mark.size()) != 0) throw file_.damaged();
  }

  /// The superblock: at the beginning, or behind 512, 1024, ... bytes of another program's.
  void find_root() {
    constexpr std::string_view kSignature("\x89HDF\r\n\x1a\n", 8);
    Bytes head(8);
    for (base_ = 0; base_ + head.size() <= file_.size(); base_ = base_ == 0 ? 512 : 2 * base_) {
      file_.read(base_, head);
      if (std::memcmp(head.data(), kSignature.data(), head.size()) == 0) break;
    }
    if (base_ + head.size() > file_.size())
      throw DataError(file_.name() + " is not an HDF5 file: it has no such signature. Is it the right file?");
    const Bytes version = block(8, 1);
    const bool old = version[0] < std::byte{2};
    if (version[0] > std::byte{3}) throw file_.unreadable("has a superblock of a version above 3");
    const std::size_t more = version[0] == std::byte{1} ? 4 : 0;
    const Bytes bytes = block(0, old ? 96 + more : 48);
    Hdf5Fields in = fields(bytes);
    in.skip(old ? 13 : 9);
    if (in.number(1) != 8 || in.number(1) != 8)
      throw file_.unreadable("has addresses that are not of 8 bytes");
    in.skip(old ? 9 + more : 1);
    in.skip(8);  // the base address: where the superblock was found
    in.skip(8);
    const std::uint64_t end = in.address();
    if (old) in.skip(16);  // driver block; the root's name
    root_ = in.address();
    if (end > file_.size()) throw truncated(file_.name(), "before its end");
  }

  std::vector<Message> header(std::uint64_t address) {
    const Bytes head = block(address, 16);
    const bool marked = std::memcmp(head.data(), "OHDR", 4) == 0;
    std::vector<Message> out;
    std::size_t bytes = 0, blocks = 0;
    struct Block {
      std::uint64_t address, size;
    };
    std::vector<Block> waiting;
    bool ordered = false;
    Hdf5Fields in = fields(head);
    if (marked) {
      in.skip(5);
      const std::uint64_t flags = in.number(1);
      ordered = (flags & 4) != 0;
      const std::uint64_t before = 6 + ((flags & 0x20) != 0 ? 16 : 0) + ((flags & 0x10) != 0 ? 4 : 0);
      const std::uint64_t width = std::uint64_t{1} << (flags & 3);
      const Bytes size = block(address + before, width);
      waiting.push_back({address + before + width, fields(size).number(width)});
    } else {
      if (in.number(1) != 1) throw file_.damaged();
      in.skip(7);
      waiting.push_back({address + 16, in.number(4)});
    }
    while (!waiting.empty()) {
      const Block next = waiting.back();
      waiting.pop_back();
      if (++blocks > kMostBlocks || next.size > kMostHeaderBytes || (bytes += next.size) > kMostHeaderBytes)
        throw file_.unreadable("has a header that is too large");
      const Bytes body = block(next.address, next.size);
      Hdf5Fields messages = fields(body);
      if (marked && blocks > 1) expect(messages, "OCHK");
      const std::size_t end = marked && blocks > 1 ? 4 : 0;  // a checksum
      const std::size_t least = (marked ? 4u : 8u) + (ordered ? 2u : 0u);
      while (messages.left() >= least + end) {
        Message m;
        m.type = static_cast<unsigned>(messages.number(marked ? 1 : 2));
        const std::uint64_t size = messages.number(2);
        m.shared = (messages.number(1) & 2) != 0;
        messages.skip(marked ? (ordered ? 2 : 0) : 3);
        const auto content = messages.take(size);
        m.bytes.assign(content.begin(), content.end());
        if (m.type == Message::kContinuation) {
          Hdf5Fields more = fields(m.bytes);
          const std::uint64_t at = more.address();
          waiting.push_back({at, more.number(8)});
        } else {
          out.push_back(std::move(m));
        }
      }
    }
    return out;
  }

  /// Of a group's members, the one of this name.
  std::optional<std::uint64_t> child(const std::vector<Message>& group, std::string_view name) {
    bool elsewhere = false;
    for (const Message& m : group) {
      Hdf5Fields in = fields(m.bytes);
      if (m.type == Message::kSymbolTable) {
        const std::uint64_t tree = in.address();
        return symbol(tree, in.address(), name);
      }
      if (m.type == Message::kLinkInfo) {
        in.skip(1);
        if ((in.number(1) & 1) != 0) in.skip(8);
        elsewhere = in.address() != kNoAddress;
      }
      if (m.type == Message::kLink) {
        if (const auto found = linked(in, name)) return found;
      }
    }
    if (elsewhere)
      throw file_.unreadable("has a group with many members, in the newer way that muffle does not read");
    return std::nullopt;
  }

  DataError link_refused(std::string_view name) const {
    return DataError(
        fmt::format("{} of {} is a link to something elsewhere, which muffle does not follow: give "
                    "the array's own name in data.arrays, and its own file.",
                    printable(name), file_.name()));
  }

  std::optional<std::uint64_t> linked(Hdf5Fields& in, std::string_view name) const {
    in.skip(1);
    const std::uint64_t flags = in.number(1);
    const std::uint64_t kind = (flags & 8) != 0 ? in.number(1) : 0;
    in.skip(((flags & 4) != 0 ? 8u : 0u) + ((flags & 0x10) != 0 ? 1u : 0u));
    const auto found = in.take(in.number(std::size_t{1} << (flags & 3)));
    if (found.size() != name.size() || std::memcmp(found.data(), name.data(), name.size()) != 0)
      return std::nullopt;
    if (kind != 0) throw link_refused(name);
    return in.address();
  }

  /// In a group of the older way: a tree of tables of symbols, whose names are in a heap.
  std::optional<std::uint64_t> symbol(std::uint64_t tree, std::uint64_t heap, std::string_view name) {
    const Bytes head = block(heap, 32);
    Hdf5Fields in = fields(head);
    expect(in, "HEAP");
    in.skip(4);
    const std::uint64_t size = in.number(8);
    in.skip(8);
    if (size > kMostHeaderBytes) throw file_.unreadable("has a group with too many members");
    const Bytes names = block(in.address(), size);
    Hdf5Node node = first_leaf(tree);
    std::size_t seen = 0;
    while (true) {
      for (std::uint64_t i = 0; i < node.used; ++i) {
        const Bytes at = block(node.address + 24 + 8 + 16 * i, 8);
        const Bytes begin = block(fields(at).address(), 8);
        Hdf5Fields table = fields(begin);
        expect(table, "SNOD");
        table.skip(2);
        const std::uint64_t symbols = table.number(2);
        if ((seen += symbols + 1) > kMostLinks) throw file_.unreadable("has a group with too many members");
        const Bytes all = block(fields(at).address() + 8, 40 * symbols);
        Hdf5Fields entry = fields(all);
        for (std::uint64_t s = 0; s < symbols; ++s) {
          const std::uint64_t offset = entry.number(8), object = entry.address(), kind = entry.number(4);
          entry.skip(20);
          if (offset >= names.size()) throw file_.damaged();
          const auto* const text = reinterpret_cast<const char*>(names.data() + offset);
          if (std::string_view(text, ::strnlen(text, names.size() - offset)) != name) continue;
          if (kind == 2) throw link_refused(name);
          return object;
        }
      }
      if (node.right == kNoAddress || ++seen > kMostLinks) return std::nullopt;
      node = leaf(node.right);
    }
  }

  struct Hdf5Node {
    std::uint64_t address, level, used, right;
  };
  Hdf5Node node_at(std::uint64_t address) {
    const Bytes head = block(address, 24);
    Hdf5Fields in = fields(head);
    expect(in, "TREE");
    if (in.number(1) != 0) throw file_.damaged();
    Hdf5Node out{address, in.number(1), in.number(2), 0};
    in.skip(8);
    out.right = in.address();
    return out;
  }
  Hdf5Node leaf(std::uint64_t address) {
    const Hdf5Node node = node_at(address);
    if (node.level != 0) throw file_.damaged();
    return node;
  }
  Hdf5Node first_leaf(std::uint64_t address) {
    Hdf5Node node = node_at(address);
    while (node.level > 0) {
      const Bytes first = block(node.address + 24 + 8, 8);
      const Hdf5Node below = node_at(fields(first).address());
      if (below.level + 1 != node.level) throw file_.damaged();
      node = below;
    }
    return node;
  }

  Hdf5Bytes& file_;
  std::uint64_t base_ = 0, root_ = 0;
};

std::vector<std::uint64_t> parse_dims(const Hdf5Bytes& file, Hdf5Fields in) {
  const std::uint64_t version = in.number(1), rank = in.number(1);
  if (version != 1 && version != 2) throw file.unreadable("has an array of an unknown version");
  in.skip(version == 1 ? 6 : 2);
  if (rank == 0 || rank > kMostDimensions)
    throw file.unreadable("has an array without dimensions, or with more than 32");
  std::vector<std::uint64_t> dims;
  for (std::uint64_t i = 0; i < rank; ++i) dims.push_back(in.number(8));
  return dims;
}

ElementType parse_type(const Hdf5Bytes& file, Hdf5Fields in) {
  using enum ElementType::Kind;
  constexpr unsigned kFixed = 0, kFloating = 1, kEnumeration = 8;
  const std::uint64_t kind = in.number(1) & 15, bits = in.number(3), size = in.number(4);
  if (kind == kEnumeration) return parse_type(file, in);  // truth values: FALSE and TRUE, of whole numbers
  const bool big = (bits & 1) != 0;
  if (kind == kFixed && (size == 1 || size == 2 || size == 4 || size == 8) && in.number(2) == 0 &&
      in.number(2) == 8 * size)
    return {(bits & 8) != 0 ? kSigned : kUnsigned, size, big};
  if (kind == kFloating && (size == 2 || size == 4 || size == 8) && (bits & 0x40) == 0) {
    // Where the exponent begins, its bits, where the mantissa begins, its bits; the exponent's bias.
    struct Parts {
      std::array<std::uint64_t, 4> places;
      std::uint64_t bias;
    };
    const Parts parts = size == 2   ? Parts{{10, 5, 0, 10}, 15}
                        : size == 4 ? Parts{{23, 8, 0, 23}, 127}
                                    : Parts{{52, 11, 0, 52}, 1023};
    constexpr unsigned kLeadingOneLeftOut = 2;
    bool ieee = (bits >> 8 & 0xFF) == 8 * size - 1 && (bits >> 4 & 3) == kLeadingOneLeftOut;
    ieee = in.number(2) == 0 && in.number(2) == 8 * size && ieee;
    for (const std::uint64_t part : parts.places) ieee = in.number(1) == part && ieee;
    ieee = in.number(4) == parts.bias && ieee;
    if (ieee) return {kFloat, size, big};
  }
  throw file.unreadable(
      "has elements that are neither whole numbers of 8 to 64 bits nor float16, float32 or float64");
}

std::vector<Hdf5Set::Filter> parse_filters(const Hdf5Bytes& file, Hdf5Fields in) {
  const std::uint64_t version = in.number(1), count = in.number(1);
  if ((version != 1 && version != 2) || count > kMostFilters) throw file.damaged();
  if (version == 1) in.skip(6);
  std::vector<Hdf5Set::Filter> out;
  for (std::uint64_t f = 0; f < count; ++f) {
    const std::uint64_t id = in.number(2);
    if (id < 1 || id > 3)
      throw file.unreadable(
          fmt::format("is compressed by filter {}; muffle reads gzip (deflate), shuffle and fletcher32, and "
                      "loads no plug-ins",
                      id));
    const std::uint64_t name = version == 1 ? in.number(2) : 0;
    in.skip(2);
    const std::uint64_t values = in.number(2);
    in.skip(name + 4 * values + (version == 1 && values % 2 == 1 ? 4 : 0));
    out.push_back(static_cast<Hdf5Set::Filter>(id));
  }
  return out;
}

void parse_layout(const Hdf5Bytes& file, Hdf5Fields in, Hdf5Set& set) {
  constexpr unsigned kCompact = 0, kContiguous = 1, kChunked = 2;
  const std::uint64_t version = in.number(1), kind = in.number(1);
  if (version != 3 && version != 4) throw file.unreadable("was written by a version of HDF5 before 1.6");
  if (kind == kCompact) {
    set.layout = Hdf5Set::Layout::kCompact;
    const auto numbers = in.take(in.number(2));
    set.inside.assign(numbers.begin(), numbers.end());
  } else if (kind == kContiguous) {
    set.place = in.address();
  } else if (kind == kChunked && version == 3) {
    set.layout = Hdf5Set::Layout::kChunked;
    const std::uint64_t sizes = in.number(1);
    set.place = in.address();
    if (sizes != set.header.dims.size() + 1) throw file.damaged();
    std::uint64_t bytes = set.header.type.size;
    for (std::uint64_t i = 0; i + 1 < sizes; ++i) {
      set.chunk.push_back(in.number(4));
      if (set.chunk.back() == 0) throw file.damaged();
      if (__builtin_mul_overflow(bytes, set.chunk.back(), &bytes) || bytes > kMostChunkBytes)
        throw file.unreadable("has chunks of more than 64 MiB");
    }
    if (in.number(4) != set.header.type.size) throw file.damaged();
  } else {
    throw file.unreadable(kind == kChunked ? "has its chunks in the newer way that muffle does not read"
                                           : "has an array that is put together of other files'");
  }
}

}  // namespace

Hdf5Bytes::Hdf5Bytes(std::filesystem::path path)
    : path_(std::move(path)),
      name_("'" + path_.string() + "'"),
      file_(new InputFile(record_file(path_))),
      size_(file_->size()) {}

void Hdf5Bytes::read(std::uint64_t place, std::span<std::byte> out) {
  if (place > size_ || out.size() > size_ - place) throw truncated(name_, "inside its headers or numbers");
  if (place < position_) {
    file_.reset(new InputFile(record_file(path_)));
    position_ = 0;
  }
  if (place > position_) file_->skip(place - position_);
  position_ = place + out.size();
  for (std::size_t done = 0; done < out.size();) {
    const std::size_t n = file_->read(out.subspan(done));
    if (n == 0) throw truncated(name_, "inside its headers or numbers");
    done += n;
  }
}

DataError Hdf5Bytes::unreadable(const std::string& what) const {
  return DataError(name_ + " " + what + "." + kAdvice);
}

DataError Hdf5Bytes::damaged() const {
  return DataError(name_ + " is damaged: its headers contradict themselves." + kCopyAgain);
}

std::uint64_t Hdf5Fields::number(std::size_t bytes) {
  std::uint64_t out = 0;
  std::size_t shift = 0;
  for (const std::byte b : take(bytes)) out |= std::to_integer<std::uint64_t>(b) << (8 * shift++);
  return out;
}

std::span<const std::byte> Hdf5Fields::take(std::uint64_t bytes) {
  if (bytes > bytes_.size()) throw file_.damaged();
  const auto out = bytes_.first(bytes);
  bytes_ = bytes_.subspan(bytes);
  return out;
}

Hdf5Set find_hdf5_set(Hdf5Bytes& file, const std::string& path) {
  Tree tree(file);
  const std::vector<Message> messages = tree.find(path);
  const auto message = [&](Message::Type type) -> const Message* {
    for (const Message& m : messages) {
      if (m.type != type) continue;
      if (m.shared) throw file.unreadable("shares parts of headers between arrays (a committed type)");
      return &m;
    }
    return nullptr;
  };
  const Message *const space = message(Message::kDataspace), *const type = message(Message::kDatatype),
                       *const layout = message(Message::kLayout);
  if (space == nullptr || type == nullptr || layout == nullptr)
    throw DataError(
        fmt::format("{} of {} is a group, not an array: give the array's whole path in data.arrays.",
                    printable(path), file.name()));
  if (message(Message::kExternalFiles) != nullptr)
    throw file.unreadable("keeps its numbers in other files, which muffle does not open");
  Hdf5Set set;
  set.header = {parse_type(file, {file, type->bytes}), parse_dims(file, {file, space->bytes})};
  const std::string name = "array " + path + " of " + file.name();
  const std::uint64_t bytes = set.header.checked_bytes(name);
  parse_layout(file, {file, layout->bytes}, set);
  if (const Message* const filters = message(Message::kFilters))
    set.filters = parse_filters(file, {file, filters->bytes});
  if (set.layout != Hdf5Set::Layout::kChunked && !set.filters.empty()) throw file.damaged();
  if (set.layout == Hdf5Set::Layout::kCompact && set.inside.size() != bytes) throw file.damaged();
  if (set.layout == Hdf5Set::Layout::kCompact || bytes == 0) return set;
  if (set.place == kNoAddress) throw file.unreadable("has an array that was never written");
  if (set.place > file.size()) throw file.damaged();
  set.base = tree.base();
  set.place += set.base;
  if (set.layout == Hdf5Set::Layout::kContiguous &&
      (set.place > file.size() || bytes > file.size() - set.place))
    throw truncated(file.name(), "before its array's end");
  return set;
}

}  // namespace muffle::data
