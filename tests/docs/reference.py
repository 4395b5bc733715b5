"""Writes the pages of the reference, of C++, C and Python, and an index of their names.

usage: reference.py           checks that all can be read
       reference.py FOLDER    writes FOLDER/pages/api and FOLDER/names.json, from which links.py makes links in code

A page has a heading for each class and function, with an anchor: `kernel.html#Kernel.run`. Doc
comments are text, in which code stands set in by three columns. Codes of errors lead to
docs/errors.md, whose meaning of each is below the comment.
"""

import json
import pathlib
import re
import sys
import textwrap

import headers
import stubs

ROOT = pathlib.Path(__file__).parents[2]
INCLUDE = ROOT / "include"
MANY = 6  # names in a heading

# The order of C++ headers: by what a reader needs first.
FIRST = ["kernel", "spec", "expr", "accumulator", "function", "array", "dtype", "error", "options", "gradient", "stateful"]


def meanings():
    """The class and the meaning of each code, and whether it has an example."""
    page = (ROOT / "docs/errors.md").read_text(encoding="utf-8")
    found, kind = {}, ""
    for line in page.split("\n"):
        if line.startswith("## "):
            kind = match[1] if (match := re.search(r"`(\w+)`", line)) else ""
        elif match := re.match(r"\| (E\d{4}) \| (.*) \|$", line):
            found[match[1]] = (kind, match[2], f"### {match[1]}\n" in page)
    return found


