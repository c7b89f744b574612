#include "artifact_header.hpp"

#include <fmt/format.h>

#include <cmath>
#include <limits>

#include "muffle/core/error.hpp"
#include "muffle/core/float_text.hpp"

namespace muffle::embed {
namespace {

using nlohmann::json;

constexpr std::uint64_t kMaxShapeEntry = std::uint64_t{1} << 31;
constexpr char kMechanism[] = "rounded Gaussian on the integer lattice";

/// Reads typed fields; every complaint names the field. No JSON exception escapes.
class Fields {
 public:
  Fields(const json& object, std::string path, const std::string& file)
      : object_(object), path_(std::move(path)), file_(file) {
    if (!object.is_object()) fail("", "is not an object");
  }

  Fields object(const char* key) const { return {at(key), path_ + key + ".", file_}; }

  /// An element of the list `key`.
  Fields element(const char* key, const json& entry) const { return {entry, path_ + key + ".", file_}; }

  bool has(const char* key) const { return object_.contains(key); }

  std::uint64_t integer(const char* key, std::uint64_t low, std::uint64_t high) const {
    const json& v = at(key);
    if (!v.is_number_unsigned()) fail(key, "is not a whole number, 0 or more");
    const auto value = v.get<std::uint64_t>();
    if (value < low || value > high) fail(key, fmt::format("is {}, not in {} .. {}", value, low, high));
    return value;
  }
  double number(const char* key) const {
    const json& v = at(key);
    if (!v.is_number()) fail(key, "is not a number");
    const auto value = v.get<double>();
    if (!std::isfinite(value)) fail(key, "is not finite");
    return value;
  }
  bool flag(const char* key) const {
    const json& v = at(key);
    if (!v.is_boolean()) fail(key, "is neither true nor false");
    return v.get<bool>();
  }
  std::string text(const char* key, std::size_t max_length) const {
    const json& v = at(key);
    if (!v.is_string()) fail(key, "is not a text");
    const auto& value = v.get_ref<const std::string&>();
    if (value.size() > max_length)
      fail(key, fmt::format("has {} characters, more than {}", value.size(), max_length));
    return value;
  }
  /// One of `words`; its index.
  std::size_t choice(const char* key, std::initializer_list<std::string_view> words) const {
    const std::string value = text(key, 64);
    std::size_t i = 0;
    for (const std::string_view word : words) {
      if (value == word) return i;
      ++i;
    }
    fail(key, "is a word that this muffle does not know");
  }
  const json& list(const char* key, std::size_t max_length) const {
    const json& v = at(key);
    if (!v.is_array() || v.empty() || v.size() > max_length)
      fail(key, fmt::format("is not a list of 1 to {}", max_length));
    return v;
  }
  [[noreturn]] void fail(const std::string& key, const std::string& what) const {
    throw ProtocolError(
        fmt::format("'{}' is not a release that muffle can use: the header field '{}{}' {}. Copy the file "
                    "again from where it was made; a release must not be drawn again to replace it.",
                    file_, path_, key, what));
  }

 private:
  const json& at(const char* key) const {
    const auto it = object_.find(key);
    if (it == object_.end()) fail(key, "is missing");
    return *it;
  }

