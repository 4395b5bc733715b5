"""The picture of the README: an expression, the loops that it becomes, and their time beside other
libraries.

  python3 tools/bench/picture.py [--check]

Writes docs/overview.svg; with --check it only says whether that file is what it would write. The
text is that of a case of the benchmark, the loops are what `broadloom` (found by PATH) shows for
it, and the bars are the ratios of its row in docs/benchmarks.md: nothing here is a number of its
own.
"""

import html
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).parents[2]
PICTURE = ROOT / "docs/overview.svg"
CASE, TEXT, SHAPE = "W9-softmax", "tools/bench/cases/softmax.loom", "x=rand(4096, 1024)"
PEERS = {"numpy": "NumPy", "numba": "numba", "jax": "JAX"}
WIDTH, HEIGHT, LINE = 980, 330, 16


def row_of_page():
    """The time of the case, what it computes, and how many times as long each peer takes."""
    page = (ROOT / "docs/benchmarks.md").read_text(encoding="utf-8")
    cells = re.search(rf"^\| {CASE} \| (.*) \|$", page, re.M)[1].split(" | ")
    ratios = dict(re.findall(r"(\w+) ([0-9.]+)", cells[7]))
    return cells[1], cells[0].strip("`"), {name: 1 / float(ratios[peer]) for peer, name in PEERS.items()}


def loops():
    """The nest that is built, without what names arrays and their order."""
    # So that each machine shows the same one.
    machine = {"BROADLOOM_CACHES": "1M,32M", "BROADLOOM_LOG": "off"}
    shown = subprocess.run(["broadloom", "show", TEXT, "--stage", "loop", "--in", SHAPE], cwd=ROOT, check=True,
                           env=os.environ | machine, capture_output=True, text=True).stdout
    lines = shown[shown.index("  parallel") :].splitlines()
    return [re.sub(r"\s+#.*", "", line)[2:] for line in lines if "next " not in line]


def text_at(x, y, text, kind):
    return f'<text x="{x}" y="{y}" class="{kind}" xml:space="preserve">{html.escape(text)}</text>\n'


def listing(x, y, lines):
    return "".join(text_at(x, y + LINE * i, line, "code") for i, line in enumerate(lines))


def bars(x, y, times):
    longest, drawn = max(times.values()), ""
    for i, (name, time) in enumerate(sorted(times.items(), key=lambda item: item[1])):
        top, width = y + 34 * i, 130 * time / longest
        drawn += text_at(x, top + 15, name, "word")
        drawn += f'<rect x="{x + 76}" y="{top}" width="{width:.1f}" height="20" class="{"ours" if time == 1 else "bar"}"/>\n'
        drawn += text_at(x + 82 + round(width), top + 15, f"{time:.1f}" if time != 1 else "1", "word")
    return drawn


def picture():
    time, what, times = row_of_page()
    source = (ROOT / TEXT).read_text(encoding="utf-8").splitlines()
    drawn = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">\n'
    drawn += f"<title>Broadloom: from an expression to loops, and their time: {html.escape(what)}</title>\n"
    drawn += ("<style>.code { font: 13px monospace; fill: #222 } .word { font: 13px sans-serif; fill: #222 }\n"
              ".head { font: bold 15px sans-serif; fill: #222 } .ours { fill: #1a7f5a } .bar { fill: #9aa4ad }\n"
              ".arrow { stroke: #1a7f5a; stroke-width: 3; fill: none }</style>\n")
    drawn += f'<rect width="{WIDTH}" height="{HEIGHT}" rx="8" fill="#f6f5f1"/>\n'
    for x, head in ((24, "What you write"), (322, "What runs"), (672, "How long it takes")):
        drawn += text_at(x, 34, head, "head")
    drawn += listing(24, 66, source) + listing(322, 66, loops())
    for x in (284, 634):
        drawn += f'<path d="M{x} 130 l16 16 l-16 16" class="arrow"/>\n'
    drawn += bars(672, 58, {"Broadloom": 1.0} | times)
    for i, line in enumerate((what, f"Broadloom takes {time}; for the others", "multiply it by the number at the bar.",
                              "Two threads (NumPy: one).", "docs/benchmarks.md has all rows.")):
        drawn += text_at(672, 224 + 20 * i, line, "word")
    return drawn + "</svg>\n"


def main():
    made = picture()
    if "--check" in sys.argv[1:]:
        same = PICTURE.exists() and PICTURE.read_text(encoding="utf-8") == made
        print("the same" if same else f"{PICTURE.relative_to(ROOT)} is not what tools/bench/picture.py makes: run it")
        sys.exit(not same)
    PICTURE.write_text(made, encoding="utf-8")


if __name__ == "__main__":
    main()
