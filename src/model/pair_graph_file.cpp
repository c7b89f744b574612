#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "muffle/model/closed_forms.hpp"
#include "muffle/model/model_file.hpp"

namespace muffle::model {
namespace {

static_assert(std::endian::native == std::endian::little,
              "model payloads are little-endian and copied as they lie");

void append_floats(std::vector<std::byte>& payload, const std::vector<float>& numbers) {
  const auto* bytes = reinterpret_cast<const std::byte*>(numbers.data());
  payload.insert(payload.end(), bytes, bytes + numbers.size() * sizeof(float));
}

/// Floats of a payload one after another.
class FloatReader {
 public:
  FloatReader(const JsonFields& fields, std::span<const std::byte> payload)
      : fields_(fields), payload_(payload) {}

  std::vector<float> take(std::size_t count) {
    if (count > payload_.size() / sizeof(float))
      fields_.fail("laws", "come with fewer numbers than they need");
    std::vector<float> out(count);
    if (count > 0) std::memcpy(out.data(), payload_.data(), count * sizeof(float));
    payload_ = payload_.subspan(count * sizeof(float));
    for (const float v : out) {
      // Far beyond every fitted law; sums over a record's pairs stay finite.
      if (!(std::fabs(v) <= 1e6f)) fields_.fail("laws", "have numbers that are not finite or far too large");
    }
    return out;
  }
  void end() const {
    if (!payload_.empty()) fields_.fail("laws", "come with more numbers than they need");
  }

