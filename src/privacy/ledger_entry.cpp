#include "ledger_entry.hpp"

#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "muffle/core/error.hpp"
#include "muffle/core/json_fields.hpp"
#include "muffle/core/text.hpp"

namespace muffle::privacy::ledger {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view kFormat = "muffle-ledger";

std::string dump(const Json& json) {
  return json.dump(-1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace);
}

void write_unit(Json& json, const PrivacyUnit& unit) {
  json["adjacency"] = to_string(unit.adjacency);
  json["max_records_per_person"] = unit.max_records_per_person;
}

struct Writer {
  Json& json;
  void operator()(const BudgetLine& line) const {
    json["kind"] = "BUDGET";
    json["budget"] = nullptr;
    if (const auto& budget = line.budget)
      json["budget"] = {{"mu", budget->mu},
                        {"delta", budget->delta},
                        {"epsilon", budget->epsilon ? Json(*budget->epsilon) : Json(nullptr)}};
  }
  void operator()(const IntentLine& line) const {
    // Unit and mu come early: a line that was cut off should still show them.
    json["kind"] = "INTENT";
    write_unit(json, line.terms.unit);
    json["mu"] = line.terms.mu;
    json["charge"] = line.charge;
    json["run"] = line.terms.run;
    json["config_hash"] = line.terms.config_hash;
    json["sensitivity"] = line.terms.sensitivity;
    json["sigma"] = line.terms.sigma;
    json["secure_noise"] = line.terms.secure_noise;
    if (line.terms.alone_mu > 0) json["alone_mu"] = line.terms.alone_mu;
  }
  void operator()(const ArtifactLine& line) const {
    json["kind"] = line.committed ? "COMMIT" : "PENDING";
    json["charge"] = line.charge;
    json["artifact_sha256"] = line.artifact;
  }
  void operator()(const ReleasedLine& line) const {
    json["kind"] = "RELEASED";
    json["charge"] = line.charge;
    json["release_sha256"] = line.release;
  }
  void operator()(const RoundLine& line) const {
    json["kind"] = "ROUND";
    json["charge"] = line.charge;
    json["round"] = line.round;
    json["kept_sha256"] = line.kept ? Json(*line.kept) : Json(nullptr);
    if (!line.summed.empty()) json["summed"] = line.summed;
  }
  void operator()(const RepairLine& line) const {
    json["kind"] = "REPAIR";
    if (line.unit) write_unit(json, *line.unit);
    json["mu"] = line.mu;
    json["cut_bytes"] = line.cut_bytes;
    json["cut_sha256"] = line.cut_sha256;
  }
};

std::string text(const JsonFields& f, std::string_view key) {
  std::string value = f.text(key, kMaxBookLine);
  demand(printable(value) == value, "a line with control characters in a text");
  return value;
}
std::uint64_t count(const JsonFields& f, std::string_view key) {
  return f.integer(key, 0, std::numeric_limits<std::uint64_t>::max());
}

PrivacyUnit read_unit(const JsonFields& f) {
  constexpr auto kFirst = Adjacency::kReplaceOne, kSecond = Adjacency::kAddRemoveOne;
  return {f.choice("adjacency", {to_string(kFirst), to_string(kSecond)}) == 0 ? kFirst : kSecond,
          f.integer("max_records_per_person", 1, kMaxRecordsPerPerson)};
}

BudgetLine read_budget(const JsonFields& f) {
  if (f.at("budget").is_null()) return {};
  const JsonFields budget = f.object("budget");
  Budget out{budget.number("mu"), budget.number("delta"), std::nullopt};
  if (!budget.at("epsilon").is_null()) out.epsilon = budget.number("epsilon");
  demand(valid_charge(out.mu), "a budget whose mu is out of range");
  demand(out.delta > 0 && out.delta < 1, "a budget whose delta is out of range");
  return {out};
}

IntentLine read_intent(const JsonFields& f) {
  const double mu = f.number("mu");
  demand(valid_charge(mu), "a charge whose mu is out of range");
  IntentLine line{f.hex("charge", 32),
                  {text(f, "run"), text(f, "config_hash"), mu, f.number("sensitivity"), f.number("sigma"),
                   f.flag("secure_noise"), read_unit(f)}};
  if (f.has("alone_mu")) {
    line.terms.alone_mu = f.number("alone_mu");
    demand(line.terms.alone_mu >= mu, "a charge that costs less if everybody betrays the site");
  }
  return line;
}

RepairLine read_repair(const JsonFields& f) {
  RepairLine line{count(f, "cut_bytes"), f.hex("cut_sha256", 64), f.number("mu"), std::nullopt};
  demand(line.mu == 0 || valid_charge(line.mu), "a repair whose mu is out of range");
  if (line.mu > 0) line.unit = read_unit(f);
  return line;
}

RoundLine read_round(const JsonFields& f) {
  RoundLine line{f.hex("charge", 32), f.integer("round", 1, kMostRounds), std::nullopt};
  if (!f.at("kept_sha256").is_null()) line.kept = f.hex("kept_sha256", 64);
  if (f.has("summed")) line.summed = text(f, "summed");
  return line;
}

Entry read_entry(const JsonFields& f) {
  demand(text(f, "format") == kFormat, "a line of another format");
  demand(f.at("version") == kVersion, "a line of a version that this muffle does not know");
  Entry entry{count(f, "seq"), text(f, "prev"), text(f, "data_id"), text(f, "time"), text(f, "host"), {}};
  const std::size_t kind =
      f.choice("kind", {"BUDGET", "INTENT", "PENDING", "COMMIT", "REPAIR", "ROUND", "RELEASED"});
  if (kind == 0) entry.content = read_budget(f);
  if (kind == 1) entry.content = read_intent(f);
  if (kind == 2 || kind == 3)
    entry.content = ArtifactLine{f.hex("charge", 32), f.hex("artifact_sha256", 64), kind == 3};
  if (kind == 4) entry.content = read_repair(f);
  if (kind == 5) entry.content = read_round(f);
  if (kind == 6) entry.content = ReleasedLine{f.hex("charge", 32), f.hex("release_sha256", 64)};
  return entry;
}

}  // namespace

