#include <fmt/format.h>

#include "muffle/core/text.hpp"
#include "sections.hpp"

namespace muffle::report {
namespace {

/// Where the synthetic records are, and how to get others.
std::vector<std::string> going_on(const PublicMaterial& m) {
  std::vector<std::string> out;
  const release::Artifact& a = m.artifact();
  if (m.samples) {
    out.push_back(fmt::format("The {} synthetic records are in {}{}. Each counts once: there are no weights.",
                              m.samples->in_file, m.samples_name,
                              a.schema.table ? ", spelt as the schema says" : ""));
    const auto labels = m.samples_said.find("labels");
    if (a.schema.classes > 1 && labels != m.samples_said.end() && *labels == "uniform")
      out.emplace_back(
          "They have all classes equally often (sample.labels = \"uniform\"), however frequent these are "
          "among the records: weigh them, or draw by the released counts, before you say how many there "
          "are.");
  }
  if (m.model)
    out.emplace_back(
        "More of them, or as many as you like: `muffle sample --out RUN -n 100000`, in a folder with "
        "model.mfl. It costs no privacy, and another `--set sample.seed` draws others.");
  out.emplace_back(
      "Try an analysis on the synthetic records first, then ask those who may see the real ones to run it "
      "there.");
  return out;
}

}  // namespace

std::string drawn_not_copied(const release::Artifact& a) {
  return std::string("They are drawn from the model, not copied; one may equal a real one. ") +
         (a.is_private ? "What they can tell of a person is bounded by epsilon alone."
                       : "Nothing bounds what they can tell of a person.");
}

void public_use(const PublicMaterial& m, Page& page) {
  const release::Artifact& a = m.artifact();
  page.heading("How to go on");
  page.list(going_on(m));
  page.heading("How to cite it");
  const auto promise = release::promise_of(a);
  std::string cite =
      a.is_private && promise
          ? fmt::format(
                "Synthetic data by muffle {}, ({}, {})-differentially private ({} adjacency, at most {} "
                "record{} a person).",
                a.muffle_version, exact_text(promise->epsilon), exact_text(a.noise.delta),
                a.adjacency == privacy::Adjacency::kReplaceOne ? "replace-one" : "add/remove-one",
                a.max_records_per_person, a.max_records_per_person == 1 ? "" : "s")
          : fmt::format("Made by muffle {} with seeded test noise, or none: NOT PRIVATE.", a.muffle_version);
  cite += fmt::format("\nRelease SHA-256 {}", m.release_hash);
  if (m.model) cite += fmt::format("\nModel SHA-256 {}", m.model_hash);
  if (m.samples) cite += fmt::format("\nSamples SHA-256 {} ({})", m.samples_hash, m.samples_name);
  page.lines(cite);
  page.heading("What it must not be used for");
  page.list(
      {"To decide about a person. No synthetic record is one. " + drawn_not_copied(a),
       "To look for people in it, or to join it with other data so as to find them.",
       "To tell how frequent rare things are, to look for outliers, or to count small groups.",
       "As the only ground of a finding: whatever matters is to be confirmed on the real data, by those who "
       "may.",
       "To tune or choose the release, the model or the samples by scores on the real records and then "
       "publish them under the same guarantee: "
       "such choices cost privacy that nobody has accounted for."});
  page.note(
      "Confidence intervals and p-values that are computed from synthetic records as if they were real ones "
      "are too narrow: they know nothing of the noise.");
}

}  // namespace muffle::report
