#include "muffle/model/model_file.hpp"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "muffle/core/container.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/core/hash.hpp"

namespace muffle::model {
namespace {

using nlohmann::json;

constexpr std::string_view kFormat = "muffle-model", kEarlierMoments = "muffle-moments-model";
constexpr std::size_t kMostText = 1024, kMostClasses = std::size_t{1} << 24;

json choice_json(const std::optional<ProxyChoice>& choice) {
  if (!choice) return nullptr;
  return {{"trained", choice->trained},
          {"closed_form", choice->closed_form},
          {"after_training", choice->after_training},
          {"deviation", choice->deviation},
          {"closed_form_deviation", choice->closed_form_deviation}};
}

std::optional<ProxyChoice> read_choice(const JsonFields& fields) {
  if (fields.at("choice").is_null()) return std::nullopt;
  const JsonFields made = fields.object("choice");
  made.only({"trained", "closed_form", "after_training", "deviation", "closed_form_deviation"});
  return ProxyChoice{made.flag("trained"), made.number("closed_form"), made.number("after_training"),
                     made.number("deviation"), made.number("closed_form_deviation")};
}

json header_of(const ModelInfo& info, const ModelContent& content) {
  json generator = info.generator->to_json();
  generator["kind"] = info.generator->kind();
  json out{{"format", kFormat},
           {"version", kModelVersion},
           {"generator", std::move(generator)},
           {"schema", to_json(info.schema)},
           {"class_share", info.class_share},
           {"release_hash", info.release_hash},
           {"train_hash", info.train_hash},
           {"is_private", info.is_private},
           {"counts_released", info.counts_released},
           {"choice", choice_json(info.choice)},
           {"content", content.description}};
  if (info.curve) out["curve"] = to_json(*info.curve);
  return out;
}

ModelInfo read_info(const JsonFields& fields) {
  fields.only({"format", "version", "generator", "schema", "class_share", "release_hash", "train_hash",
               "is_private", "counts_released", "choice", "curve", "content"});
  ModelInfo info;
  const JsonFields generator = fields.object("generator");
  const std::string kind = generator.text("kind", 64);
  try {
    std::unique_ptr<GeneratorSettings> settings = make_generator_settings(kind);
    settings->read_json(generator);
    info.generator = std::move(settings);
  } catch (const ConfigError& e) {
    generator.fail("kind", fmt::format("is unknown: {}", e.what()));
  }
  info.schema = schema::read_schema(fields.object("schema"));
  settings::Problems problems;
  info.generator->problems(&info.schema, problems);
  if (!problems.empty()) fields.fail("generator", "cannot be built: " + problems.take().front());
  if (info.schema.classes > kMostClasses) fields.fail("schema", "has too many classes");
  info.class_share = fields.numbers("class_share", info.schema.classes);
  double sum = 0.0;
  for (const double p : info.class_share) sum += p >= 0.0 ? p : NAN;
  if (!(std::fabs(sum - 1.0) < 1e-6))
    fields.fail("class_share", fmt::format("has shares that sum to {}", sum));
  info.release_hash = fields.text("release_hash", kMostText);
  info.train_hash = fields.text("train_hash", kMostText);
  info.is_private = fields.flag("is_private");
  info.counts_released = fields.flag("counts_released");
  info.choice = read_choice(fields);
  if (fields.has("curve")) info.curve = read_training_curve(fields.object("curve"));
  return info;
}

/// A file whose checksum is right.
struct Read {
  Container file;
  JsonDocument document;

  JsonFields fields() const { return JsonFields(file.header, document); }
};

Read read_container(std::string_view bytes, const std::string& name) {
  if (container_format(bytes) == kEarlierMoments)
    throw ProtocolError(fmt::format(
        "'{}' is a closed form of an earlier muffle, which this one does not read: train again.", name));
  return {parse_container(bytes, kFormat, kModelVersion, name),
          {name, "a model that this muffle can use", "Train again."}};
}

Model open(const Read& read) {
  const JsonFields fields = read.fields();
  Model out{read_info(fields), nullptr};
  out.sampler = out.info.generator->open(out.info, fields.object("content"), read.file.payload);
  return out;
}

}  // namespace

double share(const JsonFields& fields, std::string_view key) {
  const double value = fields.number(key);
  if (!(value >= 0 && value <= 1)) fields.fail(key, "is no share");
  return value;
}

ModelInfo load_model_info(const std::filesystem::path& path) {
  const Read read = read_container(read_file(path), path.string());
  const JsonFields fields = read.fields();
  ModelInfo info = read_info(fields);
  (void)fields.object("content");
  return info;
}

Model parse_model(std::string_view bytes, const std::string& name) {
  return open(read_container(bytes, name));
}

ModelParts take_apart(std::string_view bytes, const std::string& name) {
  Read read = read_container(bytes, name);
  const ModelInfo info = open(read).info;
  const JsonFields fields = read.fields();
  std::vector<NamedArray> arrays = info.generator->arrays(info, fields.object("content"), read.file.payload);
  return {std::move(read.file.header), std::move(arrays)};
}

std::string save_model(const std::filesystem::path& path, const ModelInfo& info,
                       const ModelContent& content) {
  const Container file{header_of(info, content), content.payload};
  const std::string bytes = serialize(file);
  parse_model(bytes, path.string());  // what we write, we can read
  write_file_atomically(path, bytes);
  return to_hex(sha256(PublicBytes(bytes)));
}

}  // namespace muffle::model