std::string render(const Entry& entry) {
  Json json = {{"format", kFormat}, {"version", kVersion}, {"seq", entry.sequence}, {"prev", entry.previous}};
  std::visit(Writer{json}, entry.content);
  json["data_id"] = entry.data_id;
  json["time"] = entry.time;
  json["host"] = entry.host;
  return with_own_hash(dump(json));
}

Entry parse(std::string_view line) {
  require_own_hash(line);
  Entry entry;
  try {
    const auto json = nlohmann::json::parse(line, nullptr, /*allow_exceptions=*/false);
    entry = read_entry(JsonFields(json, JsonDocument{}));
  } catch (const ProtocolError& e) {
    throw std::invalid_argument(
        std::string("a line that lacks a field, or has one of the wrong type or value: ") + e.what());
  }
  // Doubled keys, unknown keys, other spellings of a number: all that two readers could read differently.
  demand(render(entry) == line, "a line that is not spelt as muffle spells it");
  return entry;
}

std::optional<ChargeTerms> charge_of_fragment(std::string_view fragment) {
  constexpr std::string_view kBefore = R"("kind":"INTENT",)", kMu = R"("mu":)";
  const auto begin = fragment.find(kBefore);
  if (begin == std::string_view::npos) return std::nullopt;
  const auto mu = fragment.find(kMu, begin);
  // Without the comma behind it the number's own end may be missing.
  const auto end = mu == std::string_view::npos ? mu : fragment.find(',', mu);
  if (end == std::string_view::npos) return std::nullopt;
  const auto json = nlohmann::json::parse("{" + std::string(fragment.substr(begin, end - begin)) + "}",
                                          nullptr, /*allow_exceptions=*/false);
  try {
    const JsonDocument document;
    const JsonFields f(json, document);
    ChargeTerms charge;
    charge.mu = f.number("mu");
    charge.unit = read_unit(f);
    if (valid_charge(charge.mu)) return charge;
  } catch (const ProtocolError&) {  // it shows something else
  }
  return std::nullopt;
}

bool valid_charge(double mu) { return mu >= kMinChargeMu && mu <= kMaxChargeMu; }

}  // namespace muffle::privacy::ledger
