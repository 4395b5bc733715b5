"""Reads what the Python package offers: signatures from its stubs, else from its sources, and texts
from its docstrings.

Problem: the reference is made where the package is not built, so nothing can be imported.
Method: stubs and sources are parsed. Texts of what C++ gives to Python stand in python/core as the
last argument of `def`.
"""

import ast
import pathlib
import re

from headers import Entry

ROOT = pathlib.Path(__file__).parents[2] / "python"


def parsed(path):
    return ast.parse((ROOT / "broadloom" / path).read_text(encoding="utf-8")).body


def texts_of_core():
    """By name: the text that `.def("name", .., "text")` of the class Kernel and of the module
    has."""
    found = {}
    for path in sorted((ROOT / "core").glob("*.cpp")):
        source = path.read_text(encoding="utf-8")
        for match in re.finditer(r'\bdef(?:_prop_ro)?\(\s*"(\w+)"', source):
            depth, at, quoted = 1, match.end(), False
            while depth:
                if source[at] == '"' and source[at - 1] != "\\":
                    quoted = not quoted
                depth += 0 if quoted else (source[at] in "([{") - (source[at] in ")]}")
                at += 1
            if text := re.search(r',\s*((?:"(?:[^"\\]|\\.)*"\s*)+)\)$', source[match.end() : at]):
                found.setdefault(match[1], "".join(ast.literal_eval(part) for part in re.findall(r'"(?:[^"\\]|\\.)*"', text[1])))
    return found


def apart(arguments):
    """Split at the commas that no bracket is around."""
    depth, parts = 0, [""]
    for letter in arguments:
        depth += (letter in "([{") - (letter in ")]}")
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts]


def signature(node, name=None):
    """A function as it is called, without `self`."""
    arguments = node.args
    if arguments.args and arguments.args[0].arg in ("self", "cls"):
        arguments.args = arguments.args[1:]
        if len(arguments.defaults) > len(arguments.args):
            arguments.defaults = arguments.defaults[1:]
    elif arguments.posonlyargs and arguments.posonlyargs[0].arg == "self":
        arguments.posonlyargs = arguments.posonlyargs[1:]
    said = ast.unparse(arguments)
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    text = f"{name or node.name}({said}){returns}"
    if len(text) > 100:
        text = f"{name or node.name}(\n" + "".join(f"    {one},\n" for one in apart(said)) + f"){returns}"
    return text


def is_property(node):
    return any(isinstance(one, ast.Name) and one.id == "property" for one in node.decorator_list)


def members(stub, source, texts):
    """The methods and attributes of a class. `source` is the class where it is written in Python,
    or None."""
    written = {one.name: one for one in source.body if isinstance(one, ast.FunctionDef)} if source else {}
    entries = {}
    for one in stub.body:
        if isinstance(one, ast.AnnAssign):
            code, name, doc = ast.unparse(one), one.target.id, ""
        elif isinstance(one, ast.FunctionDef) and (not one.name.startswith("_") or one.name in ("__call__", "__getitem__", "_asdict")):
            name = one.name
            doc = ast.get_docstring(one) or ast.get_docstring(written[name]) if name in written else texts.get(name, "")
            code = ast.unparse(one.returns) if is_property(one) and one.returns else ""
            code = f"{name}: {code}" if code else signature(one)
        else:
            continue
        if name in entries:
            entries[name].code += "\n" + code
        else:
            entries[name] = Entry("function", [name], code, doc or "")
    return list(entries.values())


def class_entry(name, stub, source, texts):
    doc = ast.get_docstring(stub) or (ast.get_docstring(source) if source else "") or ""
    bases = ", ".join(ast.unparse(base) for base in stub.bases)
    return Entry("class", [name], f"class {name}({bases})" if bases else f"class {name}", doc, members(stub, source, texts))


def classes(path):
    return {one.name: one for one in parsed(path) if isinstance(one, ast.ClassDef)}


def functions(path):
    """The functions of a module by their names, and what it says of itself."""
    body = parsed(path)
    return {one.name: one for one in body if isinstance(one, ast.FunctionDef)}, ast.get_docstring(ast.Module(body, []))


def adapter(path):
    """A module whose public functions are written in Python."""
    found, about = functions(path)
    return about, [Entry("function", [name], signature(one), ast.get_docstring(one) or "")
                   for name, one in found.items() if not name.startswith("_") and ast.get_docstring(one)]


def top():
    """The functions of `broadloom` itself, by their stubs where they have one."""
    stubs, _ = functions("__init__.pyi")
    where = {name: one for path in ("expr.py", "functions.py", "timing.py", "lazy_reads.py", "trace.py", "__init__.py")
             for name, one in functions(path)[0].items()}
    signatures = {**{name: one for name, one in functions("trace.pyi")[0].items()}, **stubs}
    texts, found = texts_of_core(), []
    for name in ("compile", "kernel", "array", "compute", "bench", "param", "out", "fold", "scan", "extent", "iota", "logical_and", "logical_or",
                 "logical_not", "sums_at", "set_log_level", "release_kept_memory", "load_ipython_extension"):
        said = signatures.get(name) or where.get(name)
        doc = ast.get_docstring(where[name]) if name in where else texts.get(name, "")
        found.append(Entry("function", [name], signature(said) if said else f"{name}()", doc or ""))
    return found


def words():
    """The functions of values that `__init__.pyi` names by a protocol: elementwise ones and
    folds."""
    body, found = parsed("__init__.pyi"), {}
    for one in body:
        if isinstance(one, ast.AnnAssign) and isinstance(one.annotation, ast.Name):
            found.setdefault(one.annotation.id, []).append(one.target.id)
    return found
