#pragma once

#include "muffle/core/hash.hpp"
#include "muffle/embed/embedding.hpp"

namespace muffle::embed {

/// SHA-256 of what the plan's maps make of 64 made-up records, the same everywhere: uniform numbers, and
/// labels one after the other. A muffle, a library or a processor that makes other integers of them would
/// make other sums of real records, too, and spoil a round that other institutions make right. Public: no
/// record is read.
Sha256Digest self_check(const Embedder& embedder);

/// The same of a plan, as a proposal has it: without the maps that need LibTorch, which a coordinator does
/// not have. Of those the proposal names the network's file by its hash, and every site has that very file;
/// what is left to builds and processors is how they round.
Sha256Digest self_check(const release::ReleasePlan& plan);

}  // namespace muffle::embed
