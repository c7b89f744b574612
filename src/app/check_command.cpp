#include <fmt/format.h>

#include <iostream>
#include <nlohmann/json.hpp>

#include "muffle/app/commands.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/text.hpp"
#include "muffle/data/record_check.hpp"

namespace muffle::app {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kPlacesShown = 20;
constexpr const char* kPrivate = "Private: this is about the records. It stays with whoever holds the files.";

/// What to do about it.
std::string advice(const std::vector<data::RecordCheck>& checks, schema::OnError on_error) {
  bool misfits = false, refused = false, doubts = false;
  for (const data::RecordCheck& check : checks) {
    misfits = misfits || check.misfits > 0;
    refused = refused || check.refused;
    doubts = doubts || !check.doubts.empty();
  }
  if (!misfits)
    return doubts ? "Everything fits; look at what may be a mistake all the same." : "Everything fits.";
  if (refused) return "Mend the files or the settings: some of this ends a job, whatever data.on_error says.";
  if (on_error == schema::OnError::kClamp)
    return "data.on_error = \"clamp\": in a job the nearest bound or the missing value takes the place of "
           "what does not fit. A record without a class or a person counts as nothing. The budget is charged "
           "all "
           "the same. Mend the files or the schema.";
  return "data.on_error = \"reject-file\" refuses the job for it. Mend the files or the schema. Under "
         "\"clamp\" "
         "the nearest bound or the missing value would take the place of what does not fit, and a record "
         "without a class or a person would count as nothing.";
}

std::string as_text(const data::RecordCheck& check) {
  const std::string read =
      check.read ? fmt::format("{} record{}", check.records, check.records == 1 ? "" : "s") : "not read";
  std::string out = fmt::format("\n{}: {}\n", printable(check.files), read);
  for (const std::string& place : check.places) out += printable(place) + "\n";
  if (check.misfits > check.places.size())
    out += fmt::format("... and {} more\n", check.misfits - check.places.size());
  if (!check.counts.empty()) out += "In all:\n";
  for (const std::string& line : check.counts) out += "  " + printable(line) + "\n";
  if (!check.holds.empty()) out += "It holds:\n";
  for (const data::HeldValues& held : check.holds) {
    std::string values;
    for (const auto& [name, n] : held.counts)
      values += fmt::format("{}{}: {}", values.empty() ? "" : ", ", printable(name), n);
    if (values.empty()) {
      values = held.least.empty() ? "no number" : fmt::format("{} to {}", held.least, held.largest);
      values += fmt::format(" (the schema says {})", held.bounds);
    }
    out += fmt::format("  {}: {}\n", printable(held.name), values);
  }
  for (const std::string& doubt : check.doubts) out += "Look at this: " + printable(doubt) + ".\n";
  return out;
}

Json as_json(const data::RecordCheck& check) {
  const auto printables = [](const std::vector<std::string>& texts) {
    Json out = Json::array();
    for (const std::string& text : texts) out.push_back(printable(text));
    return out;
  };
  Json holds = Json::array();
  for (const data::HeldValues& held : check.holds) {
    Json values = {{"name", printable(held.name)}};
    if (held.counts.empty()) {
      values.update({{"bounds", held.bounds}, {"least", held.least}, {"largest", held.largest}});
    } else {
      for (const auto& [name, n] : held.counts) values["counts"][printable(name)] = n;
    }
    holds.push_back(std::move(values));
  }
  return {{"files", printable(check.files)},
          {"records", check.read ? Json(check.records) : Json(nullptr)},
          {"misfits", check.misfits},
          {"first_misfits", printables(check.places)},
          {"misfits_by_kind", printables(check.counts)},
          {"holds", std::move(holds)},
          {"doubts", printables(check.doubts)}};
}

data::Settings checked_settings(const ConfigSources& sources) {
  data::Settings data = load_config(sources, {}).data;
  settings::Problems problems;
  data::schema_problems(data.schema, problems);
  data::problems(data, problems);
  problems.unless(data.generate.empty(), "data.generate makes the records: there are no files to check");
  problems.throw_if_any("[data]");
  return data;
}

/// Of held-out records, which may be elsewhere.
data::RecordCheck held_out(const data::Settings& data, int rank) {
  data::RecordCheck check;
  try {
    check = data::check_records(data.test(), rank, kPlacesShown);
  } catch (const IoError& e) {
    check.files = fmt::format("'{}'", data::resolve_path(data, data.test_features, rank));
    check.misfits = 1;
    check.refused = true;
    check.places = {e.what()};
  }
  check.files += " (data.test_features)";
  return check;
}

}  // namespace

void check(const ConfigSources& sources, const CheckCommand& command, std::ostream& out) {
  const data::Settings data = checked_settings(sources);
  std::vector<data::RecordCheck> checks{data::check_records(data, command.rank, kPlacesShown)};
  if (!data.test_features.empty()) {
    checks.push_back(held_out(data, command.rank));
  }
  std::string note;
  if (data.shards == data::ShardRule::kPerRank)
    note = fmt::format("Each rank has files of its own: these are rank {}'s; --rank names another. ",
                       command.rank);
  const std::string what_to_do = note + advice(checks, data.schema.on_error);
  if (command.format == "json") {
    Json all = Json::array();
    for (const data::RecordCheck& check : checks) all.push_back(as_json(check));
    const Json json = {{"format", "muffle-check"},
                       {"version", 1},
                       {"private", kPrivate},
                       {"checks", std::move(all)},
                       {"advice", what_to_do}};
    out << json.dump(2) << "\n" << std::flush;
  } else {
    out << kPrivate << "\n";
    for (const data::RecordCheck& check : checks) out << as_text(check);
    out << "\n" << what_to_do << "\n" << std::flush;
  }
  for (const data::RecordCheck& check : checks) {
    // All of it is on standard output, which whoever holds the files may keep from others.
    if (check.misfits > 0) throw DataError("something does not fit.").mark_quiet();
  }
}

}  // namespace muffle::app
