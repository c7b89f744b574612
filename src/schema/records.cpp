#include "muffle/schema/records.hpp"

#include <fmt/format.h>

#include "muffle/core/error.hpp"

namespace muffle::schema {

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

std::vector<NamedWriter> RecordFormat::writers(const std::filesystem::path& folder, const std::string& name,
                                               const RecordKind& kind) const {
  if (const std::string problem = cannot_hold(kind); !problem.empty())
    throw ConfigError(fmt::format("records cannot be written as {}: {}.", this->name(), problem));
  std::vector<NamedWriter> out;
  for (const std::string& file : files(name)) out.push_back({file, writer(folder / file, kind)});
  return out;
}

}  // namespace muffle::schema
