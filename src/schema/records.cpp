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

void RecordWriter::finish(const std::function<void()>& heartbeat) {
  require(written_ == kind_.count,
          fmt::format("{} records were announced, {} have come", kind_.count, written_));
  complete(heartbeat);
}

}  // namespace muffle::schema
