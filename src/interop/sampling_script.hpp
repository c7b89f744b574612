// What every exported network has beside its own layers: muffle's random numbers, labels and tiles in
// TorchScript (torch_script.hpp).
#pragma once

#include <string>

namespace muffle::interop {

/// CounterStream (core/philox.hpp) by the same steps. Products of 32-bit words are put together from halves,
/// so that no int64 overflows. PyTorch's square roots may be off by a unit in the last place (its packages
/// take MKL's), so root() corrects them by the exact remainder (Dekker 1971). (torch.tensor() of a list
/// rounds to float32, whatever type is asked for: doubles() does not.)
inline const std::string kRandomScript = R"(
def doubles(self, values: List[float]) -> Tensor:
    out = torch.zeros([len(values)]).double()
    for i in range(len(values)):
        out.select(0, i).fill_(values[i])
    return out

def product(self, a: int, b: Tensor) -> Tuple[Tensor, Tensor]:
    lower = (a & 65535) * b
    middle = (a >> 16) * b + (lower >> 16)
    return middle >> 16, ((middle & 65535) << 16) | (lower & 65535)

def words(self, purpose: int, substream: int, seed: int, block: Tensor) -> Tuple[Tensor, Tensor, Tensor, Tensor]:
    low = 4294967295
    c0 = block & low
    c1 = (block >> 32) & low
    c2 = torch.full_like(block, substream)
    c3 = torch.full_like(block, purpose)
    key0 = seed & low
    key1 = (seed >> 32) & low
    for _ in range(10):
        high0, low0 = self.product(3528531795, c0)
        high1, low1 = self.product(3449720151, c2)
        c0 = (high1 ^ c1) ^ key0
        c1 = low1
        c2 = (high0 ^ c3) ^ key1
        c3 = low0
        key0 = (key0 + 2654435769) & low
        key1 = (key1 + 3144134277) & low
    return c0, c1, c2, c3

def bits(self, purpose: int, substream: int, seed: int, first: int, n: int) -> Tuple[Tensor, Tensor]:
    index = torch.arange(first, first + n)
    w0, w1, w2, w3 = self.words(purpose, substream, seed, index >> 1)
    odd = (index & 1) == 1
    return torch.where(odd, w3, w1), torch.where(odd, w2, w0)

def uniform(self, purpose: int, substream: int, seed: int, first: int, n: int) -> Tensor:
    high, low = self.bits(purpose, substream, seed, first, n)
    return (((high << 20) | (low >> 12)).double() + 0.5) * 2.220446049250313e-16

def log(self, x: Tensor) -> Tensor:
    half, exponent = torch.frexp(x)
    m = half * 2.0
    large = m > 1.4142135623730951
    m = torch.where(large, m * 0.5, m)
    e = torch.where(large, exponent, exponent - 1).double()
    s = (m - 1.0) / (m + 1.0)
    s2 = s * s
    sum = torch.zeros_like(x)
    for i in range(11):
        sum = (sum + 1.0 / float(23 - 2 * i)) * s2
    return e * 6.93147180369123816490e-01 + (2.0 * s + (2.0 * s * sum + e * 1.90821492927058770002e-10))

def root(self, x: Tensor) -> Tensor:
    s = torch.sqrt(x)
    t = 134217729.0 * s
    high = t - (t - s)
    low = s - high
    square = s * s
    rest = ((high * high - square) + 2.0 * high * low) + low * low
    return s + ((x - square) - rest) / (2.0 * s)

def horner(self, c: List[float], x: Tensor) -> Tensor:
    v = torch.full_like(x, c[7])
    for i in range(7):
        v = v * x + c[6 - i]
    return v

def normal(self, purpose: int, substream: int, seed: int, first: int, n: int) -> Tensor:
    p = self.uniform(purpose, substream, seed, first, n)
    q = p - 0.5
    r = 0.180625 - q * q
    a = [3.3871328727963666080e0, 1.3314166789178437745e+2, 1.9715909503065514427e+3, 1.3731693765509461125e+4,
         4.5921953931549871457e+4, 6.7265770927008700853e+4, 3.3430575583588128105e+4, 2.5090809287301226727e+3]
    b = [1.0000000000000000000e0, 4.2313330701600911252e+1, 6.8718700749205790830e+2, 5.3941960214247511077e+3,
         2.1213794301586595867e+4, 3.9307895800092710610e+4, 2.8729085735721942674e+4, 5.2264952788528545610e+3]
    middle = q * self.horner(a, r) / self.horner(b, r)
    t = self.root(-self.log(torch.where(q < 0, p, 1.0 - p)))
    c = [1.42343711074968357734e0, 4.63033784615654529590e0, 5.76949722146069140550e0, 3.64784832476320460504e0,
         1.27045825245236838258e0, 2.41780725177450611770e-1, 2.27238449892691845833e-2, 7.74545014278341407640e-4]
    d = [1.00000000000000000000e0, 2.05319162663775882187e0, 1.67638483018380384940e0, 6.89767334985100004550e-1,
         1.48103976427480074590e-1, 1.51986665636164571966e-2, 5.47593808499534494600e-4, 1.05075007164441684324e-9]
    near = self.horner(c, t - 1.6) / self.horner(d, t - 1.6)
    e = [6.65790464350110377720e0, 5.46378491116411436990e0, 1.78482653991729133580e0, 2.96560571828504891230e-1,
         2.65321895265761230930e-2, 1.24266094738807843860e-3, 2.71155556874348757815e-5, 2.01033439929228813265e-7]
    f = [1.00000000000000000000e0, 5.99832206555887937690e-1, 1.36929880922735805310e-1, 1.48753612908506148525e-2,
         7.86869131145613259100e-4, 1.84631831751005468180e-5, 1.42151175831644588870e-7, 2.04426310338993978564e-15]
    far = self.horner(e, t - 5.0) / self.horner(f, t - 5.0)
    tail = torch.where(t <= 5.0, near, far)
    return torch.where(q.abs() <= 0.425, middle, torch.where(q < 0, -tail, tail))
)";

