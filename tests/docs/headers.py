"""Reads the declarations of a public header, with the comments that stand before them.

Problem: the reference needs what each header declares, without bodies and private parts, by the
comments that are there. Method: headers are in clang-format's form, so a declaration begins on a
line of its own; one is cut off where its brackets are closed. A comment is about the declarations
that follow it up to the next empty line or comment. What cannot be read is an error, so nothing
goes missing.

    // Throws DataError E0304 for an unknown name.              Entry(names=["operator[]"], kind="function",
    const Array &operator[](std::string_view name) const;        code="const Array &operator[](..) const;", doc=..)
"""

import dataclasses
import re


@dataclasses.dataclass
class Entry:
    kind: str  # "class", "function", "value", or "text": a comment of its own
    names: list
    code: str = ""  # as it is written, without bodies
    doc: str = ""
    members: list = dataclasses.field(default_factory=list)  # of a class, what is public


class Unreadable(Exception):
    pass


def without_text(text):
    """Comments and the insides of literals become spaces, so that brackets can be counted; places
    stay what they are."""
    def blank(match):
        return re.sub(r"[^\n]", " ", match[0])
    return re.sub(r'//[^\n]*|/\*.*?\*/|"(?:[^"\\\n]|\\.)*"|\'(?:[^\'\\\n]|\\.)\'', blank, text, flags=re.S)


def line_comments(text):
    """Comments of C that begin a line, as those of C++."""
    def turned(match):
        indent = match[1]
        words = match[2].strip().split("\n")
        return "\n".join(f"{indent}// {re.sub(r'^ *[*] ?', '', word) if i else word}".rstrip() for i, word in enumerate(words))
    return re.sub(r"(?m)^([ ]*)/\*(.*?)\*/[ ]*$", turned, text, flags=re.S)


def end_of(plain, begin):
    depth = 0
    for at in range(begin, len(plain)):
        letter = plain[at]
        if letter in "([{":
            depth += 1
        elif letter in ")]}":
            depth -= 1
            rest = plain[at + 1 :].split("\n", 1)[0].strip()
            if letter == "}" and depth == 0 and (not rest or rest[0] not in ";,{(*" and not re.match(r"\w+;", rest)):
                return at + 1
        elif letter == ";" and depth == 0:
            return at + 1
    raise Unreadable(f"a declaration has no end: {plain[begin : begin + 80]}")


def balanced(text, opens, closes):
    """How long the bracket is that the text begins with."""
    depth = 0
    for at, letter in enumerate(text):
        depth += (letter == opens) - (letter == closes)
        if depth == 0:
            return at + 1
    raise Unreadable(f"a bracket is not closed: {text[:80]}")


def head_of(plain):
    """The declaration behind `template <..>` and `requires ..`, and where that begins."""
    at = 0
    while match := re.match(r"\s*(template\s*(?=<)|requires\b\s*(?:requires\b\s*)?)", plain[at:]):
        at += match.end()
        if match[1].startswith("template"):
            at += balanced(plain[at:], "<", ">")
            continue
        for opens, closes in ("()", "{}"):
            if plain[at:].lstrip().startswith(opens):
                at += len(plain[at:]) - len(plain[at:].lstrip())
                at += balanced(plain[at:], opens, closes)
        if not plain[at:].startswith("\n"):  # a concept: the rest of its lines
            at += len(re.match(r"[^\n]*", plain[at:])[0])
            while plain[:at].count("(") > plain[:at].count(")"):
                at += 1 + len(re.match(r"[^\n]*", plain[at + 1 :])[0])
    return at + len(plain[at:]) - len(plain[at:].lstrip())


def top_level(plain, letters):
    depth = 0
    for at, letter in enumerate(plain):
        if letter in letters and depth == 0:
            return at
        depth += (letter in "([{") - (letter in ")]}")
    return -1


def names_of(plain):
    """The kind of a declaration and what it declares."""
    said = plain[head_of(plain) :].replace("decltype(auto)", "auto")
    if match := re.match(r"(?:typedef )?(?:class|struct|union|enum(?: class)?)\b\s*(\w*)[^;(=]*?(?=\{)", said):
        alias = re.search(r"\}\s*(\w+);\s*$", said)
        return "class", [name for name in [alias[1] if alias else match[1]] if name]
    if match := re.match(r"(?:using|concept)\s+(\w+)\s*=|typedef [^;]*?(\w+);", said):
        return "value", [match[1] or match[2]]
    if match := re.match(r"[^({=]*\boperator\s*(\(\)|\[\]|[^\w\s(]+|[\w:<>, ]+?)\s*\(", said):
        word = re.sub(r"\s+", " ", match[1].strip())
        return "function", [f"operator {word}" if word[0].isalpha() else f"operator{word}"]
    paren, other = top_level(said, "("), top_level(said, "={;")
    if 0 <= paren < other:
        match = re.search(r"(~?\w+)\s*(?:<[^()]*>)?\s*$", said[:paren])
        if not match:
            raise Unreadable(f"a function without a name: {said[:80]}")
        return "function", [match[1]]
    names = re.findall(r"(?:^|,)[^,]*?(\w+)\s*(?:\[\w*\])?\s*(?==|\{|,|;|$)", re.sub(r"<[^;=]*>", "", re.sub(r"=[^,;]*|\{[^{}]*\}", "", said)))
    if not names:
        raise Unreadable(f"a declaration without a name: {said[:80]}")
    return "value", names


