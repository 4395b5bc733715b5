// A program of a stranger: only what an installed Broadloom gives. Prints `s = 1.5 3`, by native
// code, or with an argument by any engine.
#include <broadloom/broadloom.hpp>

#include <cstdio>
#include <vector>

namespace bl = broadloom;

int main(int argc, char **) {
  const bl::LoopSpec spec = bl::parse("kernel k { in x : f32[i, j]; out s[i] = reduce(sum) x }");
  const std::vector<float> x = {0.5f, 0.5f, 0.5f, 1, 1, 1};
  const bl::Results r =
      bl::compile(spec, {.engine = argc > 1 ? bl::Engine::automatic : bl::Engine::jit})(
          {{"x", bl::View<const float>(x.data(), {2, 3})}});
  std::printf("s = %g %g\n", r["s"].data<float>()[0], r["s"].data<float>()[1]);
  try { // an exception of the library has its type on this side, too
    bl::parse("kernel k { out s = nothing }");
  } catch (const bl::SpecError &error) {
    std::printf("%s\n", error.code().c_str());
  }
}
