// Golden scales: kernels before and after their scales are folded, with the reason of each scale
// that moved or stays.
//
// tests/scales/NAME.loom holds one kernel, and a line `#@ x 3 4` with the shape of each input;
// NAME.golden the kernel as written, what it is folded to, and the decisions. The first ones are
// the cases that TVM tests its passes of this name with. What is folded also runs: it must give
// what the reference makes of the kernel as written.
#include "golden_files.hpp"
#include "tests/file_cases.hpp"
#include "tests/scale_runs.hpp"

#include <broadloom/broadloom.hpp>

#include <doctest/doctest.h>

namespace broadloom {
namespace {

namespace fs = std::filesystem;

bool moved(const Decision &d) {
  return d.code == "scale-backward" || d.code == "scale-forward" || d.code == "shift-joined" ||
         d.code == "shift-taken-out";
}

void check_scales(const fs::path &file) {
  const std::string text = golden::read(file);
  const LoopSpec written = parse(text, {}, file.filename().string());
  std::vector<Decision> why;
  const LoopSpec folded = fold_scales(written, &why);
  std::string printed =
      "---- written\n" + print(written) + "---- folded\n" + print(folded) + "---- why\n";
  bool any = false, shifts = false;
  for (const Decision &d : why) {
    printed += d.code + ": " + d.text + "\n";
    any = any || moved(d);
    shifts = shifts || d.code.starts_with("shift-");
  }
  golden::check_golden(fs::path(file).replace_extension(".golden"), printed);

  CHECK((print(folded) != print(written)) == any);
  CHECK(print(fold_scales(folded)) == print(folded));
  CHECK(print(parse(print(folded))) == print(folded));
  CHECK(print(fold_scales(parse(print(folded)))) == print(folded));

  tests::Shapes shapes;
  for (const auto &[name, layout] : golden::layouts_in(text))
    shapes[name].assign(layout.shape().begin(), layout.shape().end());
  const Kernel kernel = compile(written, {.engine = Engine::reference});
  for (const bool powers : {false, true}) {
    CAPTURE(powers);
    const tests::Filled data(kernel, shapes, 7, powers);
    const tests::Values expected = data.run(written, Engine::reference);
    const LoopSpec kept = LoopSpec(written).scales(Scales::keep);
    for (const Engine engine : {Engine::interpreter, Engine::jit}) {
      const tests::Values values = data.run(written, engine);
      CHECK(tests::distance(expected, values) <= 1e-5);
      if (powers && !shifts) CHECK(tests::distance(data.run(kept, engine), values) == 0);
    }
  }
}

const std::vector<fs::path> files = golden::looms_in("scales");
const bool added = tests::add_cases(files, "the scales of ", check_scales);

} // namespace

TEST_CASE("there are golden scales") {
  CHECK(added);
  CHECK(files.size() >= 30);
}

} // namespace broadloom
