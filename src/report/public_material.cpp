#include "public_material.hpp"

#include <fmt/format.h>

#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/core/hash.hpp"
#include "muffle/core/json_fields.hpp"
#include "muffle/crypto/signature.hpp"
#include "muffle/data/format.hpp"
#include "muffle/pair_graph/rounds.hpp"
#include "muffle/release/noisy_tables.hpp"
#include "muffle/synth/listed_samples.hpp"
#include "muffle/synth/moved_rows.hpp"

namespace muffle::report {
namespace {

namespace fs = std::filesystem;
constexpr std::size_t kMostSmallFile = std::size_t{1} << 16, kMostLedger = std::size_t{1} << 28;

[[noreturn]] void do_not_belong(const fs::path& one, const char* what, const fs::path& other) {
  throw ProtocolError(fmt::format("'{}' was made from another {} than '{}'. Name files that belong together.",
                                  one.string(), what, other.string()));
}

/// @returns the file's bytes
std::string verify(const PublicFiles& files, PublicMaterial& out) {
  std::string bytes = read_file(files.release);
  release::Evidence evidence;
  evidence.name = files.release.filename().string();  // the report shows names, and no path of this machine
  evidence.release = bytes;
  evidence.may_be_unsigned = true;
  evidence.repeat_choices = pair_graph::repeat_choices;
  if (const fs::path file = crypto::signature_file(files.release); watched::exists(file))
    evidence.signature = read_file(file, kMostSmallFile);
  if (!files.ledger.empty())
    evidence.ledger = {files.ledger.filename().string(), read_file(files.ledger, kMostLedger), true};
  out.verification = release::verify_release(evidence);
  if (out.verification.code() == ExitCode::kProtocol || !out.verification.artifact)
    throw ProtocolError(fmt::format("'{}' is refused: `muffle verify` says why. No report is made of it.",
                                    files.release.string()));
  return bytes;
}

data::DataSpec spec_of(const fs::path& samples, const PublicMaterial& m) {
  data::DataSpec text;
  try {
    const JsonDocument document;
    const JsonFields said(m.samples_said, document);
    if (said.has("text")) {
      const std::string separator = said.object("text").text("separator", 1);
      if (separator.size() == 1) text.separator = separator[0];
      text.header = said.object("text").flag("header");
    }
  } catch (const ProtocolError& e) {
    throw ProtocolError(fmt::format("samples.json beside '{}': {}", samples.string(), e.what()));
  }
  data::DataSpec spec = data::written_records(samples, text);
  spec.schema = without_rows(m.artifact().schema);
  spec.as_written = true;
  return spec;
}

void read_samples(const PublicFiles& files, PublicMaterial& m, const Heartbeat& heartbeat) {
  const fs::path description = files.samples.parent_path() / "samples.json";
  const auto listed = synth::listed_samples(files.samples, heartbeat);
  if (!listed)
    throw ProtocolError(
        fmt::format("samples.json does not list '{}' with these bytes, so it may hold anything, records "
                    "among it: a report "
                    "is made of samples as `muffle sample` wrote them.",
                    files.samples.string()));
  m.samples_hash = listed->hash;
  m.samples_name = files.samples.filename().string();
  m.samples_said = nlohmann::json::parse(read_file(description, kMostSmallFile * 256), nullptr, false);
  const auto text = [&](const char* key) {
    const auto found = m.samples_said.find(key);
    return found != m.samples_said.end() && found->is_string() ? found->get<std::string>() : std::string();
  };
  if (text("release_hash") != m.release_hash) do_not_belong(files.samples, "release", files.release);
  if (m.model && text("model_hash") != m.model_hash) do_not_belong(files.samples, "model", files.model);
  m.samples = read_rows(spec_of(files.samples, m), heartbeat);
}

}  // namespace

std::optional<double> PublicMaterial::mu() const {
  if (!artifact().is_private) return std::nullopt;
  const auto promise = release::promise_of(artifact());
  if (!promise) return std::nullopt;
  return 1.0 / promise->noise_multiplier;
}

PublicMaterial read_public(const PublicFiles& files, const Heartbeat& heartbeat) {
  PublicMaterial m;
  m.about = files.about;
  m.release_hash = to_hex(sha256(PublicBytes(verify(files, m))));
  if (!files.model.empty()) {
    m.model = model::load_model_info(files.model);
    m.model_hash = sha256_file_hex(PublicFile(files.model), heartbeat);
    if (m.model->release_hash != m.release_hash) do_not_belong(files.model, "release", files.release);
    if (m.model->generator->closed_form() != nullptr && m.model->schema.table &&
        !m.model->schema.table->constraints.empty())
      m.moving_rules = synth::moving_rules(model::parse_model(read_file(files.model), files.model.string()));
  }
  if (!files.samples.empty()) read_samples(files, m, heartbeat);
  const release::Artifact& a = m.artifact();
  if (a.adjacency == privacy::Adjacency::kReplaceOne) m.records = static_cast<double>(a.records);
  if (const auto told = release::noisy_total(a); !m.records && told) m.records = told->records;
  if (!a.schema.table) return m;
  try {
    release::NoisyTables tables = release::make_noisy_tables(a);
    m.records = tables.records;
    if (tables.row_number) {
      std::optional<data::DataSpec> samples;
      if (m.samples) samples = spec_of(files.samples, m);
      if (samples) samples->heartbeat = heartbeat;
      m.people = public_people(a.schema, tables, samples ? &*samples : nullptr);
    }
    m.noisy = release::noisy_margins(release::without_row_number(std::move(tables)), a.schema);
  } catch (const ConfigError&) {  // it counts none: other maps
  }
  return m;
}

}  // namespace muffle::report
