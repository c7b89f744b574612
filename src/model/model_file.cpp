#include "muffle/model/model_file.hpp"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <string_view>

#include "closed_form_tensors.hpp"
#include "header_fields.hpp"
#include "muffle/core/container.hpp"
#include "muffle/core/error.hpp"
#include "muffle/core/files.hpp"
#include "muffle/model/moments_model.hpp"

namespace muffle::model {
namespace {

static_assert(std::endian::native == std::endian::little,
              "model payloads are little-endian and copied as they lie");

using nlohmann::json;

constexpr std::string_view kFormat = "muffle-model";
/// Parameters and buffers in the module's order. They share storage with the generator.
std::vector<std::pair<std::string, torch::Tensor>> named_tensors(const Generator& generator) {
  std::vector<std::pair<std::string, torch::Tensor>> out;
  for (const auto& p : generator.named_parameters()) out.emplace_back(p.key(), p.value());
  for (const auto& b : generator.named_buffers()) out.emplace_back(b.key(), b.value());
  return out;
}

json header_of(const ModelInfo& info) {
  json header{
      {"format", kFormat},
      {"version", kModelVersion},
      {"generator",
       {{"kind", info.spec.kind == GeneratorKind::kConvolutional ? "convolutional" : "fully-connected"},
        {"code", info.spec.code},
        {"hidden", info.spec.hidden},
        {"channels", info.spec.channels},
        {"residual", info.spec.residual},
        {"plain_share", info.spec.plain_share}}},
      {"schema", schema_header(info.spec.schema)},
      {"tensors", json::array()}};
  add_provenance(header, info);
  return header;
}

GeneratorSpec parse_spec(const json& header, const std::string& name) {
  const Fields generator(header.at("generator"), fmt::format("{}: the generator's description", name),
                         {"kind", "code", "hidden", "channels", "residual", "plain_share"});
  GeneratorSpec spec;
  const std::string kind = generator.text("kind");
  if (kind != "convolutional" && kind != "fully-connected")
    generator.fail(fmt::format("has unknown kind '{}'", kind));
  spec.kind = kind == "convolutional" ? GeneratorKind::kConvolutional : GeneratorKind::kFullyConnected;
  spec.code = generator.size("code", 1);
  spec.hidden = generator.sizes("hidden", 64);
  spec.channels = generator.sizes("channels", 2);
  spec.residual = generator.boolean("residual");
  spec.plain_share = generator.number("plain_share");
  if (!(spec.plain_share >= 0 && spec.plain_share <= 1)) generator.fail("has a plain_share that is no share");
  spec.schema = parse_schema(header, name);
  return spec;
}

ModelInfo parse_info(const json& header, const std::string& name) {
  const Fields fields(header, fmt::format("{}: the model's header", name),
                      {"format", "version", "generator", "schema", "class_share", "release_hash",
                       "train_hash", "is_private", "choice", "tensors"},
                      {"counts_released"});
  ModelInfo info;
  info.spec = parse_spec(header, name);
  parse_provenance(fields, info);
  return info;
}

/// Numbers in the generator's tensors, in floating point so that a lying header cannot overflow it; found
/// before anything is allocated.
double expected_numbers(const GeneratorSpec& spec) {
  const auto linear = [](double in, double out) { return (in + 1.0) * out; };
  double width = static_cast<double>(spec.code + spec.schema.classes), total = 0.0, dims = 1.0;
  for (const std::size_t h : spec.hidden) {
    total += (width + 4.0) * static_cast<double>(h);  // linear without bias, and batch norm
    width = static_cast<double>(h);
  }
  for (const std::size_t s : spec.schema.shape) dims *= static_cast<double>(s);
  if (spec.residual) total += closed_form_numbers(spec);
  if (spec.kind == GeneratorKind::kFullyConnected) return total + linear(width, dims);
  if (spec.channels.size() != 2 || spec.schema.shape.size() != 3) return -1.0;
  const auto c0 = static_cast<double>(spec.channels[0]), c1 = static_cast<double>(spec.channels[1]);
  const auto out = static_cast<double>(spec.schema.shape[0]);
  const double seed_image = c0 * (dims / out) / 16.0;
  return total + (width + 4.0) * seed_image + linear(25.0 * c0, c1) + linear(25.0 * c1, out);
}

void copy_tensors(const Container& file, Generator& generator, const std::string& name) {
  const torch::NoGradGuard no_grad;
  const auto tensors = named_tensors(generator);
  const json& list = file.header.at("tensors");
  if (!list.is_array() || list.size() != tensors.size()) {
    throw ProtocolError(fmt::format("{} does not list the {} tensors that its generator has: train again",
                                    name, tensors.size()));
  }
  std::size_t offset = 0;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    const auto& [key, tensor] = tensors[i];
    const json expected{{"name", key}, {"shape", tensor.sizes().vec()}, {"offset", offset}};
    if (list[i] != expected) {
      throw ProtocolError(
          fmt::format("{}: tensor {} is described as {}, where its generator has {}: train again", name, i,
                      list[i].dump(), expected.dump()));
    }
    // A tensor without elements has no address.
    if (tensor.numel() > 0)
      std::memcpy(tensor.data_ptr<float>(), file.payload.data() + offset, tensor.nbytes());
    offset += tensor.nbytes();
    if (!torch::isfinite(tensor).all().item<bool>()) {
      throw ProtocolError(
          fmt::format("{}: tensor {} holds numbers that are not finite: train again", name, key));
    }
  }
}

}  // namespace

