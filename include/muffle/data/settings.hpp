#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "muffle/core/settings.hpp"
#include "muffle/data/source.hpp"

namespace muffle::data {

/// How the label of a table is released (docs/explanation/pairs.md).
enum class LabelAs {
  kAuto,    ///< by the public number of records
  kClass,   ///< every class has tables of its own
  kColumn,  ///< as any other column
};

/// [data]: the records of a job, and those that are held out.
struct Settings : DataSpec {
  std::string generate;  ///< "" or "gaussian-mixture-2d": muffle makes the files in OUT/data
  std::string test_features, test_labels;
  std::int64_t test_skip = -1;           ///< of held-out records; -1: `skip`
  std::vector<std::string> test_arrays;  ///< of held-out records; empty: `arrays`
  std::uint64_t expected_records = 0;    ///< a public guess of m where that is private; 0: none
  LabelAs label_as = LabelAs::kAuto;
  std::string schema_file;  ///< of tables: TOML (muffle/schema/table_toml.hpp); empty: other records

  /// Reads schema_file, if there is one and it was not read yet: the schema, and formats that are not
  /// `named`, follow from it. The file's name becomes an absolute one.
  /// @param folder  of the configuration that names it; empty: where muffle was started
  /// @throws ConfigError, IoError.
  void read_schema(const std::filesystem::path& folder,
                   const std::function<bool(const std::string& key)>& named);

  /// The held-out records, for evaluate alone.
  DataSpec test() const;
};

/// The keys of section [data].
void declare(settings::Keys& keys, Settings& settings);

/// What is wrong with the public schema. @returns whether the sizes can be used.
bool schema_problems(const schema::Schema& schema, settings::Problems& problems);
/// What is wrong with data.comment; empty: nothing.
std::string comment_problem(const DataSpec& spec);
/// What is wrong with data.encoding; empty: nothing.
std::string encoding_problem(const DataSpec& spec);
/// What is wrong with the files that are named, without a look at them.
void problems(const Settings& settings, settings::Problems& problems);

}  // namespace muffle::data
