#pragma once

#include "muffle/core/hash.hpp"
#include "muffle/embed/embedding.hpp"

namespace muffle::embed {

/// SHA-256 of what the plan's maps make of 64 made-up records, the same everywhere: uniform numbers, and
/// labels one after the other. A muffle, a library or a processor that makes other integers of them would
/// make other sums of real records, too, and spoil a round that other institutions make right. Public: no
/// record is read.
Sha256Digest self_check(const Embedder& embedder);

}  // namespace muffle::embed
