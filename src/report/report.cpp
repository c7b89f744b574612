#include "muffle/report/report.hpp"

#include <fmt/format.h>

#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "pictures.hpp"
#include "sections.hpp"

namespace muffle::report {
namespace {

constexpr const char* kPrivateMark =
    "PRIVATE: computed from real records, and not covered by the guarantee. For those who may see the "
    "records.";
constexpr const char* kNotPrivateMark =
    "NOT PRIVATE: the release has seeded test noise, or none, and no guarantee at all. For those who may see "
    "the records.";
constexpr const char* kNeitherMark =
    "PRIVATE, and of a release that is NOT PRIVATE: computed from real records, and the release has seeded "
    "test noise, or none. For those who may see the records.";
constexpr std::size_t kMostMetrics = std::size_t{1} << 26;

bool always(const PublicMaterial&) { return true; }
bool of_table(const PublicMaterial& m) { return m.samples && m.artifact().schema.table; }
bool of_images(const PublicMaterial& m) { return m.samples && is_picture(m.artifact().schema); }
bool has_samples(const PublicMaterial& m) { return m.samples.has_value(); }

/// In the order in which they are read. A private report has `beside` in place of `from_public`, if it is
/// there.
struct Section {
  const char* id;
  const char* title;
  bool (*applies)(const PublicMaterial&);
  void (*from_public)(const PublicMaterial&, Page&);
  void (*beside)(const PublicMaterial&, const PrivateMaterial&, Page&);
};
constexpr Section kSections[] = {
    {"summary", "Summary", always, public_summary, private_summary},
    {"columns", "Columns", of_table, public_columns, private_columns},
    {"pairs", "Pairs of columns", of_table, public_pairs, private_pairs},
    {"images", "Images", of_images, public_images, private_images},
    {"scores", "Scores", has_samples, nullptr, private_scores},
    {"disclosure", "Disclosure", has_samples, nullptr, private_disclosure},
    {"use", "Going on, citing, and what not to do", always, public_use, nullptr},
    {"settings", "Settings, ledger, signature", always, public_settings, nullptr},
};

std::string title_of(const PublicMaterial& m) {
  const std::string& id = m.artifact().data_id;
  return id.empty() || id.starts_with("unnamed-") ? "Synthetic data" : "Synthetic data of '" + id + "'";
}

/// The configuration may be another release's.
void require_same_records(const schema::Schema& named, schema::Schema released) {
  if (released.table)
    describe_table(released, std::make_shared<const schema::Table>(schema::as_described(*released.table)));
  const bool tables = named.table && released.table;
  const std::string differs = tables ? schema::differences(*named.table, *released.table) : "";
  if (static_cast<bool>(named.table) == static_cast<bool>(released.table) && differs.empty() &&
      named.shape == released.shape && named.classes == released.classes &&
      schema::class_names_agree(named, released))
    return;
  throw ConfigError(
      fmt::format("the real records that the settings name are none of the release's: another schema{}{}. "
                  "Name the settings that the release was made with.",
                  differs.empty() ? "" : ": ", differs));
}

/// Those of other samples are left out.
void read_metrics(const std::filesystem::path& file, const PublicMaterial& m, PrivateMaterial& real) {
  if (file.empty() || !watched::exists(file)) return;
  nlohmann::json said =
      nlohmann::json::parse(read_file(file, kMostMetrics), nullptr, /*allow_exceptions=*/false);
  const bool fits =
      said.is_object() && m.samples && said.value("samples_hash", nlohmann::json()) == m.samples_hash;
  real.metrics_are_others = !fits;
  if (fits) real.metrics = std::move(said);
}

bool hides_m(const PublicMaterial& m) { return m.artifact().adjacency == privacy::Adjacency::kAddRemoveOne; }

}  // namespace

Report public_report(const PublicFiles& files, const Heartbeat& heartbeat) {
  const PublicMaterial m = read_public(files, heartbeat);
  std::vector<Part> parts;
  for (const Section& section : kSections) {
    if (section.from_public == nullptr || !section.applies(m)) continue;
    Page page;
    section.from_public(m, page);
    parts.push_back({section.id, section.title, page.html()});
  }
  const bool good = m.artifact().is_private;
  return {good ? document(title_of(m), "public", "", parts)
               : document("NOT PRIVATE. " + title_of(m), "not-private", kNotPrivateMark, parts),
          false, hides_m(m), good};
}

Report private_report(const PublicFiles& files, const RealRecords& records, const Heartbeat& heartbeat) {
  const PublicMaterial m = read_public(files, heartbeat);
  PrivateMaterial real;
  const auto read = [&](data::DataSpec spec) {
    require_same_records(spec.schema, m.artifact().schema);
    schema::Schema released = without_rows(m.artifact().schema);
    if (!released.table && released.class_names.empty())
      released.class_names = std::move(spec.schema.class_names);  // by which folders are read
    spec.schema = std::move(released);
    return read_rows(spec, heartbeat);
  };
  read_metrics(records.metrics, m, real);  // before any record, as when it was read is told by its times
  real.real = read(records.train);
  if (!records.test.features.empty()) real.held_out = read(records.test);
  if (m.people) {
    real.people = real_people(m.artifact().schema, records.train);
    if (real.held_out) real.held_out_people = real_people(m.artifact().schema, records.test);
  }
  if (m.samples && m.artifact().schema.table)
    real.scores = score_table(real.real, real.held_out, *m.samples, heartbeat);
  if (m.samples && real.held_out && real.held_out->size() > 1)
    real.disclosure = attack(real.real, *real.held_out, *m.samples, heartbeat);
  std::vector<Part> parts;
  for (const Section& section : kSections) {
    if (!section.applies(m)) continue;
    Page page;
    if (section.beside != nullptr) {
      section.beside(m, real, page);
    } else {
      section.from_public(m, page);
    }
    parts.push_back({section.id, section.title, page.html()});
  }
  const bool good = m.artifact().is_private;
  return {document("PRIVATE. " + title_of(m), "private", good ? kPrivateMark : kNeitherMark, parts), true,
          hides_m(m), good};
}

}  // namespace muffle::report
