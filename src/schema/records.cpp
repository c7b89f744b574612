#include "muffle/schema/records.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "muffle/core/error.hpp"

namespace muffle::schema {
namespace {

constexpr std::string_view kOf = "-of-";
constexpr std::size_t kDigits = 5;

bool is_number(std::string_view text) {
  return text.size() == kDigits &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// Where the number of a part is in its name; npos: it is no part.
std::size_t part_at(std::string_view name) {
  const std::size_t of = name.rfind(kOf);
  if (of == std::string_view::npos || of < kDigits + 1) return std::string_view::npos;
  const std::size_t at = of - kDigits;
  const std::string_view part = name.substr(at, kDigits);
  const bool good = name[at - 1] == '-' && (is_number(part) || part == std::string(kDigits, '?')) &&
                    is_number(name.substr(of + kOf.size(), kDigits));
  return good ? at : std::string_view::npos;
}

}  // namespace

void Records::check() const {
  const std::size_t dims = kind().dims();
  require(bytes.empty() || floats.empty(), "records hold bytes or floats, not both");
  require(bytes.size() + floats.size() == count() * dims,
          fmt::format("{} records of {} numbers were announced, {} numbers are there", count(), dims,
                      bytes.size() + floats.size()));
}

void RecordWriter::add(const Records& some) {
  some.check();
  require(some.shape == kind_.shape && (kind_.floats ? some.bytes.empty() : some.floats.empty()),
          "records of another kind than announced");
  write(some);
  written_ += some.count();
}

void RecordWriter::finish(const Heartbeat& heartbeat) {
  require(written_ == kind_.count,
          fmt::format("{} records were announced, {} have come", kind_.count, written_));
  complete(heartbeat);
}

std::string part_name(const std::string& name, std::uint64_t part, std::uint64_t parts) {
  require(part < parts && parts <= kMostParts, "a part that no name can have");
  return fmt::format("{}-{:05}{}{:05}", name, part, kOf, parts);
}

std::string part_pattern(const std::string& name) {
  const std::size_t at = part_at(name);
  return at == std::string::npos ? name : std::string(name).replace(at, kDigits, kDigits, '?');
}

std::uint64_t parts_of(const std::string& name) {
  const std::size_t at = part_at(name);
  std::uint64_t parts = 0;
  if (at == std::string::npos) return parts;
  const char* digits = name.data() + at + kDigits + kOf.size();
  std::from_chars(digits, digits + kDigits, parts);
  return parts;
}

std::vector<NamedWriter> RecordFormat::writers(const std::filesystem::path& folder, const std::string& name,
                                               const RecordKind& kind) const {
  if (const std::string problem = cannot_hold(kind); !problem.empty())
    throw ConfigError(fmt::format("records cannot be written as {}: {}.", this->name(), problem));
  std::vector<NamedWriter> out;
  for (const std::string& file : files(name)) out.push_back({file, writer(folder / file, kind)});
  return out;
}

}  // namespace muffle::schema