 private:
  const JsonFields& fields_;
  std::span<const std::byte> payload_;
};

/// Rows of `width` probabilities.
void check_rows(const JsonFields& fields, const std::vector<float>& rows, std::size_t width) {
  for (std::size_t from = 0; from < rows.size(); from += width) {
    double sum = 0;
    for (std::size_t x = 0; x < width; ++x) {
      const auto v = static_cast<double>(rows[from + x]);
      sum += v >= 0 ? v : std::nan("");
    }
    if (!(std::fabs(sum - 1) < 1e-3)) fields.fail("laws", "have a row that is not shares of one");
  }
}

pair_graph::PairGraphLaw read_law(const JsonFields& fields, const std::vector<std::size_t>& codes,
                                  FloatReader& numbers) {
  fields.only({"columns", "parents", "pairs"});
  const std::size_t d = codes.size();
  const auto columns = fields.sizes("columns", d, 0, d - 1), parents = fields.sizes("parents", d, 0, d - 1),
             pairs = fields.sizes("pairs", d * d, 0, d * d - 1, true);
  if (columns.size() != d || parents.size() != d) fields.fail("columns", "are not all columns");
  pair_graph::PairGraphLaw law;
  std::vector<bool> drawn(d, false);
  for (std::size_t b = 0; b < d; ++b) {
    const bool root = parents[b] == columns[b];
    if (drawn[columns[b]] || (!root && !drawn[parents[b]])) fields.fail("columns", "make no tree");
    drawn[columns[b]] = true;
    const std::size_t rows = root ? 1 : codes[parents[b]], width = codes[columns[b]];
    law.tree.push_back({columns[b], parents[b], numbers.take(rows * width)});
    check_rows(fields, law.tree.back().given, width);
  }
  for (const std::size_t k : codes) law.field.push_back(numbers.take(k));
  std::size_t last = 0;
  for (const std::size_t pair : pairs) {
    const std::size_t first = pair / d, second = pair % d;
    if (first >= second || (!law.pairs.empty() && pair <= last))
      fields.fail("pairs", "are not pairs of columns in their order");
    last = pair;
    law.pairs.push_back({first, second, numbers.take(codes[first] * codes[second])});
  }
  return law;
}

/// Groups of a column's codes; the model then knows the column in these.
pair_graph::PairGraphCells read_groups(const JsonFields& fields, PairGraphModel& model) {
  fields.only({"column", "group"});
  pair_graph::PairGraphCells out{fields.integer("column", 0, model.codes.size() - 1), {}, {}};
  if (!model.cells.empty() && out.column <= model.cells.back().column)
    fields.fail("column", "is not above the one before it");
  std::size_t& codes = model.codes[out.column];
  const std::vector<std::size_t> group = fields.sizes("group", codes, 0, codes - 1, true);
  if (group.size() != codes) fields.fail("group", "is not of each of the column's codes");
  std::vector<bool> used(codes, false);
  for (const std::size_t g : group) used[g] = true;
  const auto groups = std::find(used.begin(), used.end(), false);
  if (std::find(groups, used.end(), true) != used.end())
    fields.fail("group", "leaves a group without a code");
  codes = static_cast<std::size_t>(groups - used.begin());
  out.group.assign(group.begin(), group.end());
  return out;
}

/// The last class's shares add up to 1 in each group.
void check_shares(const JsonFields& fields, const pair_graph::PairGraphCells& cells, std::size_t groups) {
  std::vector<double> sum(groups, 0.0);
  for (std::size_t x = 0; x < cells.group.size(); ++x) {
    const float share = cells.share.back()[x];
    if (!(share >= 0)) fields.fail("cells", "have a share below 0");
    sum[cells.group[x]] += static_cast<double>(share);
  }
  for (const double s : sum) {
    if (!(std::fabs(s - 1) < 1e-3)) fields.fail("cells", "have shares of a group that are not shares of one");
  }
}

}  // namespace

ModelContent content_of(const PairGraphModel& model) {
  ModelContent content;
  nlohmann::json laws = nlohmann::json::array();
  const std::size_t d = model.codes.size();
  for (const pair_graph::PairGraphLaw& law : model.laws) {
    std::vector<std::size_t> columns, parents, pairs;
    for (const pair_graph::PairGraphLaw::Branch& branch : law.tree) {
      columns.push_back(branch.column);
      parents.push_back(branch.parent);
      append_floats(content.payload, branch.given);
    }
    for (const std::vector<float>& field : law.field) append_floats(content.payload, field);
    for (const pair_graph::PairGraphLaw::Pair& pair : law.pairs) {
      pairs.push_back(pair.first * d + pair.second);
      append_floats(content.payload, pair.interaction);
    }
    laws.push_back({{"columns", columns}, {"parents", parents}, {"pairs", pairs}});
  }
  content.description = {{"laws", laws}};
  for (const pair_graph::PairGraphCells& cells : model.cells) {
    content.description["cells"].push_back({{"column", cells.column}, {"group", cells.group}});
    for (const std::vector<float>& share : cells.share) append_floats(content.payload, share);
  }
  return content;
}

PairGraphModel read_pair_graph(const schema::Schema& schema, std::size_t sweeps, const JsonFields& fields,
                               std::span<const std::byte> payload) {
  fields.only({"laws", "cells"});
  if (schema.table == nullptr) fields.fail("laws", "are of tables, which the schema is not");
  PairGraphModel model{schema.table->codes(), sweeps, {}};
  if (model.codes.empty()) fields.fail("laws", "are of no column");
  const std::vector<std::size_t> of_columns = model.codes;
  if (fields.has("cells")) {
    for (const JsonFields& cells : fields.objects("cells", of_columns.size()))
      model.cells.push_back(read_groups(cells, model));
  }
  FloatReader numbers(fields, payload);
  const std::vector<JsonFields> laws = fields.objects("laws", schema.classes);
  if (laws.size() != schema.classes) fields.fail("laws", "are not one for each class");
  for (const JsonFields& law : laws) model.laws.push_back(read_law(law, model.codes, numbers));
  for (pair_graph::PairGraphCells& cells : model.cells) {
    for (std::size_t c = 0; c < schema.classes; ++c) {
      cells.share.push_back(numbers.take(cells.group.size()));
      check_shares(fields, cells, model.codes[cells.column]);
    }
  }
  numbers.end();
  for (const std::size_t j : schema.table->features()) {
    if (schema.table->counted_person() == j) model.row_number = model.bin_widths.size();
    std::vector<double>& widths = model.bin_widths.emplace_back();
    const std::vector<double>& edges = schema.table->columns[j].edges;
    if (!schema.table->columns[j].is_number()) continue;
    for (std::size_t b = 0; b + 1 < edges.size(); ++b) widths.push_back(edges[b + 1] - edges[b]);
  }
  return model;
}

}  // namespace muffle::model
