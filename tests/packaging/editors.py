"""The colours of editors and pages, held against every `.loom` text of the project.

usage: editors.py BROADLOOM

The lexer of Pygments has an error token where the language has a character or a number that is
none, and nowhere else. The TextMate grammar, taken as editors take it, gives each character the
same colour. Prints what is not so; needs Pygments.
"""

import importlib.util
import json
import pathlib
import re
import sys

from pygments.token import Error, string_to_tokentype

ROOT = pathlib.Path(__file__).parents[2]
MAKE = ROOT / "packaging/editors/make.py"
# Behind the codes of errors that the lexer of the language throws.
NO_TOKEN = re.compile(r"error\[E00(01|06|14)\]")


def module_of(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def texts():
    """(where, text, whether it may have what is no token)"""
    for path in sorted(ROOT.rglob("*.loom")):
        if path.relative_to(ROOT).parts[0].startswith("build"):
            continue
        text = path.read_bytes().decode("utf-8", errors="replace")
        # Below a wrong text stands its message.
        body = "\n".join(line for line in text.split("\n") if not line.startswith("#>"))
        said = "\n".join(line for line in text.split("\n") if line.startswith("#>"))
        yield str(path.relative_to(ROOT)), body, bool(NO_TOKEN.search(said))
    for path in [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]:
        for number, block in enumerate(re.findall(r"(?ms)^```loom\n(.*?)^```", path.read_text(encoding="utf-8"))):
            yield f"{path.relative_to(ROOT)}, block {number + 1}", block, False


def by_grammar(patterns, line):
    """The scope of each character of a line, by the first pattern that matches at the nearest
    place."""
    scopes, at = [None] * len(line), 0
    while at < len(line):
        found = [(match.start(), order, match) for order, (_, pattern) in enumerate(patterns) if (match := pattern.search(line, at))]
        found = [one for one in found if one[2].end() > one[0]]
        if not found:
            break
        start, order, match = min(found, key=lambda one: one[:2])
        scopes[start:match.end()] = [patterns[order][0]] * (match.end() - start)
        at = match.end()
    return scopes


def main(program):
    failures = []
    make = module_of(MAKE)
    lexer = module_of(make.LEXER).LoomLexer(stripnl=False, ensurenl=False)
    rules = make.rules_of(make.words_of(program))
    token_of = {scope: string_to_tokentype(token) for scope, token, _ in rules if scope}
    patterns = [(one.get("name"), re.compile(one["match"])) for one in json.loads(make.GRAMMAR.read_text())["patterns"]]
    seen, wrong = 0, 0
    for where, text, may_fail in texts():
        tokens = list(lexer.get_tokens_unprocessed(text))
        if "".join(value for _, _, value in tokens) != text:
            failures.append(f"{where}: the tokens are not the text")
        bad = [(at, value) for at, kind, value in tokens if kind is Error]
        if bad and not may_fail:
            line = text[: bad[0][0]].count("\n") + 1
            failures.append(f"{where}:{line}: {bad[0][1]!r} is no token")
        seen, wrong = seen + 1, wrong + bool(bad)
        kinds = [kind for _, kind, value in tokens for _ in value]
        at = 0
        for line in text.split("\n"):
            for column, scope in enumerate(by_grammar(patterns, line)):
                if scope and kinds[at + column] is not token_of[scope] or not scope and kinds[at + column] in token_of.values():
                    failures.append(f"{where}: the grammar has {scope}, the lexer {kinds[at + column]} in {line!r}, {column}")
                    break
            at += len(line) + 1
    if seen < 500 or wrong < 5:
        failures.append(f"{seen} texts were seen, {wrong} of them with what is no token")
    colours = {kind: value for _, kind, value in lexer.get_tokens_unprocessed(
        "kernel k { param w : f32[i]\n let h = reduce(sum, init=0) exp(w) # e\n set accuracy = exact }")}
    for kind, value in {"Keyword": "set", "Keyword.Type": "f32", "Name.Function": "k", "Name.Builtin": "exp", "Number": "0",
                        "Comment.Single": "# e\n".strip(), "Name.Attribute": "exact"}.items():
        if colours.get(string_to_tokentype(kind)) != value:
            failures.append(f"{value!r} is not {kind}")
    print("\n".join(failures[:20]) or f"{seen} texts")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