def without_body(code):
    """A function as it is declared: without its body, and without what a constructor sets."""
    plain = without_text(code)
    begin = head_of(plain)
    said = plain[begin:]
    brace = top_level(said, "{")
    paren = top_level(said, "(")
    if brace < 0 or paren < 0 or paren > brace:
        return code
    if said[paren:].startswith("()") and said[:paren].rstrip().endswith("operator"):
        paren += 2
    close = paren + balanced(said[paren:], "(", ")")
    colon = re.match(r"(?:\s|const|noexcept)*:(?!:)", said[close:])
    cut = close + said[close:].index(":") if colon else brace
    behind = re.search(r"(//[^\n]*)$", code)
    return code[: begin + cut].rstrip() + ";" + (f" {behind[1]}" if behind and "\n" not in code[begin + cut :].rstrip() else "")


def class_of(text, plain, names, doc, indent):
    """A class: whole where its members have no comments of their own, else with each of them."""
    opens = plain.index("{", head_of(plain))
    closes = plain.rindex("}")
    is_enum = re.match(r"(?:typedef )?enum\b", plain[head_of(plain) :])
    is_open = not re.match(r"class\b", plain[head_of(plain) :])
    words = re.findall(r"(\w+)\s*(?:=[^,}]*)?(?:,|$)", plain[opens + 1 : closes].strip()) if is_enum else []
    members = [Entry("value", words)] if is_enum else scan(text[opens + 1 : closes], plain[opens + 1 : closes], indent + "  ", is_open)
    tail = text[closes:].strip()
    names = names or words  # of an enum without a name
    if is_enum or not any(one.kind == "function" for one in members):
        return Entry("class", names, text.strip(), doc, members)
    if not any(one.doc for one in members):
        inside = "\n".join("\n".join(indent + "  " + line for line in one.code.split("\n")) for one in members)
        return Entry("class", names, f"{text[: opens + 1].strip()}\n{inside}\n{tail}", doc, members)
    return Entry("class", names, "", doc, members)


def scan(text, plain, indent="", is_open=True):
    """The entries of a scope, whose lines are set in by `indent`."""
    found, doc, at, joins = [], [], 0, False
    while at < len(text):
        stop = (text.find("\n", at) + 1 or len(text) + 1) - 1
        line = text[at:stop]
        word = line.strip()
        if re.match(r"#define \w+ ", word):
            define = Entry("value", [word.split()[1]], word, "\n".join(doc))
            if joins and not doc:
                found[-1].code, found[-1].names = f"{found[-1].code}\n{word}", found[-1].names + define.names
            else:
                found.append(define)
            doc, joins = [], True
        elif not word or word.startswith("#"):
            if doc and not word.startswith("#") and is_open:
                found.append(Entry("text", [], "", "\n".join(doc)))
            doc, joins = [] if not word else doc, False
        elif word.startswith("//"):
            if found and joins and len(line) - len(line.lstrip()) > len(indent) and is_open:  # goes on behind a declaration
                found[-1].code += "\n" + line[len(indent) :]
            else:
                doc.append(word[2:].removeprefix(" "))
                joins = False
        elif re.match(r"(public|private|protected):", word):
            is_open, doc, joins = word.startswith("public"), [], False
        else:
            end = end_of(plain, at + head_of(plain[at:]))
            stop = (text.find("\n", end) + 1 or len(text) + 1) - 1
            if plain[end:stop].strip():
                raise Unreadable(f"two declarations in one line: {text[at:stop]}")
            one, bare = text[at:stop], plain[at:stop]
            said = bare[head_of(bare) :]
            if match := re.match(r'(?:inline )?namespace (\w+) \{|extern\s+\{', said):
                if match[1] != "detail":
                    opens, closes = bare.index("{"), bare.rindex("}")
                    found += scan(one[opens + 1 : closes], bare[opens + 1 : closes], indent)
            elif is_open and not re.match(r"(friend )?(class|struct) \w+;|static_assert|friend class", said):
                code = "\n".join(part.removeprefix(indent) for part in without_body(one).strip("\n").split("\n"))
                kind, names = names_of(bare)
                is_repeated = bare.rstrip().endswith("}") and not doc and any(set(names) & set(one.names) for one in found[:-1])
                if is_repeated and kind == "function":  # the body of a template that was declared above
                    pass
                elif kind == "class":
                    found.append(class_of(code, without_text(code), names, "\n".join(doc), ""))
                elif joins and found[-1].kind != "class":
                    found[-1].code += "\n" + code
                    found[-1].names += [name for name in names if name not in found[-1].names]
                    found[-1].kind = kind if kind == "function" else found[-1].kind
                else:
                    found.append(Entry(kind, names, code, "\n".join(doc)))
            doc, joins = [], bool(found)
        at = stop + 1
    return found


def read(path):
    """What the header is about, and its entries."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".h":
        text = line_comments(text)
    lines = text.split("\n")
    begin = next(i for i, line in enumerate(lines) if not line.startswith("//"))
    about = "\n".join(line[2:].removeprefix(" ") for line in lines[:begin])
    rest = "\n".join(lines[begin:])
    try:
        return about, scan(rest, without_text(rest))
    except Unreadable as error:
        raise Unreadable(f"{path}: {error}") from None
