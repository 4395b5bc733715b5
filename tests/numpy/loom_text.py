"""Reads the text form of kernels into trees, for spec_to_numpy.py. It knows the common part of the
language.

parse(text) gives the kernel: {"inputs", "lets", "listed", "axes", "outputs", "order", "accuracy",
"functions", "accumulators", "windows"}; "listed" has the dims of lets with dims, "windows" what
"x[i + 1]" reads, which as an expression is a name. An expression is a tuple: ("number", v),
("name", n), ("unary", op, e), ("binary", op, a, b), ("choice", c, a, b) or ("call", name,
[argument], {option: argument}); an argument is an expression, or for a tuple ("tuple", [e]).
"""
import re


FOLDS = {"sum", "prod", "min", "max", "any", "all", "mean", "var", "std", "norm", "logsumexp", "argmin", "argmax"}


class Refused(Exception):
    """The text, or the data, has something that is not translated."""


TOKEN = re.compile(r"\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?)|(?P<name>[A-Za-z_]\w*)"
                   r"|(?P<sign>\|\||&&|==|!=|<=|>=|<<|>>|//|\+=|[-+*/%^!~&|<>?:=,;(){}\[\]]))")
LEVELS = [["||"], ["&&"], ["|"], ["&"], ["==", "!=", "<", "<=", ">", ">="], ["<<", ">>"], ["+", "-"], ["*", "/", "//", "%"]]
OPEN_ENDS = {"(", "[", ",", "?", ":", "=", "+=", "{", ";"} | {op for level in LEVELS for op in level} | {"^", "!", "~"}


def tokens(text):
    """Words and signs; a line that ends a statement gives ';'."""
    found, depth = [], 0
    for line in text.splitlines():
        line, at = line.split("#")[0].rstrip(), 0
        while at < len(line):
            match = TOKEN.match(line, at)
            if not match:
                raise Refused("cannot read '%s'" % line[at:])
            at = match.end()
            word = match.group(match.lastgroup)
            found.append((match.lastgroup, word))
            depth += (word in ("(", "[")) - (word in (")", "]"))
        if found and depth == 0 and found[-1][1] not in OPEN_ENDS:
            found.append(("sign", ";"))
    return found + [("end", "")]


def window_name(name, positions, pads=()):
    return "%s%s%s" % (name, list(pads) or "", [sorted(p.items(), key=str) for p in positions])


