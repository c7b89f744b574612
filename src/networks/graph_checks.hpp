#pragma once

#include <string>

namespace torch::jit {
struct Module;
}

// What is read off a network's code before it sees a record: the sensitivity is that of sums of functions of
// one record each (docs/math.md, "feature maps").
namespace muffle::networks {

/// It runs code that is not read here: in the background (torch.jit.fork), or by what its values turn out to
/// be (interfaces). The other checks hold for a network that does not.
bool hides_code(const torch::jit::Module& module);
/// It changes attributes or constants of its own while it runs, so that one image's outputs could depend on
/// those before it.
bool keeps_state(const torch::jit::Module& module);
/// It prints, warns or writes files while it runs, which would tell of records.
bool tells(const torch::jit::Module& module);
/// What it does that is not known to be a function of its inputs alone, in evaluation mode: random numbers,
/// say, whose generator is the process's. The first one's name; empty: there is none.
std::string unknown_operation(const torch::jit::Module& module);
/// All that it does is known to treat the images of a batch one by one. False: it may, or may not.
bool treats_images_apart(const torch::jit::Module& module);

}  // namespace muffle::networks
