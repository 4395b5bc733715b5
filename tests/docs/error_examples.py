"""Makes functions of the C++ examples of docs/errors.md, which error_examples_test.cpp calls.

usage: error_examples.py PAGE.md OUTPUT

An example is a cpp block that begins with `// E0111`, the wrong lines; the right ones follow `//
right`. The line numbers of the page are kept, so that a compiler's message points into the page.
"""

import re
import sys

HEAD = """// Made by tests/docs/error_examples.py.
#include "tests/docs/error_examples.hpp"

#include <broadloom/arena.hpp>
#include <broadloom/broadloom.hpp>
#include <broadloom/build.hpp>
#include <broadloom/interop/dlpack.hpp>
#include <broadloom/interop/opencv.hpp>

#include <atomic>
#include <string>
#include <vector>

namespace bl = broadloom;

namespace cv { // what to_opencv needs of it
struct Mat {
  Mat(int, const int *, int, void *, const std::size_t *) {}
};
} // namespace cv

#pragma GCC diagnostic ignored "-Wunused"
#pragma GCC diagnostic ignored "-Wunused-result"

const std::vector<pages::ErrorExample> &pages::error_examples() {
  static const std::vector<ErrorExample> examples{
"""


def main(page, output):
    with open(page, encoding="utf-8") as file:
        lines = file.read().splitlines()
    made = HEAD
    for number, line in enumerate(lines):
        code = re.fullmatch(r"// (E\d{4})", line)
        if not code or lines[number - 1] != "```cpp":
            continue
        end = lines.index("```", number)
        turn = lines.index("// right", number, end)
        wrong, right = ("\n".join(part) for part in (lines[number + 1 : turn], lines[turn + 1 : end]))
        made += f'{{"{code[1]}", [] {{\n#line {number + 2} "{page}"\n{wrong}\n}}, [] {{\n{right}\n}}}},\n'
    with open(output, "w", encoding="utf-8") as file:
        file.write(made + "};\nreturn examples;\n}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