/// sampling::draw_labels(), stratified, and synth::draw_tile(). {0}: records of a tile, {1}: purpose of the
/// labels' stream, {2}: one of the parameters.
inline constexpr const char* kSampleScript = R"(
def common_factor(self, a: int, b: int) -> int:
    while b != 0:
        a, b = b, a % b
    return a

def labels(self, count: int, seed: int = 1, released_counts: bool = False) -> Tensor:
    assert count >= 1 and count < 2147483648, "count must be from 1 to 2^31 - 1"
    share = self.class_share(released_counts)
    bounds: List[float] = []
    sum = 0.0
    last = 0
    for c in range(len(share)):
        sum += share[c]
        bounds.append(sum)
        if share[c] > 0.0:
            last = c
    bounds[last] = 2.0
    u = self.uniform({1}, 0, seed, 0, 1)
    high, low = self.bits({1}, 0, seed, 1, 1)
    shift = (high * count + ((low * count) >> 32)) >> 32
    step = max(1, int(0.6180339887498949 * float(count)))
    while self.common_factor(step, count) != 1:
        step += 1
    place = (torch.arange(0, count) * step + shift) % count
    edges = self.doubles(bounds[:last + 1])
    return torch.searchsorted(edges, (place.double() + u) / float(count), right=True)

def sample(self, count: int, labels: Optional[Tensor] = None, seed: int = 1) -> Tuple[Tensor, Tensor]:
    if labels is None:
        of = self.labels(count, seed, False)
    else:
        assert labels.numel() == count, "one label for each record"
        of = labels.cpu().long().reshape([count])
    here = self.{2}.device
    parts: List[Tensor] = []
    for first in range(0, count, {0}):
        n = min({0}, count - first)
        code = self.codes(seed, first, n).to(here)
        parts.append(self.draw(code, of.narrow(0, first, n).to(here)).cpu())
    return torch.cat(parts), of

def forward(self, code: Tensor, labels: Tensor) -> Tensor:
    return self.draw(code, labels)
)";

}  // namespace muffle::interop
