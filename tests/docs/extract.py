"""Writes one whole program of a page to a file: the cpp block that begins with `// NAME.cpp`.

usage: extract.py PAGE.md NAME.cpp OUTPUT
The line numbers of the page are kept, so that a compiler's message points into the page.
"""

import sys


def main(page, name, output):
    inside = wanted = False
    program = []
    with open(page, encoding="utf-8") as lines:
        for number, line in enumerate(lines, start=1):
            if line.startswith("```"):
                inside = not inside and line.rstrip() == "```cpp"
                wanted = False
                begins = inside
                continue
            if inside and begins:
                wanted = line.strip() == f"// {name}"
                begins = False
                if wanted and program:
                    sys.exit(f"{page} has two programs called {name}")
                if wanted:
                    program.append(f'#line {number} "{page}"\n')
            if wanted:
                program.append(line)
    if not program:
        sys.exit(f"{page} has no cpp block that begins with `// {name}`")
    with open(output, "w", encoding="utf-8") as file:
        file.writelines(program)


if __name__ == "__main__":
    main(*sys.argv[1:])
