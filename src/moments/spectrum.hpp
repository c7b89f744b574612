// How likely a scale is, or a law of mean squares, given noisy numbers: what class_gaussians.cpp fits.
#pragma once

#include <functional>

#include "muffle/moments/class_gaussians.hpp"

namespace muffle::moments {

inline double square(double x) { return x * x; }

/// A log-likelihood as a function of the logarithm of a scale: value, slope, Fisher's information.
struct Likelihood {
  double value = 0, slope = 0, information = 0;
};
struct Scale {
  double value, plausible;  ///< the latter a logarithm, but for a constant
};

/// The most plausible scale by Fisher scoring; its logarithm is normal about that of `guess` beforehand, with
/// deviation `spread`.
Scale most_plausible(double guess, double spread, const std::function<Likelihood(double)>& likelihood_at);

/// The most plausible law of mean squares: they fall as a power of the frequency, in every direction alike or
/// along each axis by itself, and those of odd frequencies are smaller or larger by a factor: most images are
/// nearly symmetric. @param spread  of its sum's logarithm about the spectrum's energy
/// @param likelihood_of  of n mean squares, as a function of the logarithm of a scale of them all
Eigen::VectorXd most_plausible_law(const Spectrum& spectrum, double spread,
                                   const std::function<Likelihood(const Eigen::ArrayXd&)>& likelihood_of);

}  // namespace muffle::moments
