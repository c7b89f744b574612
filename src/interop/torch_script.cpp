#include "muffle/interop/torch_script.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <torch/script.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <sstream>
#include <vector>

#include "muffle/core/error.hpp"
#include "muffle/core/philox.hpp"
#include "muffle/model/generator.hpp"
#include "muffle/synth/sampler.hpp"
#include "sampling_script.hpp"

namespace muffle::interop {
namespace {

/// A module with the same parameters, buffers and submodules, and without methods.
torch::jit::Module copy_of(const torch::nn::Module& module, const std::string& name,
                           const std::shared_ptr<torch::jit::CompilationUnit>& unit) {
  torch::jit::Module out(c10::QualifiedName("__torch__.muffle." + name), unit, /*shouldMangle=*/true);
  for (const auto& p : module.named_parameters(/*recurse=*/false))
    out.register_parameter(p.key(), p.value().detach().clone(), /*is_buffer=*/false);
  for (const auto& b : module.named_buffers(/*recurse=*/false))
    out.register_buffer(b.key(), b.value().detach().clone());
  for (const auto& child : module.named_children())
    out.register_module(child.key(), copy_of(*child.value(), child.key(), unit));
  return out;
}

/// What is peculiar to this model in what all of them have.
std::string own_script(const model::ModelInfo& info) {
  const schema::Schema& schema = info.schema;
  const std::vector<double> uniform(schema.classes, 1.0 / static_cast<double>(schema.classes));
  std::string stored = fmt::format("({:.17e} + unit * {:.17e}).float()", schema.lo, schema.hi - schema.lo);
  if (schema.is_image()) stored = "torch.floor(255.0 * unit + 0.5).byte()";
  return fmt::format(R"(
def class_share(self, released_counts: bool) -> List[float]:
    if released_counts:
        assert {0}, "the model's release holds no class counts"
        return [{1:.17e}]
    return [{2:.17e}]

def stored(self, records: Tensor) -> Tensor:
    unit = records.double().clamp(0.0, 1.0)
    return {3}
)",
                     info.counts_released ? "True" : "False", fmt::join(info.class_share, ", "),
                     fmt::join(uniform, ", "), stored);
}

}  // namespace

std::string torch_script_bytes(const model::Model& model, const nlohmann::json& header) {
  const model::Generator* const generator = model.sampler->generator();
  if (generator == nullptr) {
    throw ConfigError(fmt::format(
        "a model of generator \"{}\" is a closed form, no network, and TorchScript holds networks: export it "
        "as npz or safetensors",
        model.info.generator->kind()));
  }
  const auto unit = std::make_shared<torch::jit::CompilationUnit>();
  torch::jit::Module module = copy_of(*generator, "Generator", unit);
  module.register_attribute("description", c10::StringType::get(), header.dump());
  module.define(kRandomScript + generator->script() + own_script(model.info) +
                fmt::format(kSampleScript, synth::kTileRecords, static_cast<int>(Stream::kSampleLabels),
                            generator->named_parameters().front().key()));
  module.eval();
  std::ostringstream out;
  module.save(out);
  return out.str();
}

}  // namespace muffle::interop
