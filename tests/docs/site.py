"""Makes the folder that MkDocs builds the pages from, and its configuration.

usage: site.py FOLDER        then: mkdocs build --strict -f FOLDER/mkdocs.yml

README.md becomes the first page, and pages lie beside each other, so that links between them have
to be turned. With --strict MkDocs fails where a link leads to no page or to no heading.
reference.py adds the pages of the reference.
"""

import json
import pathlib
import re
import shutil
import sys

import reference

ROOT = pathlib.Path(__file__).parents[2]
# The pages in the order of the navigation, by what they are for; a page that stands nowhere is an
# error.
GROUPS = {
    "Start": ["tutorial", "gallery", "install", "python", "repl", "samples", "coming_from", "compare"],
    "Reference": ["language", "positions", "loops", "schedules", "functions", "command_line", "caches", "gradients", "c", "ship", "gpu", "errors", "why"],
    "Ideas": ["ideas/modes", "ideas/order", "ideas/accumulators", "ideas/gradients", "ideas/windows", "ideas/network",
              "ideas/scales", "ideas/layouts", "ideas/performance"],
    "Numbers": ["math", "benchmarks", "profiling"],
    "Inside": ["design", "contributing", "testing", "glossary", "security", "changelog"],
}
OUTSIDE = {"README": "index", "SECURITY": "security", "CHANGELOG": "changelog"}  # of docs/

CONFIG = """site_name: Broadloom
docs_dir: pages
site_dir: html
use_directory_urls: false
theme: {name: readthedocs, highlightjs: false, navigation_depth: 3}
extra_css: [site.css]
plugins: [search]
hooks: [colours.py, links.py]
markdown_extensions: [tables, fenced_code, attr_list, codehilite: {guess_lang: false, noclasses: true}, toc: {permalink: true}]
validation: {links: {anchors: warn, unrecognized_links: warn}}
nav:
  - index.md
"""

# Pygments colours kernels by the lexer of the Python package, which need not be installed.
HOOK = """import importlib.util, sys
from pygments.lexers import LEXERS
spec = importlib.util.spec_from_file_location("loom_lexer", {lexer!r})
sys.modules["loom_lexer"] = importlib.util.module_from_spec(spec)
spec.loader.exec_module(sys.modules["loom_lexer"])
LEXERS["LoomLexer"] = ("loom_lexer", "Broadloom", ("loom",), ("*.loom",), ())
"""

# Room for lines of 100 columns; code in a sentence is not broken, but for small screens, where
# tables wrap instead of being cut.
STYLE = """.wy-nav-content { max-width: 1100px }
.rst-content code { color: #334155; white-space: nowrap }
.rst-content code.long { white-space: normal; overflow-wrap: anywhere }
.wy-table-responsive table td, .wy-table-responsive table th { white-space: normal }
.rst-content table.docutils th:empty { padding: 0; border: 0 }
.codehilite pre { overflow-x: auto }
.codehilite a.code, a.code code { color: inherit; text-decoration: underline dotted #94a3b8 }
a.code code { color: #1d4ed8 }
.rst-content h2, .rst-content h3, .rst-content h4 { overflow-wrap: anywhere }
@media (max-width: 768px) {
  .rst-content code { white-space: normal; overflow-wrap: anywhere } .rst-content table code { overflow-wrap: normal }
  .rst-content table.docutils td, .rst-content table.docutils th { padding: 6px 8px }
}
"""


def turned(text, is_outside):
    if is_outside:
        text = re.sub(r"\]\(docs/", "](", text)
    for name, page in OUTSIDE.items():
        text = re.sub(rf"\]\((\.\./)?{name}\.md", f"]({page}.md", text)
    # As GitHub has it: a list may follow a paragraph without a line between, and items are set in
    # by two.
    text = re.sub(r"(?m)^(?!\s*(?:- |\d+\. |\||#|```|$))(.+)\n(?=- )", r"\1\n\n", text)
    # Lists within lists are set in by two there, and by four here.
    blocks = re.split(r"(?ms)(^```.*?^```)", text)
    return "".join(re.sub(r"(?m)^  (?=- )", "    ", block) if k % 2 == 0 else block for k, block in enumerate(blocks))


def main(folder):
    pages = folder / "pages"
    shutil.rmtree(pages, ignore_errors=True)
    shutil.copytree(ROOT / "docs", pages)
    for name, page in OUTSIDE.items():
        shutil.copy(ROOT / f"{name}.md", pages / f"{page}.md")
    for path in pages.rglob("*.md"):
        text = path.read_text(encoding="utf-8")
        path.write_text(turned(text, path.stem in OUTSIDE.values() and path.parent == pages), encoding="utf-8")
    listed = {f"{name}.md" for names in GROUPS.values() for name in names} | {"index.md"}
    nav = "".join(f"  - {group}:\n" + "".join(f"      - {name}.md\n" for name in names) for group, names in GROUPS.items())
    for group, named in reference.main(folder).items():
        nav += f"  - {group}:\n" + "".join(f"      - {json.dumps(title)}: {path}\n" for path, title in named)
        listed |= {path for path, _ in named}
    (pages / "site.css").write_text(STYLE, encoding="utf-8")
    (folder / "colours.py").write_text(HOOK.format(lexer=str(ROOT / "python/broadloom/pygments_lexer.py")), encoding="utf-8")
    (folder / "mkdocs.yml").write_text(CONFIG + nav, encoding="utf-8")
    shutil.copy(pathlib.Path(__file__).with_name("links.py"), folder)
    if missing := {str(path.relative_to(pages)) for path in pages.rglob("*.md")} - listed:
        sys.exit(f"tests/docs/site.py: these pages stand in no group: {', '.join(sorted(missing))}")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
