// See all_floats.hpp.
#include "all_floats.hpp"

#include "same_bits.hpp"

#include <broadloom/broadloom.hpp>

#include <algorithm>
#include <bit>
#include <cstring>
#include <functional>
#include <iostream>

namespace broadloom::differential {
namespace {

constexpr const char *functions[] = {
    "abs(x)",       "acos(x)",      "acosh(x)",    "asin(x)",    "asinh(x)",  "atan(x)",
    "atanh(x)",     "cbrt(x)",      "ceil(x)",     "cos(x)",     "cosh(x)",   "digamma(x)",
    "erf(x)",       "erfc(x)",      "exp(x)",      "exp2(x)",    "expm1(x)",  "floor(x)",
    "gelu(x)",      "gelu_tanh(x)", "lgamma(x)",   "log(x)",     "log10(x)",  "log1p(x)",
    "log2(x)",      "round(x)",     "rsqrt(x)",    "sigmoid(x)", "sign(x)",   "silu(x)",
    "sin(x)",       "sinh(x)",      "softplus(x)", "sqrt(x)",    "square(x)", "tan(x)",
    "tanh(x)",      "trunc(x)",     "1 / x",       "x / 3",      "x * 0.1",   "f32(f16(x))",
    "f32(bf16(x))", "f32(f64(x))",
};

} // namespace

int compare_floats(const std::string &device, std::uint64_t chunks) {
  constexpr std::uint64_t all = std::uint64_t(1) << 32, size = all / chunks_of_floats;
  const Device there(device);
  const Array x(DType::F32, {std::int64_t(size)});
  int wrong = 0;
  for (const char *function : functions) {
    const LoopSpec spec =
        parse("kernel k { in x : f32[i]; out y = " + std::string(function) + " }");
    const Kernel ours = compile(spec, {.engine = Engine::jit}),
                 theirs = compile(spec, {.device = device});
    for (std::uint64_t chunk = 0; chunk < chunks; ++chunk) {
      const std::uint64_t first = chunk * chunks_of_floats / chunks * size;
      for (std::uint64_t k = 0; k < size; ++k)
        x.data<float>()[k] = std::bit_cast<float>(std::uint32_t(first + k));
      const Array want = ours({{"x", x}})["y"];
      const Array got = there.to_host(theirs({{"x", there.to_device(x)}})["y"]);
      if (std::memcmp(want.raw(), got.raw(), size * sizeof(float)) == 0 || same_bits(want, got))
        continue;
      const auto *a = want.data<float>(), *b = got.data<float>();
      const auto differs = [](float p, float q) {
        return std::bit_cast<std::uint32_t>(p) != std::bit_cast<std::uint32_t>(q) &&
               (p == p || q == q);
      };
      const auto at = std::size_t(std::mismatch(a, a + size, b, std::not_fn(differs)).first - a);
      std::cout << function << " of " << std::hexfloat << x.data<float>()[at] << " is " << b[at]
                << " on '" << device << "', and " << a[at] << " here\n";
      ++wrong;
      break;
    }
  }
  std::cout << std::size(functions) << " functions, " << chunks * size
            << " arguments each: " << wrong << " differ\n";
  return wrong;
}

} // namespace broadloom::differential
