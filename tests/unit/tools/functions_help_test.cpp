// What `.help FUNCTION` says: the page of functions, in the program.
#include "ops/ops.hpp"
#include "tests/places.hpp"
#include "tools/broadloom/cli/cli.hpp"
#include "tools/broadloom/help/functions.hpp"
#include "tools/broadloom/help/pages.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

using namespace broadloom;

namespace {

std::string page(const std::string &name) {
  std::ifstream file(BROADLOOM_SOURCE_DIR "/docs/" + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

bool has(const std::string &text, const std::string &part) { return text.find(part) != text.npos; }

} // namespace

TEST_CASE("the program has the pages of functions and of the math to the byte") {
  CHECK(cli::functions_page() == page("functions.md"));
  CHECK(cli::math_page() == page("math.md"));
}

TEST_CASE("the page of functions has every function and fold that is called") {
  const std::vector<std::string> names = cli::function_names();
  const auto there = [&](std::string_view name) { return std::ranges::count(names, name) == 1; };
  for (int i = 0; i < ops::op_count(); ++i)
    if (const ops::OpInfo &info = ops::info(ops::Op(i)); info.form == ops::Form::Call)
      CHECK_MESSAGE(there(info.spelling), info.spelling);
  for (int i = 0; i < ops::fold_count(); ++i)
    CHECK_MESSAGE(there(ops::info(Fold(i)).name), ops::info(Fold(i)).name);
  for (const char *name : {"pow", "scan", "iota", "extent", "pad", "concat", "stack", "parts",
                           "random", "random_bits", "normal"})
    CHECK_MESSAGE(there(name), name);
}

TEST_CASE("help on a function tells dtypes, accuracy, gradient and an example") {
  CHECK(cli::function_help("exp") ==
        "exp(x): e to the power of x\n"
        "  NumPy     np.exp\n"
        "  dtypes    f16, bf16, f32, f64, c64, c128 stay; bool, i8, u8 -> f16; i16, u16 -> f32; "
        "i32, i64, u32, u64 -> f64\n"
        "  accuracy  f32 0.7636 ulp, f64 0.7523 ulp, c128 1.345 ulp, c64 0.686 ulp\n"
        "  gradient  d_x = d_z * exp(x)\n"
        "  example   exp(1) gives 2.718281828459045\n");
  CHECK(has(cli::function_help("sum"), " stay; bool, i8, i16, i32 -> i64; u8, u16, u32 -> u64\n"));
  CHECK(has(cli::function_help("sum"), "  accuracy  f32 is kept in f64\n"));
  CHECK(has(cli::function_help("sqrt"), "  accuracy  f32, f64 rounded once at most, c128"));
  CHECK(has(cli::function_help("sum"), "  gradient  d_x = broadcast(like=x) d_z\n"));
  CHECK(has(cli::function_help("where"), "d_y = where(c, 0, d_z)\n"));
  CHECK(has(cli::function_help("argmax"), "  gradient  none\n"));
  CHECK(!has(cli::function_help("xor"), "f32"));
  CHECK(has(cli::function_help("keep"), "a wish\n"));
  CHECK(cli::function_help("sine").empty());
}

TEST_CASE("every function has dtypes or says where it is described, and every example is true") {
  std::string lines, wanted;
  for (const std::string &name : cli::function_names()) {
    const std::string text = cli::function_help(name);
    CAPTURE(text);
    CHECK((has(text, "  dtypes  ") ? has(text, "->") || has(text, " stay") : has(text, ": ")));
    const std::size_t example = text.find("  example   "), gives = text.find(" gives ", example);
    if (example == text.npos) continue;
    lines += text.substr(example + 12, gives - example - 12) + '\n';
    wanted += text.substr(gives + 7);
  }
  std::istringstream in;
  std::ostringstream out, err;
  CHECK(cli::run_cli({"-c", lines}, in, out, err) == 0);
  CHECK(out.str() == wanted);
}