class Writer:
    def __init__(self, language):
        self.language = language
        self.names = {}  # "Kernel::run": "cpp/kernel.html#Kernel.run"
        self.codes = meanings()

    def page(self, path, title, about, entries, include=""):
        self.path, self.up = path, "../" * (path.count("/") + 1)
        self.anchors = set()
        self.lines = [f"# {title}", ""]
        if include:
            self.lines += ["```cpp", f"#include <{include}>", "```", ""]
        self.text(about)
        for entry in entries:
            self.entry(entry, "##", "")
        return "\n".join(self.lines) + "\n"

    def anchor(self, name, scope):
        """The anchor of a name, the first time that it comes; its place for links."""
        word = re.sub(r"\W+", lambda match: "".join(f"-{ord(letter):x}" for letter in match[0]), name)
        word = f"{scope}.{word}" if scope else word
        if word in self.anchors:
            return ""
        self.anchors.add(word)
        joint = "::" if self.language == "cpp" else "."
        key = f"{scope.replace('.', joint)}{joint}{name}" if scope and not name.startswith("BL_") else name
        self.names.setdefault(key, f"api/{self.path}.html#{word}")
        return word

    def entry(self, entry, level, scope):
        if entry.kind == "text":
            self.text(entry.doc)
            return
        joint = "::" if self.language == "cpp" else "."
        shown = [f"{scope.split('.')[-1]}{joint}{name}" if scope and i == 0 else name for i, name in enumerate(entry.names)]
        title = ", ".join(shown[:MANY]) + (", .." if len(shown) > MANY else "")
        if entry.kind == "class" and self.language != "c":
            word = re.match(r"(?:template <.*> )?(enum|struct|class)", entry.code)
            title = f"{word[1] if word else 'class'} {title}"
        ids = [word for name in entry.names if (word := self.anchor(name, scope))]
        title = re.sub(r"([*_\[\]~`])", r"\\\1", title).replace("<", "&lt;").replace(">", "&gt;")
        self.lines += [f"{level} {title}" + (f" {{: #{ids[0]} }}" if ids else ""), ""]
        if ids[1:]:
            self.lines += ["".join(f'<a id="{word}"></a>' for word in ids[1:]), ""]
        if entry.code:
            self.lines += ["```" + {"cpp": "cpp", "c": "c", "py": "python"}[self.language], entry.code, "```", ""]
        self.text(entry.doc)
        self.errors(entry)
        inner = f"{scope}.{entry.names[0]}" if scope else (entry.names or [""])[0]
        if entry.kind != "class":
            return
        if entry.code and self.language != "py":  # all of it stands above
            members = [word for one in entry.members for name in one.names if (word := self.anchor(name, inner))]
            if members:
                self.lines += ["".join(f'<a id="{word}"></a>' for word in members), ""]
            return
        for member in entry.members:
            if member.doc or self.language != "py":
                self.entry(member, level + "#", inner)
        plain = [one for one in entry.members if not one.doc]
        if self.language == "py" and plain:
            ids = [word for one in plain for name in one.names if (word := self.anchor(name, inner))]
            self.lines += ["".join(f'<a id="{word}"></a>' for word in ids), "", "```python", *(one.code for one in plain), "```", ""]

    def text(self, doc):
        code = []
        whole = re.sub(r"`[^`\n]*\n[^`]*`", lambda match: match[0].replace("\n", " "), doc)  # code is not broken
        for line in [*whole.split("\n"), ""]:
            is_code = line.startswith("  ")
            if code and not is_code and line.strip():
                self.code(code)
                code = []
            if is_code or code and not line.strip():
                code.append(line)
            else:
                self.lines.append(self.prose(line))
        self.code(code)
        self.lines.append("")

    def code(self, lines):
        text = textwrap.dedent("\n".join(lines)).rstrip()
        if text.strip():
            kind = "text" if re.match(r"\s*(kernel|\w[\w.]*:\d|E\d{4})", text) else {"cpp": "cpp", "c": "c", "py": "python"}[self.language]
            self.lines += ["", f"```{kind}", text, "```", ""]

    def prose(self, line):
        """A line of a comment: what looks like Markdown is none, but for code; pages and errors are
        links."""
        line = line.replace("``", "`")
        parts = re.split(r"(`[^`]*`)", line)
        for i, part in enumerate(parts):
            if i % 2 == 0:
                part = re.sub(r"([\\*_\[\]])", r"\\\1", part).replace("<", "&lt;")
                part = re.sub(r"^(\s*)(#|\d+\.)", r"\1\\\2", part)
                part = re.sub(r'docs/([a-z]\w*(?:/\w+)?)\.md(?:, "([^"]+)")?', self.page_link, part.replace("\\_", "_")) if "docs/" in part else part
                parts[i] = re.sub(r"\bE\d{4}\b", lambda match: self.code_link(match[0]), part)
        return "".join(parts)

    def page_link(self, match):
        heading = "#" + re.sub(r"[^\w]+", "-", match[2].lower()).strip("-") if match[2] else ""
        return f"[{match[1]}{', “' + match[2] + '”' if match[2] else ''}]({self.up}{match[1]}.md{heading})"

    def code_link(self, code):
        return f"[{code}]({self.up}errors.md#{code.lower()})" if code in self.codes and self.codes[code][2] else code

    def errors(self, entry):
        """What the codes in the comments mean."""
        said = list(dict.fromkeys(re.findall(r"(?<![\"\w])E\d{4}\b", entry.doc + entry.code)))  # "E0102" is an example
        if not said:
            return
        self.lines += ["| error | code | meaning |", "| --- | --- | --- |"]
        for code in said:
            if code not in self.codes:
                sys.exit(f"tests/docs/reference.py: docs/errors.md has no {code}, which {entry.names} names")
            kind, meaning, _ = self.codes[code]
            meaning = re.sub(r"\]\((?!#|http)", f"]({self.up}", meaning).replace("](#", f"]({self.up}errors.md#")
            self.lines.append(f"| `{kind or 'Error'}` | {self.code_link(code)} | {meaning} |")
        self.lines.append("")


def first_sentence(about):
    text = about.split("\n\n")[0].replace("\n", " ")
    return re.split(r"(?<=[.:])\s", text)[0].rstrip(":.")


