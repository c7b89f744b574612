#include <fmt/format.h>
#include <fmt/ranges.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>

#include "muffle/data/format.hpp"
#include "muffle/evaluate/metric.hpp"
#include "muffle/schema/schema.hpp"

namespace muffle::evaluate {

#define MUFFLE_KIND(id) std::unique_ptr<Metric> make_##id##_metric();
#include "metric_kinds.inc"

namespace {

constexpr const char* kWarning =
    "These scores were computed on real records. They are not covered by the release's privacy guarantee: "
    "publishing them, or choosing a model, a seed or a setting by them, costs privacy that nobody has "
    "accounted for.";
constexpr const char* kSamples = "samples";

bool has(const std::vector<std::string>& list, std::string_view name) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

/// A key that several kinds declare, such as the seed, is one, and sets the field of each.
std::vector<settings::Key> keys_of_all(const std::string& section, const std::vector<Cloned<Metric>>& kinds) {
  std::vector<settings::Key> all;
  for (const auto& kind : kinds) {
    settings::Keys own(section);
    kind->declare(own);
    for (settings::Key& key : own.take()) {
      key.name.erase(0, section.size() + 1);
      const auto same =
          std::find_if(all.begin(), all.end(), [&](const auto& k) { return k.name == key.name; });
      if (same == all.end()) {
        all.push_back(std::move(key));
        continue;
      }
      same->set = [one = std::move(same->set), other = std::move(key.set)](const settings::Value& value) {
        const std::string wrong = one(value);
        return wrong.empty() ? other(value) : wrong;
      };
    }
  }
  return all;
}

bool is_real(const Metric& metric) { return !metric.real_records({}, {}).empty(); }

}  // namespace

std::span<const MetricKind> metric_kinds() {
  static const std::vector<MetricKind> table{
#define MUFFLE_KIND(id) {kind_name(#id), make_##id##_metric},
#include "metric_kinds.inc"
  };
  return table;
}

Settings::Settings() {
  for (const MetricKind& kind : metric_kinds()) kinds_.push_back(kind.make());
}

std::vector<const Metric*> Settings::chosen() const {
  std::vector<const Metric*> out;
  for (const auto& kind : kinds_) {
    if (has(metrics, kind->kind())) out.push_back(kind.get());
  }
  return out;
}

bool Settings::reads_real_records() const {
  const std::vector<const Metric*> all = chosen();
  return std::any_of(all.begin(), all.end(), [](const Metric* m) { return is_real(*m); });
}

std::vector<std::string> Settings::leave_out_real() {
  std::vector<std::string> names;
  for (const Metric* metric : chosen()) {
    if (metric->needs_held_out()) names.emplace_back(metric->kind());
  }
  for (const std::string& name : names) std::erase(metrics, name);
  return names;
}

std::vector<std::string> Settings::leave_out_own() {
  std::vector<std::string> names;
  for (const auto& kind : kinds_) {
    if (!has(metrics, kind->kind()) || !kind->reads_own_records()) continue;
    names.emplace_back(kind->kind());
    kind->leave_out_own();
    if (kind->reads_own_records()) std::erase(metrics, kind->kind());
  }
  return names;
}

void declare(settings::Keys& keys, Settings& settings) {
  keys.stage(settings::Stage::kEvaluate);
  std::vector<std::string> real;
  for (const auto& kind : settings.kinds_) {
    if (is_real(*kind)) real.push_back(fmt::format("\"{}\"", kind->kind()));
  }
  keys.names("metrics", settings.metrics, names_of(metric_kinds()),
             fmt::format("what to compute; {} read real data", fmt::join(real, " and ")));
  keys.flag(
      "own_records", settings.own_records,
      "of muffle run, where m is private: score against the release's own records, too, though such scores "
      "tell of m");
  for (settings::Key& key : keys_of_all(keys.section(), settings.kinds_)) keys.add(std::move(key));
}

void problems(const Settings& settings, const data::Settings& data, bool whole_job, settings::Problems& p) {
  for (const Metric* metric : settings.chosen()) {
    if (!whole_job || !metric->needs_held_out() || !data.test_features.empty()) metric->problems(data, p);
  }
}

void sample_problems(const Settings& settings, const schema::Schema& schema, std::uint64_t count,
                     const std::vector<std::string>& sample_formats, settings::Problems& p) {
  p.unless(
      settings.metrics.empty() || !samples_file(sample_formats).empty(),
      fmt::format(
          "evaluate reads the samples again: add one of {} to sample.formats, or set evaluate.metrics = []",
          names_where(data::format_kinds(),
                      [](const data::FormatKind& kind) { return !kind.format->writes_folder(); })));
  for (const Metric* metric : settings.chosen()) metric->sample_problems(schema, count, p);
}

std::string samples_file(const std::vector<std::string>& sample_formats, std::uint64_t files) {
  const std::string name = files == 1 ? std::string(kSamples) : schema::part_name(kSamples, 0, files);
  std::string file;
  for (const data::FormatKind& kind : data::format_kinds()) {
    if (has(sample_formats, kind.name) && !kind.format->writes_folder())
      file = kind.format->files(name).back();
  }
  return file;
}

nlohmann::json score(const Settings& settings, const Subject& subject,
                     const std::function<void(const std::string&)>& show) {
  nlohmann::json metrics = nlohmann::json::object();
  for (const Metric* metric : settings.chosen()) {
    const std::size_t real = metric->real_records(subject.test, subject.train).size();
    if (real > 0) {
      spdlog::warn("evaluate: reads REAL test records{}. {}", real > 1 ? " and real training records" : "",
                   kWarning);
      metrics["warning"] = kWarning;
    }
    const Findings found = metric->score(subject);
    show(text_of(found));
    metrics.update(json_of(found, metric->kind()), /*merge_objects=*/true);
  }
  return metrics;
}

}  // namespace muffle::evaluate
