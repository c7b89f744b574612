#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "muffle/core/heartbeat.hpp"
#include "muffle/core/kinds.hpp"
#include "muffle/core/settings.hpp"
#include "muffle/data/settings.hpp"
#include "muffle/evaluate/findings.hpp"
#include "muffle/features/asset.hpp"

namespace muffle::evaluate {

/// What is scored, and by what.
struct Subject {
  std::filesystem::path samples;  ///< written by a record format, such as samples.npz
  data::DataSpec test;            ///< held-out real records
  /// The real records that the release was made from; its `records` 0: how many there are is private.
  data::DataSpec train;
  int threads = 1;
  Heartbeat heartbeat;              ///< called now and then; what it throws ends the evaluation
  std::filesystem::path release{};  ///< that the samples come of, maybe; there may be no such file
  features::AssetFiles assets{};    ///< of its maps

  bool m_is_private() const { return train.records == 0; }
};

/// A kind derives from this, in a file of its own (src/evaluate/NAME_metric.cpp); its line: metric_kinds.inc.
class Metric {
 public:
  virtual ~Metric() = default;
  /// The kind's name in the table.
  virtual std::string_view kind() const = 0;
  virtual std::unique_ptr<Metric> clone() const = 0;

  /// The kind's own keys, of section [evaluate].
  virtual void declare(settings::Keys&) {}
  /// Which real records it reads. None: its result is covered by the release's guarantee.
  virtual std::vector<data::DataSpec> real_records(const data::DataSpec& /*test*/,
                                                   const data::DataSpec& /*train*/) const {
    return {};
  }
  /// It says nothing without held-out records. By default: if it reads real ones.
  virtual bool needs_held_out() const { return !real_records({}, {}).empty(); }
  /// It reads the records that the release was made from. What it says of them it says through Fineness.
  virtual bool reads_own_records() const { return false; }
  /// Goes without what it reads of them, as far as it can.
  virtual void leave_out_own() {}
  /// What is wrong with the settings, where such data are configured.
  virtual void problems(const data::Settings&, settings::Problems&) const {}
  /// What it needs of the samples.
  virtual void sample_problems(const schema::Schema&, std::uint64_t /*count*/, settings::Problems&) const {}
  /// @throws IoError, DataError, ConfigError.
  virtual Findings score(const Subject& subject) const = 0;
};

/// One line of the table of metrics.
struct MetricKind {
  std::string name;
  std::unique_ptr<Metric> (*make)();
};
/// The table of all kinds (src/evaluate/metric_kinds.inc).
std::span<const MetricKind> metric_kinds();

/// [evaluate]: which metrics are computed, and the settings of each kind.
class Settings {
 public:
  Settings();

  /// The chosen ones, in the table's order.
  std::vector<const Metric*> chosen() const;
  bool reads_real_records() const;
  /// Leaves out those that need held-out records. @returns their names.
  std::vector<std::string> leave_out_real();
  /// Leaves out what reads the release's own records. @returns the names of those that did.
  std::vector<std::string> leave_out_own();

  std::vector<std::string> metrics{"classifiers"};
  bool own_records = false;  ///< muffle run scores against the release's own records though m is private

 private:
  friend void declare(settings::Keys& keys, Settings& settings);
  std::vector<Cloned<Metric>> kinds_;  ///< one of each
};

/// The keys of section [evaluate].
void declare(settings::Keys& keys, Settings& settings);
/// @param whole_job  what has nothing to be tested on is left out then
void problems(const Settings& settings, const data::Settings& data, bool whole_job,
              settings::Problems& problems);
/// What the evaluation needs of the samples that the same job draws.
void sample_problems(const Settings& settings, const schema::Schema& schema, std::uint64_t count,
                     const std::vector<std::string>& sample_formats, settings::Problems& problems);

/// The file that samples of these formats are scored from: of the last record format of the table among them;
/// empty if none of them can be read. @param files  SampleSpec::files: of several the first, which stands for
/// all.
std::string samples_file(const std::vector<std::string>& sample_formats, std::uint64_t files = 1);

/// Computes all metrics. @param show  is given what each found, for people. @returns the fields of
/// metrics.json. Reads REAL data if settings.reads_real_records(): that part is not covered by the release's
/// guarantee, and choosing anything by it costs privacy; the log and the file say so.
nlohmann::json score(const Settings& settings, const Subject& subject,
                     const std::function<void(const std::string&)>& show);

}  // namespace muffle::evaluate