class Parser:
    def __init__(self, text):
        self.tokens, self.at = tokens(text), 0
        self.windows = {}  # "x[i + u]": the input or let, the position along each dim and how it is padded

    def peek(self):
        return self.tokens[self.at][1]

    def take(self):
        self.at += 1
        return self.tokens[self.at - 1][1]

    def accept(self, word):
        if self.peek() != word:
            return False
        self.at += 1
        return True

    def expect(self, word):
        if not self.accept(word):
            raise Refused("'%s' where '%s' should stand" % (self.peek(), word))

    def skip_ends(self):
        while self.accept(";"):
            pass

    # ---- expressions

    def expression(self):
        condition = self.level(0)
        if not self.accept("?"):
            return condition
        yes = self.expression()
        self.expect(":")
        return ("choice", condition, yes, self.expression())

    def level(self, n):
        if n == len(LEVELS):
            return self.prefix()
        left = self.level(n + 1)
        while self.peek() in LEVELS[n]:
            op = self.take()
            left = ("binary", op, left, self.level(n + 1))
        return left

    def prefix(self):
        if self.peek() in ("-", "!", "~"):
            op = self.take()
            return ("unary", op, self.prefix())
        base = self.primary()
        return ("binary", "^", base, self.prefix()) if self.accept("^") else base

    def primary(self):
        kind, word = self.tokens[self.at]
        self.at += 1
        if kind == "number":
            return ("number", float(word) if re.search(r"[.eE]", word) else int(word))
        if word == "(":
            inside = [self.expression()]
            while self.accept(","):
                inside.append(self.expression())
            self.expect(")")
            return inside[0] if len(inside) == 1 else ("tuple", inside)
        if kind != "name":
            raise Refused("'%s' where a value should stand" % word)
        if word == "pad" and self.peek() == "(":
            name, pads = self.pad()
            self.expect("[")
            return self.window(name, pads)
        if self.accept("["):
            return self.window(word, [])
        if not self.accept("("):
            return ("name", word)
        args, options = [], {}
        while not self.accept(")"):
            if self.tokens[self.at + 1][1] == "=" and self.tokens[self.at][0] == "name":
                name = self.take()
                self.take()
                options[name] = self.expression()
            else:
                args.append(self.expression())
            if self.peek() != ")":
                self.expect(",")
        return ("call", word, args, options)

    # ---- positions: the multiple of each axis, of ("at", read) for an element that is read, and of
    # None the number. Where elements are read, "outside" is clip, wrap or nothing.

    # pad(x, i: (1, 2), edge), the word read: the input, and (dim, before, after, mode or number) in
    # the order of filling.
    def pad(self):
        self.expect("(")
        name, pads = self.take(), []
        if name == "pad" and self.peek() == "(":
            name, pads = self.pad()
        amounts, mode = [], "zero"
        while self.accept(","):
            if self.tokens[self.at + 1][1] != ":":
                sign = -1 if self.accept("-") else 1
                word = self.take()
                mode = word if word in ("zero", "edge", "wrap", "reflect") else \
                    float(word == "true") if word in ("true", "false") else sign * float(word)
                break
            dim = self.take()
            self.expect(":")
            self.expect("(")
            before = int(self.take())
            self.expect(",")
            amounts.append((dim, before, int(self.take())))
            self.expect(")")
        self.expect(")")
        return name, pads + [(*one, mode) for one in amounts]

    def window(self, name, pads):
        positions = []
        while not self.accept("]"):
            mode = None
            if self.peek() in ("clip", "wrap") and self.tokens[self.at + 1][1] == "(":
                mode = self.take()
                self.expect("(")
            positions.append(self.position())
            if mode:
                positions[-1]["outside"] = mode
                self.expect(")")
            if self.peek() != "]":
                self.expect(",")
        read = window_name(name, positions, pads)
        self.windows.setdefault(read, (name, positions, pads))
        return ("name", read)

    def position(self):
        total = self.term()
        while self.peek() in ("+", "-"):
            sign = 1 if self.take() == "+" else -1
            for axis, times in self.term().items():
                total[axis] = total.get(axis, 0) + sign * times
        return {axis: times for axis, times in total.items() if times}

    def term(self):
        product = self.factor()
        while self.accept("*"):
            other = self.factor()
            if set(product) - {None}:
                product, other = other, product
            product = {axis: times * product.get(None, 0) for axis, times in other.items()}
        return product

    def factor(self):
        if self.accept("-"):
            return {axis: -times for axis, times in self.factor().items()}
        if self.accept("("):
            inside = self.position()
            self.expect(")")
            return inside
        word = self.take()
        if self.accept("["):
            return {("at", self.window(word, [])[1]): 1}
        return {None: int(word)} if word.isdigit() else {word: 1}

    # ---- statements

    def names(self, close):
        found = []
        while not self.accept(close):
            sign = "-" if self.accept("-") else ""
            found.append(sign + self.take())
            if self.peek() != close:
                self.expect(",")
        return found

    def assignments(self):
        found = {}
        while True:
            name = self.take()
            self.expect("=")
            found[name] = self.expression()
            if not self.accept(","):
                return found

    def accumulator(self):
        name = self.take()
        self.expect("(")
        states = self.names_until(";")
        args = self.names(")")
        self.expect("{")
        clauses = {"states": states, "args": args}
        self.skip_ends()
        while not self.accept("}"):
            word = self.take()
            clauses[word] = self.expression() if word == "result" else self.assignments()
            self.skip_ends()
        return name, clauses

    def names_until(self, sign):
        found = [self.take()]
        while self.accept(","):
            found.append(self.take())
        self.expect(sign)
        return found

    def function(self):
        name = self.take()
        self.expect("(")
        parameters = self.names(")")
        self.expect("=")
        body = self.expression()
        self.skip_ends()
        while self.accept("derivative"):
            self.assignments()
            self.skip_ends()
        return name, (parameters, body)

    def input(self):
        name = self.take()
        self.expect(":")
        declared = {"name": name, "dtype": self.take(), "dims": [], "ones": [], "labels": None, "axes": None}
        if self.accept("["):
            labels = []
            while not self.accept("]"):
                word = self.take()
                labels.append(word if re.match(r"[A-Za-z_]", word) else None)
                declared["ones"].append(self.accept("?") or (self.accept("=") and self.take() == "1"))
                if self.peek() != "]":
                    self.expect(",")
            declared["dims"] = labels
            declared["labels"] = labels if labels and labels[0] else None
        if self.peek() in ("dims", "axes"):
            self.take()
            self.expect("(")
            declared["axes"] = [int(n) for n in self.names(")")]
        return declared

    def output(self):
        out = {"name": self.take(), "axes": None, "dtype": None, "add": False, "mode": None}
        if self.accept("["):
            out["axes"] = self.names("]")
        if self.accept(":"):
            out["dtype"] = self.take()
        out["add"] = self.peek() == "+="
        self.take()
        if self.peek() in ("broadcast", "accumulate", "reduce"):
            mode, args, options = self.peek(), [], {}
            # `broadcast (x + y)` has no options, but a value in brackets.
            if mode != "broadcast" or [word for _, word in self.tokens[self.at + 1:self.at + 4]] == ["(", "like", "="]:
                _, _, args, options = self.primary()
            else:
                self.take()
            out["mode"] = (mode, args[0][1] if args else None, options)
        out["value"] = self.expression()
        return out

    def file(self):
        kernel = {"inputs": [], "lets": {}, "listed": {}, "axes": {}, "outputs": [], "order": "f", "accuracy": "high", "functions": {}, "accumulators": {}}
        self.skip_ends()
        while self.peek() != "kernel":
            word = self.take()
            if word == "def":
                name, definition = self.function()
                kernel["functions"][name] = definition
            elif word == "accumulator":
                name, definition = self.accumulator()
                kernel["accumulators"][name] = definition
            else:
                raise Refused("'%s' where a kernel should stand" % word)
            self.skip_ends()
        self.take(), self.take(), self.expect("{")
        self.skip_ends()
        while not self.accept("}"):
            before = len(self.windows)
            self.statement(kernel)
            if kernel["outputs"] and kernel["outputs"][-1]["mode"] and "[" in str(kernel["outputs"][-1]["mode"][2].get("init", "")) \
                    and len(self.windows) > before:
                raise Refused("a window in init=")
            self.skip_ends()
        kernel["windows"] = self.windows
        return kernel

    def statement(self, kernel):
        word = self.take()
        if word in ("in", "param", "state"):
            kernel["inputs"].append(self.input())
            if self.tokens[self.at][1] in (">", ">=", "<", "<=", "!="):
                self.take(), self.take()
        elif word == "let":
            name = self.take()
            if self.accept("["):
                kernel["listed"][name] = self.names("]")
            self.expect("=")
            kernel["lets"][name] = self.expression()
        elif word == "out":
            kernel["outputs"].append(self.output())
        elif word == "axis":
            while True:
                name = self.take()
                self.expect("<")
                kernel["axes"][name] = int(self.take())
                if not self.accept(","):
                    break
        elif word == "order":
            kernel["order"] = self.take()
        elif word == "set":
            name = self.take()
            self.expect("=")
            value = self.take()
            if name == "relaxed" and value == "on":
                raise Refused("relaxed sums")
            if name == "accuracy":
                kernel["accuracy"] = value
        elif word == "schedule":
            while self.take() != "}":
                pass
        elif word in ("fuse", "separate"):
            self.take(), self.expect(","), self.take()
        elif word == "stretch":
            self.take()
        else:
            raise Refused("a statement that begins with '%s'" % word)


def parse(text):
    return Parser(text).file()
