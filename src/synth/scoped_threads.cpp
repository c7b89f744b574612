#include <ATen/Parallel.h>

#include "muffle/core/process.hpp"
#include "muffle/synth/sampler.hpp"

namespace muffle::synth {
namespace {

void set_all(int threads) {
  at::set_num_threads(threads);
  set_compute_threads(threads);
}

}  // namespace

ScopedThreads::ScopedThreads(int threads) : before_(at::get_num_threads()) { set_all(std::max(1, threads)); }

ScopedThreads::~ScopedThreads() { set_all(before_); }

}  // namespace muffle::synth
