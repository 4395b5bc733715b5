"""Prints each circle: of units that include each other, and of Python modules that import each
other, straight or through others. Prints, too, which Python module sees one of a later row of the
table in docs/contributing.md.

A unit is a .cpp and the .hpp of its name. Imports in functions count, and so does importlib where
it is given a name.
"""

import ast
import fnmatch
import os
import re
import subprocess
import sys

PACKAGE = "python/broadloom"

listed = subprocess.run(["git", "ls-files", "src", "jit", "include", "tools", "python"],
                        capture_output=True, text=True).stdout.split()
files = [path for path in listed if path.endswith((".cpp", ".hpp", ".py")) and os.path.exists(path)]
known = set(files)


def included(path):
    for name in re.findall(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', open(path).read(), re.M):
        places = [os.path.join(os.path.dirname(path), name), "src/" + name, "include/" + name, name, "tools/" + name]
        yield from [place for place in places if place in known][:1]


def imported(path):
    """The files of the modules that are imported. What is no module, the package itself has."""
    for node in ast.walk(ast.parse(open(path).read())):
        names = []
        if isinstance(node, ast.Import):
            names = [one.name for one in node.names]
        elif isinstance(node, ast.ImportFrom):
            names = [f"{'broadloom.' * bool(node.level)}{node.module or ''}.{one.name}".replace("..", ".") for one in node.names]
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module") and isinstance(node.args[0], ast.Constant):
            names = [node.args[0].value]
        for name in [name.split(".") + [""] for name in names if name.split(".")[0] == "broadloom"]:
            place = f"{PACKAGE}/{name[1]}.py"
            yield place if place in known or name[1] == "_core" else f"{PACKAGE}/__init__.py"


seen = {}  # by unit or module
for path in files:
    unit = os.path.splitext(path)[0]
    found = included(path) if not path.endswith(".py") else imported(path) if path.startswith(PACKAGE) else ()
    seen.setdefault(unit, set()).update({os.path.splitext(one)[0] for one in found} - {unit})


def reached(unit):
    all_of, work = set(), [unit]
    while work:
        for other in seen.get(work.pop(), ()):
            if other not in all_of:
                all_of.add(other)
                work.append(other)
    return all_of


reach = {unit: reached(unit) for unit in seen}
circles = {tuple(sorted(other for other in reach[unit] if unit in reach.get(other, ()))) for unit in seen}
for circle in sorted(circles - {()}):
    print(" <-> ".join(circle))

table = open("docs/contributing.md").read().partition(f"| `{PACKAGE}` | what is there |\n")[2].partition("\n\n")[0]
rows = [re.findall(r"`([^`]+)`", line.split("|")[1]) for line in table.splitlines()[1:]]


def row(module):
    name = os.path.basename(module)
    return next((k for k, words in enumerate(rows) if any(fnmatch.fnmatch(name, word) for word in words)), 0)


for module in sorted(unit for unit in seen if unit.startswith(PACKAGE + "/")):
    for other in sorted(seen[module]):
        if row(other) > row(module):
            print(f"{module} sees {other}, which stands later in docs/contributing.md")
sys.exit(0)
