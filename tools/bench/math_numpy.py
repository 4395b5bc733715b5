#!/usr/bin/env python3
"""NumPy's functions over the arrays of tools/bench/math.cpp: JSON on stdout, ns per element.

  python3 tools/bench/math_numpy.py > numpy.json                   (needs NumPy)
  python3 tools/bench/math_numpy.py --table bench.json numpy.json docs/math.md

The second form puts what broadloom-bench printed (--benchmark_format=json) and this into the page.
"""
import json
import sys
import time

ELEMENTS = 1 << 16
RANGES = {"log": (1e-3, 100), "log2": (1e-3, 100), "log10": (1e-3, 100), "log1p": (-0.9, 10),
          "pow": (0.1, 10), "asin": (-1, 1), "acos": (-1, 1), "atanh": (-1, 1), "acosh": (1, 100),
          "cbrt": (-100, 100)}
NAMES = {"pow": "power", "asin": "arcsin", "acos": "arccos", "atan": "arctan", "atan2": "arctan2",
         "asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh"}
UNARY = ("exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh asinh acosh"
         " atanh cbrt").split()
BINARY = "pow atan2 hypot logaddexp".split()


def measure():
    import numpy

    def spread(low, high, factor, dtype):
        part = ((numpy.arange(ELEMENTS, dtype=numpy.uint32) * numpy.uint32(factor)) >> 8) * 2.0**-24
        return (low + (high - low) * part).astype(dtype)

    result = {}
    for name in UNARY + BINARY:
        function = getattr(numpy, NAMES.get(name, name))
        for dtype, word in ((numpy.float32, "f32"), (numpy.float64, "f64")):
            args = [spread(*RANGES.get(name, (-10, 10)), 2654435761, dtype)]
            if name in BINARY:
                args.append(spread(-4, 4, 2246822519, dtype))
            out = numpy.empty_like(args[0])
            best = 1e9
            for _ in range(200):
                start = time.perf_counter()
                function(*args, out=out)
                best = min(best, time.perf_counter() - start)
            result[f"{name} {word}"] = best / ELEMENTS * 1e9
    json.dump({"numpy": numpy.__version__, "ns": result}, sys.stdout, indent=1)


def write_table(bench_file, numpy_file, page):
    with open(bench_file) as file:
        rows = json.load(file)["benchmarks"]
    numpy = {}
    if numpy_file != "-":
        with open(numpy_file) as file:
            numpy = json.load(file)["ns"]

    def cell(value):
        return "" if value is None else f"{value:.2f}"

    lines = ["| function | dtype | mode | ours | SLEEF | libmvec | NumPy | to SLEEF |",
             "| --- | --- | --- | --- | --- | --- | --- | --- |"]
    for row in rows:
        words = row["name"].split("/")[0].split()
        if words[0] != "math" or len(words) != 4:
            continue
        _, name, dtype, mode = words
        lines.append("| " + " | ".join(
            [name, dtype, mode, cell(row["ns"]), cell(row.get("sleef")), cell(row.get("libmvec")),
             cell(numpy.get(f"{name} {dtype}")), cell(row.get("to_sleef"))]) + " |")
    with open(page) as file:
        text = file.read()
    begin, end = "<!-- speed: begin -->\n", "<!-- speed: end -->\n"
    before, rest = text.split(begin)
    after = rest.split(end)[1]
    with open(page, "w") as file:
        file.write(before + begin + "\n".join(lines) + "\n" + end + after)


if len(sys.argv) == 5 and sys.argv[1] == "--table":
    write_table(*sys.argv[2:])
elif len(sys.argv) == 1:
    measure()
else:
    sys.exit(__doc__)
