"""Makes what editors and pages colour `.loom` texts by, from the words that the program itself
reads them by.

usage: make.py BROADLOOM [--check] --check: says what is not as it would be made, and writes nothing

    vscode/syntaxes/loom.tmLanguage.json       a TextMate grammar; the folder vscode is an extension of VS Code
    python/broadloom/pygments_lexer.py         a lexer of Pygments

Both have the same rules in the same order; the first that matches at a place counts. Words that are
names elsewhere are told by what stands beside them, so neither has states.
"""

import json
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).parent
GRAMMAR = HERE / "vscode/syntaxes/loom.tmLanguage.json"
LEXER = HERE.parents[1] / "python/broadloom/pygments_lexer.py"

LEXER_TEXT = '''# Made by packaging/editors/make.py: not to be changed by hand.
"""A lexer of Pygments for the text form of kernels, which Pygments finds as `loom` where Broadloom
is installed."""

from pygments.lexer import RegexLexer
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, Whitespace

__all__ = ["LoomLexer"]


class LoomLexer(RegexLexer):
    name = "Broadloom"
    aliases = ["loom"]
    filenames = ["*.loom"]
    tokens = {{
        "root": [
{rules}
        ]
    }}
'''


def any_of(words):
    return "(?:" + "|".join(re.escape(word) for word in sorted(words, key=lambda word: (-len(word), word))) + ")"


def rules_of(words):
    """(scope of TextMate or None, token of Pygments, pattern): what the lexer of src/text reads,
    and what the words are."""
    modes = {"broadcast", "accumulate", "reduce"}
    truths = {"true", "false"}
    # Statements beside which a setting stands.
    of_settings = r"(?:(?<=set )|(?<=order )|(?<=stretch )|(?<=in )|(?<== )|(?<==))"
    signs = words["signs"]
    marks = [sign for sign in signs if sign in "()[]{},:;"]
    settings = set(words["settings"]) - {"c", "f"}
    return [
        ("comment.line.number-sign.loom", "Comment.Single", r"#[^\n]*"),
        (None, "Whitespace", r"[ \t\r\n]+"),
        ("keyword.control.loom", "Keyword", rf"\b{any_of(set(words['reserved']) - modes - truths)}\b"),
        ("keyword.control.mode.loom", "Keyword", rf"\b{any_of(modes)}\b"),
        ("constant.language.loom", "Keyword.Constant", rf"\b{any_of(truths | set(words['constants']) - {'e'})}\b"),
        ("storage.type.loom", "Keyword.Type", rf"\b{any_of(words['types'])}\b"),
        # A name behind a name is no expression.
        ("keyword.control.loom", "Keyword", rf"\b{any_of(words['declaring'])}(?=[ \t]+[A-Za-z_])(?![ \t]+(?:in|at|from|until)\b)"),
        ("keyword.control.loom", "Keyword", r"\bschedule(?=[ \t]*\{|[ \t]+[A-Za-z_])"),
        ("keyword.control.loom", "Keyword", rf"\b{any_of(words['clauses'])}(?=[ \t]+[A-Za-z_])(?![ \t]+(?:in|at|from|until)\b)"),
        ("keyword.control.loom", "Keyword", rf"\b{any_of(set(words['schedule']) - set(words['reserved']))}(?=[ \t]+[A-Za-z_0-9])"),
        ("keyword.other.loom", "Keyword", rf"\b{any_of(words['between'])}(?=[ \t]+[A-Za-z_0-9(\[-])"),
        ("entity.name.function.loom", "Name.Function",
         r"(?:(?<=kernel )|(?<=def )|(?<=accumulator ))[A-Za-z_][A-Za-z0-9_]*"),
        ("variable.parameter.loom", "Name.Attribute", rf"(?:(?<=[,(;])|(?<=[,(;] )){any_of(words['options'])}(?=[ \t]*=(?!=))"),
        ("support.constant.loom", "Name.Attribute", rf"(?<=, ){any_of(words['flags'])}(?=[ \t]*[,)])"),
        ("support.constant.loom", "Name.Attribute", rf"{of_settings}{any_of(settings)}(?=[ \t]*(?:[=;#}}\n]|$))"),
        ("support.function.loom", "Name.Builtin",
         rf"\b{any_of(set(words['functions']) | set(words['folds']))}(?=[ \t]*\()"),
        ("support.function.loom", "Name.Builtin",
         rf"(?:(?<=reduce\()|(?<=accumulate\()|(?<=scan\()){any_of(words['folds'])}\b"),
        ("constant.numeric.loom", "Number",
         r"(?<![A-Za-z0-9_.])(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?j?(?![A-Za-z0-9_.])"),
        (None, "Name", r"\b[A-Za-z_][A-Za-z0-9_]*"),
        ("keyword.operator.loom", "Operator", any_of(set(signs) - set(marks))),
        (None, "Punctuation", any_of(marks)),
    ]


def grammar(rules):
    patterns = [{"name": scope, "match": pattern} if scope else {"match": pattern} for scope, _, pattern in rules]
    return json.dumps({
        "comment": "Made by packaging/editors/make.py: not to be changed by hand.",
        "name": "Broadloom",
        "scopeName": "source.loom",
        "fileTypes": ["loom"],
        "patterns": patterns,
    }, indent=2) + "\n"


def lexer(rules):
    assert not any('"' in pattern for _, _, pattern in rules)
    return LEXER_TEXT.format(rules="\n".join(f'            (r"{pattern}", {token}),' for _, token, pattern in rules))


def words_of(program):
    return json.loads(subprocess.run([program, "--generate", "words"], check=True, stdout=subprocess.PIPE).stdout)


def main(program, *options):
    rules = rules_of(words_of(program))
    for path, text in ((GRAMMAR, grammar(rules)), (LEXER, lexer(rules))):
        if options != ("--check",):
            path.write_text(text, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != text:
            sys.exit(f"{path.name} is not what packaging/editors/make.py makes: run it")


if __name__ == "__main__":
    main(*sys.argv[1:])