def cpp_pages():
    writer, pages, rows = Writer("cpp"), {}, []
    paths = sorted(INCLUDE.glob("broadloom/*.hpp")) + sorted(INCLUDE.glob("broadloom/interop/*.hpp"))
    paths.sort(key=lambda path: (path.parent.name != "broadloom", FIRST.index(path.stem) if path.stem in FIRST else len(FIRST)))
    for path in paths:
        about, entries = headers.read(path)
        if path.stem == "broadloom":
            continue
        name = f"cpp/{path.stem}"
        include = str(path.relative_to(INCLUDE))
        pages[name] = (path.name, writer.page(name, include.removeprefix("broadloom/"), about, entries, include))
        words = list(dict.fromkeys(word for one in entries for word in one.names if not word.startswith("operator")))
        listed = ", ".join(f"`{word}`" for word in words[:12]) + (", .." if len(words) > 12 else "")
        rows.append(f"| [{path.name}]({path.stem}.md) | {writer.prose(first_sentence(about))} | {listed} |")
    index = ("# The C++ interface\n\nOne header has all of it, but for what other libraries' arrays need (`broadloom/interop/`), building ahead of time and "
             "blocks.\n\n```cpp\n#include <broadloom/broadloom.hpp>\nnamespace bl = broadloom;\n```\n\nAll names are in the namespace `broadloom`. [The language]"
             "(../../language.md) says what a construct means, and has the C++ form of each. Every mistake is thrown as a `bl::Error`, whose codes "
             "[errors](../../errors.md) lists.\n\n| header | what it is about | names |\n| --- | --- | --- |\n" + "\n".join(rows) + "\n")
    return writer, {"cpp/index": ("C++", index), **pages}


def c_pages():
    writer = Writer("c")
    about, entries = headers.read(INCLUDE / "broadloom.h")
    return writer, {"c": ("C", writer.page("c", "broadloom.h", about, entries, "broadloom.h"))}


def python_pages():
    writer, pages = Writer("py"), {}
    texts = stubs.texts_of_core()

    def add(name, title, about, entries):
        pages[f"python/{name}"] = (title, writer.page(f"python/{name}", title, about, entries))

    def made(path, source, names):
        said, written = stubs.classes(path), stubs.classes(source) if source else {}
        return [stubs.class_entry(name, said[name], written.get(name), texts if name == "Kernel" else {}) for name in names]

    words = stubs.words()
    groups = [("Elementwise functions of one value", "_One"), ("of two", "_Two"), ("of three", "_Three"), ("Folds, along axes", "_Fold"), ("Dtypes", "DType")]
    listed = "\n\n".join(f"{title}: " + ", ".join(f"`bl.{word}`" for word in words[kind]) + "." for title, kind in groups)
    about = ("The package is `import broadloom as bl`. [The manual](../../python.md) shows how its parts belong together; "
             "[functions](../../functions.md) has meaning, dtypes and accuracy of what is elementwise or folds.")
    add("index", "Python", "", stubs.top())
    title, text = pages["python/index"]
    pages["python/index"] = (title, text.replace("# Python\n", f"# Python\n\n{about}\n\n{listed}\n", 1))
    add("kernels", "Kernels", "", made("_core.pyi", None, ["Kernel", "Bound", "Results"]) + made("trace.pyi", "trace.py", ["Traced"]))
    add("lazy", "Lazy arrays", "", made("lazy.pyi", "lazy.py", ["LazyArray"]) + made("_operators.pyi", None, ["Operators"]))
    add("records", "Records", "", made("records.py", "records.py", list(stubs.classes("records.py"))) + made("timing.py", "timing.py", ["Bench", "Table"]))
    add("errors", "Errors", "Each is a built-in exception, too, so `except ValueError` catches a `SpecError`.",
        made("errors.py", "errors.py", list(stubs.classes("errors.py"))))
    for module in ("dask", "jax", "torch", "array_api"):
        about, entries = stubs.adapter(f"{module}.py")
        for entry in entries:
            entry.names = [f"{module}.{name}" for name in entry.names]
            entry.code = f"{module}.{entry.code}"
        add(module, f"bl.{module}", about or "", entries)
    return writer, pages


def main(folder):
    """The pages by group, for the navigation: path and title of each."""
    names, nav = {}, {}
    for group, make in (("C++ interface", cpp_pages), ("C interface", c_pages), ("Python interface", python_pages)):
        writer, pages = make()
        names[writer.language] = writer.names
        for name, (title, text) in pages.items():
            nav.setdefault(group, []).append((f"api/{name}.md", title))
            if folder:
                path = folder / "pages/api" / f"{name}.md"
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text, encoding="utf-8")
    if folder:
        (folder / "names.json").write_text(json.dumps(names, indent=1), encoding="utf-8")
    return nav


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else None)
