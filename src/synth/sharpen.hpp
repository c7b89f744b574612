#pragma once

#include <span>

#include "muffle/schema/schema.hpp"

namespace muffle::synth {

/// Unsharp masking without overshoot, for images that lack their highest frequencies: each pixel moves away
/// from the mean of the square around it, by `amount` times its distance to it, and at most to the square's
/// least or greatest. Edges become steep, plain areas stay. The square reaches 1/28 of the shorter side to
/// each side, at least 1 pixel; beyond an image's margin lies its nearest pixel. Channels by themselves.
/// Called by finish_records(); a pure function of each image.
/// @param x  images one after the other, each as schema.shape says
void sharpen(std::span<float> x, const schema::Schema& schema, double amount);

}  // namespace muffle::synth
