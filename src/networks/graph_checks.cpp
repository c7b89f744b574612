#include "graph_checks.hpp"

#include <torch/csrc/jit/ir/alias_analysis.h>
#include <torch/csrc/jit/passes/inliner.h>
#include <torch/script.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <optional>
#include <set>
#include <sstream>
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

std::set<std::string> words(const std::string& text) {
  std::istringstream in(text);
  return {std::istream_iterator<std::string>(in), {}};
}

/// What a node does. LibTorch ends the name of what writes into its first input with "_": aten::relu_.
std::string operation(const Node& node) {
  std::string name = node.kind().toQualString();
  if (name.starts_with("aten::") && name.ends_with('_') && !name.ends_with("__")) name.pop_back();
  return name;
}

/// Its first input is images, and so is its output; further ones are the network's own, but the second of a
/// sum.
const std::set<std::string>& one_by_one_operations() {
  static const std::set<std::string> known = words(
      "aten::conv2d aten::_convolution aten::relu aten::leaky_relu aten::hardtanh aten::silu aten::gelu "
      "aten::sigmoid aten::tanh aten::max_pool2d aten::avg_pool2d aten::adaptive_avg_pool2d "
      "aten::reflection_pad2d aten::replication_pad2d aten::pad aten::batch_norm aten::add");
  return known;
}

/// Functions of their inputs and of nothing else: they keep nothing, draw nothing, ask nobody, and read no
/// memory that nobody wrote (as aten::empty would). What they write into, keeps_state() sees.
const std::set<std::string>& pure_operations() {
  static const std::set<std::string> known = words(
      "prim::Constant prim::GetAttr prim::ListConstruct prim::ListUnpack prim::TupleConstruct "
      "prim::TupleUnpack prim::TupleIndex prim::TupleSlice prim::DictConstruct prim::If prim::Loop "
      "prim::RaiseException prim::Uninitialized prim::NumToTensor prim::ImplicitTensorToNum "
      "prim::unchecked_cast prim::unchecked_unwrap_optional prim::ConstantChunk prim::isinstance "
      "prim::dtype prim::device prim::is_cuda prim::min prim::max "
      "aten::Bool aten::Float aten::FloatImplicit aten::Int aten::IntImplicit aten::ScalarImplicit "
      "aten::__and__ aten::__contains__ aten::__derive_index aten::__getitem__ aten::__is__ "
      "aten::__isnot__ aten::__not__ aten::__or__ aten::__range_length aten::_set_item aten::append "
      "aten::dim aten::extend aten::floordiv aten::format aten::insert aten::is_contiguous "
      "aten::is_floating_point aten::item aten::items aten::keys aten::len aten::list aten::numel "
      "aten::size aten::str aten::stride aten::values "
      "aten::_convolution aten::_convolution_mode aten::_native_multi_head_attention "
      "aten::_transformer_encoder_layer_fwd aten::_upsample_bilinear2d_aa aten::abs aten::acos "
      "aten::adaptive_avg_pool1d aten::adaptive_avg_pool2d aten::adaptive_max_pool2d aten::add "
      "aten::addcdiv aten::addcmul aten::addmm aten::all aten::alpha_dropout aten::amax aten::amin "
      "aten::any aten::arange aten::argmax aten::argmin aten::asin aten::atan aten::atan2 "
      "aten::avg_pool1d aten::avg_pool2d aten::baddbmm aten::batch_norm aten::bmm aten::broadcast_to "
      "aten::cat aten::ceil aten::celu aten::channel_shuffle aten::chunk aten::clamp aten::clamp_max "
      "aten::clamp_min aten::clone aten::concat aten::constant_pad_nd aten::contiguous aten::conv1d "
      "aten::conv2d aten::conv_transpose2d aten::convolution aten::copy aten::cos aten::cosh "
      "aten::cosine_similarity aten::cumprod aten::cumsum aten::detach aten::diagonal aten::div aten::dot "
      "aten::dropout aten::einsum aten::elu aten::embedding aten::eq aten::erf aten::exp aten::expand "
      "aten::expand_as aten::expm1 aten::eye aten::feature_dropout aten::fill aten::flatten aten::flip "
      "aten::floor aten::floor_divide aten::fmod aten::frac aten::frobenius_norm aten::full "
      "aten::full_like aten::gather aten::ge aten::gelu aten::glu aten::grid_sampler aten::group_norm "
      "aten::gt aten::hardshrink aten::hardsigmoid aten::hardswish aten::hardtanh aten::im2col "
      "aten::index aten::index_select aten::instance_norm aten::isfinite aten::isinf aten::isnan "
      "aten::layer_norm aten::le aten::leaky_relu aten::lerp aten::linalg_norm aten::linalg_vector_norm "
      "aten::linear aten::linspace aten::log aten::log10 aten::log1p aten::log2 aten::log_sigmoid "
      "aten::log_softmax aten::logical_and aten::logical_not aten::logical_or aten::logsumexp aten::lt "
      "aten::masked_fill aten::matmul aten::max aten::max_pool1d aten::max_pool2d aten::mean aten::median "
      "aten::meshgrid aten::min aten::mish aten::mm aten::movedim aten::mul aten::mv aten::narrow "
      "aten::ne aten::neg aten::norm aten::one_hot aten::ones aten::ones_like aten::pad aten::permute "
      "aten::pixel_shuffle aten::pixel_unshuffle aten::pow aten::prelu aten::prod aten::reciprocal "
      "aten::reflection_pad1d aten::reflection_pad2d aten::relu aten::relu6 aten::remainder aten::repeat "
      "aten::repeat_interleave aten::replication_pad1d aten::replication_pad2d aten::reshape aten::roll "
      "aten::rot90 aten::round aten::rsqrt aten::rsub aten::scaled_dot_product_attention aten::select "
      "aten::selu aten::sigmoid aten::sign aten::silu aten::sin aten::sinh aten::slice aten::softmax "
      "aten::softplus aten::softshrink aten::sort aten::split aten::split_with_sizes aten::sqrt "
      "aten::square aten::squeeze aten::stack aten::std aten::std_mean aten::sub aten::sum aten::t "
      "aten::tan aten::tanh aten::tensor aten::tensor_split aten::tensordot aten::threshold aten::tile "
      "aten::to aten::topk aten::transpose aten::tril aten::triu aten::type_as aten::unbind "
      "aten::unflatten aten::unfold aten::unsqueeze aten::upsample_bicubic2d aten::upsample_bilinear2d "
      "aten::upsample_nearest2d aten::var aten::var_mean aten::view aten::view_as aten::where aten::zero "
      "aten::zeros aten::zeros_like");
  return known;
}