std::string save_model(const std::filesystem::path& path, const ModelInfo& info, const Generator& generator) {
  Container file;
  file.header = header_of(info);
  for (const auto& [name, tensor] : named_tensors(generator)) {
    const torch::Tensor host = tensor.detach().to(torch::kCPU, torch::kFloat32).contiguous();
    require(torch::isfinite(host).all().item<bool>(),
            fmt::format("the trained tensor {} is not finite", name));
    file.header["tensors"].push_back(
        {{"name", name}, {"shape", host.sizes().vec()}, {"offset", file.payload.size()}});
    const auto* bytes = static_cast<const std::byte*>(host.data_ptr());
    file.payload.insert(file.payload.end(), bytes, bytes + host.nbytes());
  }
  parse_info(file.header, path.string());  // what we write, we can read
  return write_container(path, file);
}

ModelInfo load_model_info(const std::filesystem::path& path) {
  const std::string bytes = read_file(path);
  if (holds_moments_model(bytes)) return parse_moments_model(bytes, path.string()).info;
  return parse_info(parse_container(bytes, kFormat, kModelVersion, path.string()).header, path.string());
}

std::pair<ModelInfo, std::shared_ptr<Generator>> parse_model(std::string_view bytes,
                                                             const std::string& name) {
  const Container file = parse_container(bytes, kFormat, kModelVersion, name);
  ModelInfo info = parse_info(file.header, name);
  if (expected_numbers(info.spec) * sizeof(float) != static_cast<double>(file.payload.size())) {
    throw ProtocolError(
        fmt::format("{}: {} bytes of tensors do not fit the generator it describes: train again", name,
                    file.payload.size()));
  }
  std::shared_ptr<Generator> generator;
  try {
    generator = make_generator(info.spec, 0, nullptr);
  } catch (const ConfigError& e) {
    throw ProtocolError(fmt::format("{}: describes no generator that can be built: {}", name, e.what()));
  }
  copy_tensors(file, *generator, name);
  generator->eval();
  return {std::move(info), std::move(generator)};
}

std::pair<ModelInfo, std::shared_ptr<Generator>> load_model(const std::filesystem::path& path) {
  return parse_model(read_file(path), path.string());
}

}  // namespace muffle::model
