"""Prints each circle of units: those that include each other, straight or through others.

A unit is a .cpp and the .hpp of its name. One circle is left, which may only become smaller: a call
is planned from the kernels of its lets and parts, whose calls are planned in the same way.
"""

import os
import re
import subprocess
import sys

KERNEL, MOST = "jit/call/kernel", 10

listed = subprocess.run(["git", "ls-files", "src", "jit", "include", "tools", "python"],
                        capture_output=True, text=True).stdout.split()
files = [path for path in listed if path.endswith((".cpp", ".hpp")) and os.path.exists(path)]
known = set(files)
seen = {}  # by unit
for path in files:
    unit = os.path.splitext(path)[0]
    for name in re.findall(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]', open(path).read(), re.M):
        places = [os.path.join(os.path.dirname(path), name), "src/" + name, "include/" + name, name, "tools/" + name]
        found = next((place for place in places if place in known), None)
        if found and os.path.splitext(found)[0] != unit:
            seen.setdefault(unit, set()).add(os.path.splitext(found)[0])


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
