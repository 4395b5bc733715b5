"""Counts sentences of pages and public headers that are hard to read, and holds each to its bound,
which may only fall.

usage: sentences.py            compares the counts with tests/layering/sentences.txt, and lets
                               no line of a page or a comment have more than 100 columns
       sentences.py --bless    lowers the bounds to what there is
       sentences.py PAGE...    lists such sentences of these pages or headers, the worst first

Counted are sentences of more than 25 words, and those that begin with Of, That, What or Where, or
with a pronoun that has no noun. Code, tables and headings are left out; a code span or a number
counts as one word.
"""

import ast
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).parents[2]
BOUNDS = pathlib.Path(__file__).with_suffix(".txt")
MOST_WORDS, MOST_COLUMNS = 25, 100
VERBS = ("is are was were has have had does do did can cannot may must will would should means says gives takes makes holds "
         "costs needs goes comes leaves lets keeps runs stands lies also and so").split()


def pages():
    found = [ROOT / "README.md", ROOT / "SECURITY.md", ROOT / "CHANGELOG.md"]
    return found + sorted(ROOT.glob("docs/*.md")) + sorted(ROOT.glob("docs/ideas/*.md"))


def comments(text):
    """The comments of a header as the lines of a page; code in them is set in, and is left out."""
    words = [re.match(r"\s*(?:///?|/\*|\*(?!/))( .*?)?(?:\*/)?$", line) for line in text.splitlines()]
    lines = [(word[1] or "")[1:] if word else "" for word in words]
    return "\n".join("" if line.startswith("  ") else line for line in lines)


def paragraphs(text):
    """Each with the line that it begins in; a list item is one."""
    inside, begin, gathered = False, 0, []
    for number, line in enumerate([*text.splitlines(), ""], start=1):
        fence = line.lstrip().startswith("```")
        inside ^= fence
        item = re.match(r"\s*(- |\d+\. )", line)
        ends = inside or fence or not line.strip() or line[0] in "#|<!" or item
        if ends and gathered:
            yield begin, " ".join(gathered)
            gathered = []
        if inside or fence or not line.strip() or line[0] in "#|<!":
            continue
        if not gathered:
            begin = number
        gathered.append(line[item.end() :] if item else line.strip())


def sentences(text):
    for line, paragraph in paragraphs(text):
        plain = re.sub(r"`[^`]*`", "CODE", paragraph)
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", plain).replace("*", "")
        for sentence in re.split(r"(?<=[^.\s][.!?])\)?\s+", plain):
            yield line, sentence


def complaint(sentence):
    words = re.findall(r"[\w'/%^.-]*\w[\w'/%^.-]*", sentence)
    if len(words) > MOST_WORDS:
        return f"{len(words)} words"
    first, second = (words + ["", ""])[:2]
    if first in ("Of", "That", "What", "Where"):
        return f"begins with {first}"
    if first in ("It", "They", "He", "She") or first in ("This", "These", "Those") and second in VERBS:
        return f"begins with {first}"
    return ""


def bad(page):
    text = page.read_text(encoding="utf-8")
    text = text if page.suffix == ".md" else comments(text)
    found = [(line, why, sentence) for line, sentence in sentences(text) if (why := complaint(sentence))]
    return sorted(found, key=lambda one: -len(one[2]))


def docstrings(text):
    """The numbers of the lines of docstrings, but of those that are set in."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(node):
            said = node.body[0].value
            yield from range(said.lineno, said.end_lineno + 1)


def long_lines(path):
    """The numbers of the lines of a page, or of comments, that are too long. Tables and code, also
    a line that is a picture or one span of code, are as long as they are."""
    lines = path.read_text(encoding="utf-8").splitlines()
    long = [number for number, line in enumerate(lines, start=1) if len(line) > MOST_COLUMNS]
    if not long:
        return []
    if path.suffix == ".md":
        inside, code = False, set()
        for number, line in enumerate(lines, start=1):
            inside ^= line.lstrip().startswith("```")
            code.update([number] if inside else [])
        return [number for number in long if number not in code and not re.match(r"\s*(\||!\[|`[^`]*`[.;,]?$)", lines[number - 1])]
    if path.suffix in (".py", ".pyi"):
        said = set(docstrings("\n".join(lines)))
        return [number for number in long if number in said and not re.search(r"\S {3,}\S", lines[number - 1]) or lines[number - 1].lstrip().startswith("#")]
    sign = r"\s*#" if path.suffix not in (".hpp", ".cpp", ".h", ".def", ".in", ".c") else r"(\s*|.*[;{},)] )(//|/\*| \* )"
    return [number for number in long if re.match(sign, lines[number - 1])]


def commented():
    """The files whose comments are looked at."""
    folders = [folder for name in ("include", "src", "jit", "tools", "python", "tests", "samples", "packaging") for folder in ROOT.glob(f"{name}/**/*")]
    return [path for path in [*folders, ROOT / "dev"] if path.is_file() and (
        path.suffix in (".hpp", ".cpp", ".h", ".c", ".def", ".py", ".pyi", ".sh") or path.name in ("dev", "meson.build"))]


def main(arguments):
    if arguments and arguments[0] != "--bless":
        for name in arguments:
            for line, why, sentence in bad(pathlib.Path(name)):
                print(f"{name}:{line}: {why}: {sentence}")
        return 0
    counts = {str(page.relative_to(ROOT)): len(bad(page)) for page in pages()}
    counts["include"] = sum(len(bad(header)) for header in ROOT.glob("include/**/*.h*"))
    bounds = {}
    if BOUNDS.exists():
        bounds = {name: int(most) for name, most in (line.split() for line in BOUNDS.read_text().splitlines())}
    if arguments:
        BOUNDS.write_text("".join(f"{name} {min(count, bounds.get(name, count))}\n" for name, count in counts.items()))
        return 0
    worse = 0
    for path in [*pages(), *commented()]:
        for number in long_lines(path):
            worse = 1
            print(f"{path.relative_to(ROOT)}:{number} has more than {MOST_COLUMNS} columns")
    for name, count in counts.items():
        if count > bounds.get(name, 0):
            worse = 1
            print(f"{name} has {count} sentences that are hard to read, {bounds.get(name, 0)} are allowed: "
                  f"python3 tests/layering/sentences.py {name}")
    return worse


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
