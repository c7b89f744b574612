#include "graph_checks.hpp"

#include <torch/csrc/jit/ir/alias_analysis.h>
#include <torch/csrc/jit/passes/inliner.h>
#include <torch/script.h>

#include <algorithm>
#include <functional>
#include <set>
#include <string>

namespace muffle::networks {
namespace {

using torch::jit::Node;
using torch::jit::Value;

/// Of the method that is called, with all that it calls.
std::shared_ptr<torch::jit::Graph> code_of(const torch::jit::Module& module) {
  std::shared_ptr<torch::jit::Graph> graph = module.get_method("forward").graph()->copy();
  torch::jit::Inline(*graph);
  return graph;
}

bool all_nodes(const torch::jit::Block& block, const std::function<bool(Node&)>& good) {
  for (Node* node : const_cast<torch::jit::Block&>(block).nodes()) {
    if (!good(*node)) return false;
    for (const torch::jit::Block* inner : node->blocks()) {
      if (!all_nodes(*inner, good)) return false;
    }
  }
  return true;
}

bool is_fixed(const Value& value) {
  const auto kind = value.node()->kind();
  return kind == c10::prim::GetAttr || kind == c10::prim::Constant || kind == c10::prim::ListConstruct;
}

/// Its first input is images, and so is its output; further ones are the network's own, but the second of a
/// sum.
const std::set<std::string> kOneByOne{"aten::conv2d",
                                      "aten::_convolution",
                                      "aten::relu",
                                      "aten::relu_",
                                      "aten::leaky_relu",
                                      "aten::leaky_relu_",
                                      "aten::hardtanh",
                                      "aten::hardtanh_",
                                      "aten::silu",
                                      "aten::silu_",
                                      "aten::gelu",
                                      "aten::sigmoid",
                                      "aten::tanh",
                                      "aten::max_pool2d",
                                      "aten::avg_pool2d",
                                      "aten::adaptive_avg_pool2d",
                                      "aten::reflection_pad2d",
                                      "aten::replication_pad2d",
                                      "aten::pad",
                                      "aten::batch_norm",
                                      "aten::add",
                                      "aten::add_"};

bool one_by_one(Node& node) {
  const std::string name = node.kind().toQualString();
  if (name == "prim::GetAttr" || name == "prim::Constant" || name == "prim::ListConstruct" ||
      name == "prim::TupleConstruct")
    return true;
  if (!kOneByOne.contains(name)) return false;
  const bool sum = name == "aten::add" || name == "aten::add_";
  for (std::size_t i = sum ? 2 : 1; i < node.inputs().size(); ++i) {
    if (!is_fixed(*node.input(i))) return false;
  }
  if (name != "aten::batch_norm") return true;
  // Not by the batch's own means.
  const auto training = torch::jit::toIValue(node.namedInput("training"));
  return training && training->isBool() && !training->toBool();
}

}  // namespace

bool hides_code(const torch::jit::Module& module) {
  static const std::set<std::string> kCalls{"prim::fork",         "prim::awaitable",  "prim::Closure",
                                            "prim::CallFunction", "prim::CallMethod", "prim::PythonOp",
                                            "prim::rpc_async",    "prim::rpc_remote", "prim::rpc_sync"};
  return !all_nodes(*code_of(module)->block(), [](Node& node) {
    return !node.hasAttribute(c10::attr::Subgraph) && !kCalls.contains(node.kind().toQualString());
  });
}

bool keeps_state(const torch::jit::Module& module) {
  const auto graph = code_of(module);
  const torch::jit::AliasDb aliases(graph);
  return !all_nodes(*graph->block(), [&](Node& node) {
    if (node.kind() == c10::prim::SetAttr) return false;
    return node.kind() != c10::prim::GetAttr || !aliases.hasWriters(node.output());
  });
}

bool tells(const torch::jit::Module& module) {
  static const std::set<std::string> kTelling{"prim::Print", "aten::warn", "aten::save", "aten::from_file"};
  return !all_nodes(*code_of(module)->block(),
                    [](Node& node) { return !kTelling.contains(node.kind().toQualString()); });
}

bool treats_images_apart(const torch::jit::Module& module) {
  return all_nodes(*code_of(module)->block(), one_by_one);
}

}  // namespace muffle::networks