/// The value of a flag, where the code alone tells it of a module in evaluation mode.
std::optional<bool> known_flag(const Value& value) {
  if (const auto constant = torch::jit::toIValue(&value))
    return constant->isBool() ? std::optional(constant->toBool()) : std::nullopt;
  const Node& node = *value.node();
  if (node.kind() == c10::prim::GetAttr && node.s(c10::attr::name) == "training") {
    const auto owner = node.input()->type()->cast<c10::ClassType>();
    return owner && owner->is_module() ? std::optional(false) : std::nullopt;
  }
  return std::nullopt;
}

/// A dropout that is not known to be switched off draws random numbers.
bool draws(const Node& node) {
  const std::string name = operation(node);
  if (name == "aten::scaled_dot_product_attention") {
    const auto share = torch::jit::toIValue(node.namedInput("dropout_p"));
    return !share || !share->isDouble() || share->toDouble() != 0.0;
  }
  return name.ends_with("dropout") && known_flag(*node.namedInput("train")) != false;
}

bool one_by_one(const Node& node) {
  const std::string name = operation(node);
  if (name == "prim::GetAttr" || name == "prim::Constant" || name == "prim::ListConstruct" ||
      name == "prim::TupleConstruct")
    return true;
  if (!one_by_one_operations().contains(name)) return false;
  for (std::size_t i = name == "aten::add" ? 2 : 1; i < node.inputs().size(); ++i) {
    if (!is_fixed(*node.input(i))) return false;
  }
  // Not by the batch's own means.
  return name != "aten::batch_norm" || known_flag(*node.namedInput("training")) == false;
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
    return (node.kind() != c10::prim::GetAttr && node.kind() != c10::prim::Constant) ||
           !aliases.hasWriters(node.output());
  });
}

std::string unknown_operation(const torch::jit::Module& module) {
  std::string unknown;
  all_nodes(*code_of(module)->block(), [&](Node& node) {
    if (pure_operations().contains(operation(node)) && !draws(node)) return true;
    unknown = node.kind().toQualString();
    return false;
  });
  return unknown;
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