  const json& object_;
  std::string path_;
  const std::string& file_;
};

void read_features(const Fields& f, Artifact& a) {
  (void)f.choice("map", {"random-fourier"});
  a.rff.dims = f.integer("dims", 1, kMaxShapeEntry);
  a.rff.features = f.integer("features", 2, kMaxShapeEntry);
  a.rff.length_scale = f.number("length_scale");
  a.rff.kind = f.choice("kind", {"dense", "orthogonal"}) == 0 ? features::FrequencyKind::kDense
                                                              : features::FrequencyKind::kOrthogonal;
  a.rff.seed = f.integer("seed", 0, std::numeric_limits<std::uint64_t>::max());
  a.frequencies_hash = f.text("frequencies_sha256", 64);
}

void read_schema(const Fields& f, Artifact& a) {
  for (const json& entry : f.list("shape", 4)) {
    if (!entry.is_number_unsigned()) f.fail("shape", "holds something that is not a whole number");
    a.schema.shape.push_back(entry.get<std::uint64_t>());
  }
  a.schema.classes = f.integer("classes", 1, std::uint64_t{1} << 20);
  a.schema.lo = f.number("lo");
  a.schema.hi = f.number("hi");
  a.schema.on_error = f.choice("on_error", {"reject-file", "clamp"}) == 0 ? data::OnError::kRejectFile
                                                                          : data::OnError::kClamp;
}

void read_aggregation(const Fields& f, Artifact& a) {
  privacy::AggregationMode& mode = a.aggregation;
  const std::size_t which = f.choice("mode", {"single coordinator", "masked", "distributed noise"});
  mode.masked = which >= 1;
  mode.distributed = which == 2;
  mode.signed_keys = f.flag("signed_keys");
  mode.colluding = static_cast<int>(f.integer("colluding_ranks", 0, std::numeric_limits<int>::max()));
  mode.ranks = a.ranks;
}

void read_privacy(const Fields& f, Artifact& a) {
  (void)f.choice("mechanism", {kMechanism});
  a.adjacency = f.choice("adjacency", {to_string(privacy::Adjacency::kReplaceOne),
                                       to_string(privacy::Adjacency::kAddRemoveOne)}) == 0
                    ? privacy::Adjacency::kReplaceOne
                    : privacy::Adjacency::kAddRemoveOne;
  a.max_records_per_person = f.integer("max_records_per_person", 1, 1'000'000);
  privacy::NoisePlan& noise = a.noise;
  noise.epsilon = f.number("epsilon");
  noise.delta = f.number("delta");
  noise.noise_multiplier = f.number("noise_multiplier");
  noise.sensitivity.value = f.number("sensitivity");
  noise.sensitivity.derivation = f.text("sensitivity_derivation", 1 << 16);
  noise.sigma = f.number("sigma");
  noise.sigma_lattice = f.integer("sigma_lattice", 1, privacy::kMaxSigmaLattice);
  for (const json& entry : f.list("blocks", 64)) {
    const Fields block = f.element("blocks", entry);
    noise.sensitivity_input.blocks.push_back(
        {block.number("norm"), block.flag("nonnegative_kernel"), block.text("theorem", 1 << 12)});
  }
}

}  // namespace

json to_header(const Artifact& a) {
  json blocks = json::array();
  for (const features::BlockBound& b : a.noise.sensitivity_input.blocks) {
    blocks.push_back(
        {{"norm", b.norm}, {"nonnegative_kernel", b.nonnegative_kernel}, {"theorem", b.theorem}});
  }
  json header = {
      {"format", "muffle-release"},
      {"version", kArtifactVersion},
      {"muffle_version", a.muffle_version},
      {"private", a.is_private},
      {"features",
       {{"map", "random-fourier"},
        {"dims", a.rff.dims},
        {"features", a.rff.features},
        {"length_scale", a.rff.length_scale},
        {"kind", a.rff.kind == features::FrequencyKind::kDense ? "dense" : "orthogonal"},
        {"seed", a.rff.seed},
        {"frequencies_sha256", a.frequencies_hash}}},
      {"schema",
       {{"shape", a.schema.shape},
        {"classes", a.schema.classes},
        {"lo", a.schema.lo},
        {"hi", a.schema.hi},
        {"on_error", a.schema.on_error == data::OnError::kRejectFile ? "reject-file" : "clamp"}}},
      {"lattice_bits", a.lattice_bits},
      {"counts", {{"released", a.counts}, {"weight", a.counts_weight}}},
      {"records", a.records},
      {"ranks", a.ranks},
      {"aggregation",
       {{"mode", privacy::name_of(a.aggregation)},
        {"signed_keys", a.aggregation.signed_keys},
        {"colluding_ranks", a.aggregation.colluding}}},
      {"config_sha256", a.config_hash},
      {"ledger", {{"data_id", a.data_id}, {"charge", a.ledger_charge}}},
      {"privacy",
       {{"mechanism", kMechanism},
        {"adjacency", to_string(a.adjacency)},
        {"max_records_per_person", a.max_records_per_person},
        {"epsilon", a.noise.epsilon},
        {"delta", a.noise.delta},
        {"noise_multiplier", a.noise.noise_multiplier},
        {"sensitivity", a.noise.sensitivity.value},
        {"sensitivity_derivation", a.noise.sensitivity.derivation},
        {"blocks", blocks},
        {"sigma", a.noise.sigma},
        {"sigma_lattice", a.noise.sigma_lattice}}},
      {"values",
       {{"count", a.values.size()},
        {"type", "int64 little-endian"},
        {"layout", "classes x features, then counts"}}},
  };
  if (!a.is_private) header["warning"] = kNotPrivate;
  return header;
}

Artifact from_header(const json& header, const std::string& name) {
  const Fields f(header, "", name);
  Artifact a;
  a.muffle_version = f.text("muffle_version", 64);
  a.is_private = f.flag("private");
  read_features(f.object("features"), a);
  read_schema(f.object("schema"), a);
  a.lattice_bits = static_cast<int>(f.integer("lattice_bits", 8, 24));
  a.noise.lattice_bits = a.lattice_bits;
  a.counts = f.object("counts").flag("released");
  a.counts_weight = f.object("counts").number("weight");
  a.records = f.integer("records", 0, std::uint64_t{1} << 62);
  a.ranks = static_cast<int>(f.integer("ranks", 1, std::numeric_limits<int>::max()));
  // Files without it were made when there was nothing but a single coordinator.
  if (f.has("aggregation")) read_aggregation(f.object("aggregation"), a);
  a.config_hash = f.text("config_sha256", 128);
  a.data_id = f.object("ledger").text("data_id", 128);
  a.ledger_charge = f.object("ledger").text("charge", 32);
  read_privacy(f.object("privacy"), a);
  a.noise.sensitivity_input.adjacency = a.adjacency;
  a.noise.sensitivity_input.counts = a.counts;
  a.noise.sensitivity_input.counts_weight = a.counts_weight;
  a.noise.sensitivity_input.max_records_per_person = a.max_records_per_person;
  const Fields values = f.object("values");
  (void)values.integer("count", 1, std::numeric_limits<std::uint64_t>::max());
  (void)values.choice("type", {"int64 little-endian"});
  (void)values.choice("layout", {"classes x features, then counts"});
  return a;
}

}  // namespace muffle::embed
