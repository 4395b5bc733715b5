"""Prints each circle: of units that include each other, and of Python modules that import each other,
straight or through others.

A unit is a .cpp and the .hpp of its name. One circle of them is left, which may only become smaller: a
call is planned from the kernels of its lets and parts, whose calls are planned in the same way. Imports
of the Python package count in the bodies of functions, too, and so does importlib by a name that is
written out.
"""

import ast
import os
import re
import subprocess
import sys

KERNEL, MOST, PACKAGE = "jit/call/kernel", 10, "python/broadloom"

listed = subprocess.run(["git", "ls-files", "--cached", "--others", "--exclude-standard", "src", "jit", "include", "tools", "python"],
                        capture_output=True, text=True).stdout.split()
files = [path for path in listed if os.path.exists(path)]
known = set(files)
seen = {}  # by unit or module
for path in files:
    if not path.endswith((".cpp", ".hpp")):
        continue
    unit = os.path.splitext(path)[0]
    for name in re.findall(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', open(path).read(), re.M):
        places = [os.path.join(os.path.dirname(path), name), "src/" + name, "include/" + name, name, "tools/" + name]
        found = next((place for place in places if place in known), None)
        if found and os.path.splitext(found)[0] != unit:
            seen.setdefault(unit, set()).add(os.path.splitext(found)[0])


def imported(node):
    """The names that a statement or a call imports, each from the package on: `.errors`."""
    if isinstance(node, ast.Import):
        return [name.name.removeprefix("broadloom") for name in node.names if name.name.split(".")[0] == "broadloom"]
    if isinstance(node, ast.ImportFrom) and (node.level or (node.module or "").split(".")[0] == "broadloom"):
        module = (node.module or "").removeprefix("broadloom").strip(".")
        return [f".{module}" if module else f".{name.name}" for name in node.names]
    if isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", "")) in ("import_module", "__import__"):
        return [word.value.removeprefix("broadloom") for word in node.args[:1] if isinstance(word, ast.Constant) and re.match(r"broadloom\b|\.", word.value)]
    return []


for path in files:
    if os.path.dirname(path) == PACKAGE and path.endswith(".py"):
        for name in [name for node in ast.walk(ast.parse(open(path).read())) for name in imported(node)]:
            found = f"{PACKAGE}/{name.strip('.').partition('.')[0]}"
            found = found if found + ".py" in known else f"{PACKAGE}/__init__"  # what the package itself has
            if found + ".py" != path and name != "._core":
                seen.setdefault(path[:-3], set()).add(found)


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
    if KERNEL not in circle or len(circle) > MOST:
        print(" <-> ".join(circle))
sys.exit(0)
