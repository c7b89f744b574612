#include "support/networks.hpp"

#include <torch/script.h>

#include "muffle/core/philox.hpp"
#include "support/temporary_folder.hpp"

namespace muffle::test {
namespace {

torch::Tensor numbers(std::vector<std::int64_t> shape, std::uint64_t seed) {
  const CounterStream stream(seed, Stream::kTest);
  torch::Tensor t = torch::empty(shape);
  for (std::int64_t i = 0; i < t.numel(); ++i)
    t.data_ptr<float>()[i] = static_cast<float>(stream.normal(static_cast<std::uint64_t>(i)));
  return t;
}

}  // namespace

std::filesystem::path write_network(const std::filesystem::path& path, const NetworkFile& network) {
  torch::jit::Module module("Small");
  module.register_parameter("w", numbers({4, 3, 3, 3}, 1), false);
  module.register_parameter("v", numbers({5, 4, 3, 3}, 2), false);
  module.register_parameter("b", numbers({5}, 3), false);
  module.register_attribute("training", c10::BoolType::get(), true);
  module.register_attribute("seen", c10::FloatType::get(), 0.0);
  module.define("def forward(self, x):\n" + network.body);
  if (!network.forked.empty()) {
    module.define("def side(self, x):\n" + network.forked);
    const auto graph = module.get_method("forward").graph();
    torch::jit::Node* const fork = graph->create(c10::prim::fork, graph->inputs().vec(), 1);
    fork->g_(c10::attr::Subgraph, module.get_method("side").graph()->copy());
    fork->output()->setType(c10::FutureType::create(c10::TensorType::get()));
    graph->prependNode(fork);
    // What it says is used, or the compiler would leave it out.
    const torch::jit::WithInsertPoint after(fork->next());
    torch::jit::Value* const x = graph->inputs().at(1);
    torch::jit::Value* const said = graph->insert(c10::aten::wait, {fork->output()});
    torch::jit::Value* const sum = graph->insert(c10::aten::add, {x, said});
    x->replaceAllUsesAfterNodeWith(sum->node(), sum);
  }
  if (network.keeps_in_constant) {  // as torch.jit.trace leaves a tensor that a function captured
    const auto graph = module.get_method("forward").graph();
    const torch::jit::WithInsertPoint before(*graph->nodes().begin());
    torch::jit::Value* const x = graph->inputs().at(1);
    torch::jit::Value* const mean = graph->insert(c10::aten::mean, {x});
    torch::jit::Value* const kept = graph->insertConstant(torch::zeros({}));
    torch::jit::Value* const sum =
        graph->insert(c10::aten::add, {x, graph->insert(c10::aten::add_, {kept, mean})});
    x->replaceAllUsesAfterNodeWith(sum->node(), sum);
  }
  torch::jit::ExtraFilesMap extra;
  const std::string side = std::to_string(network.side);
  extra["muffle.json"] =
      network.manifest.empty()
          ? R"({"format": "muffle network", "version": 1, "license": ")" + network.license +
                R"(", "flops": 27648, "signs": ")" + network.signs +
                R"(", "input": {"channels": 3, "height": )" + side + R"(, "width": )" + side +
                R"(, "order": ")" + network.order +
                R"(", "scale": 1, "mean": [0.5, 0.4, 0.3], "std": [0.3, 0.25, 0.2]}, "layers": )" +
                network.layers + "}"
          : network.manifest;
  if (network.manifest == "none") extra.clear();
  module.save(path.string(), extra);
  return path;
}

std::string small_network(bool signed_outputs) {
  static const TemporaryFolder folder;
  static const std::string positive = write_network(folder / "positive.pt").string();
  static const std::string any = [] {
    NetworkFile network;
    for (std::size_t at = 0; (at = network.body.find("sigmoid", at)) != std::string::npos;)
      network.body.replace(at, 7, "tanh");
    network.signs = "any";
    return write_network(folder / "any.pt", network).string();
  }();
  return signed_outputs ? any : positive;
}

}  // namespace muffle::test
