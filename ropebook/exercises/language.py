"""The small language of answers, rules and fill-ins: a part of Python, read without Python.

What a reader types on a page is read by `ropebook/widgets/kit/language.js`, what is given to
`check` by this file, and both answer with the same words. Nothing typed is ever handed to Python:
text becomes a tree (nested tuples) here, and `ropebook.exercises.meaning` says its value.
"""

import re

MAX_LENGTH = 400
"""Characters that one expression may have."""
MAX_CODE = 4000
"""Characters that a function may have."""
MAX_DEPTH = 30
"""How deep brackets, signs and powers may be nested."""

TYPED = {
    **{"−": "-", "–": "-", "×": "*", "·": "*", "⋅": "*", "÷": "/"},
    **{"\u00a0": " ", "\u2009": " ", "\u202f": " "},
    **{"π": "pi", "θ": "theta", "α": "alpha", "β": "beta", "φ": "phi", "λ": "lambda_"},
    **{"≤": "<=", "≥": ">=", "≠": "!="},
}
"""Signs that a reader may type, and what they are read as."""

KEYWORDS = frozenset(
    "and or not if else elif for in return def is lambda None while import True False".split()
)
_TOKEN = re.compile(
    r"(?P<space>[ \t]+)"
    r"|(?P<number>(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)"
    r"|(?P<name>(?:math\.)?[A-Za-z_][A-Za-z0-9_]*)"
    r"""|(?P<string>"[^"\\]*"|'[^'\\]*')"""
    r"|(?P<sign>\*\*|//|==|!=|<=|>=|\+=|-=|\*=|/=|[-+*/%()\[\],:<>=])"
)
_GROUPED = re.compile(
    r"(?<![0-9A-Za-z_.,])(?<![0-9.][eE][+-])"
    r"[1-9][0-9]{0,2}(?:(?:,[0-9]{3})+|(?: [0-9]{3})+)(?![0-9A-Za-z_]|[ ,][0-9])"
)
_CALLED = re.compile(r"[A-Za-z0-9_)\]][ \t]*\Z")
_PERCENT = re.compile(r"[ \t]*([-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+))[ \t]*%[ \t]*\Z")
_INSTEAD = {"^": "** for a power", "√": "sqrt(2) for a root", "°": "an angle in radians"}
_LARGEST = 2**53
_CLOSING = {"(": ")", "[": "]"}


class LanguageError(ValueError):
    """What cannot be read or computed, in words for the reader."""


def quoted(text: str) -> str:
    """Return what a reader typed as a message may repeat it: short, and no markup."""
    text = text.strip(" \t").replace("<", "‹").replace(">", "›")
    return f"“{text[:20]}…”" if len(text) > 20 else f"“{text}”"


def typed(text: str) -> str:
    """Return a text with the signs of mathematics that it may contain in Python's own."""
    return "".join(TYPED.get(sign, sign) for sign in text)


def ungrouped(text: str) -> str:
    """Return a text without commas and spaces between thousands, where they can mean nothing else.

    In the brackets of a function and of a list a comma stands between values, and stays.

    Example:
        >>> ungrouped("7,680,000 + 65 536")
        '7680000 + 65536'
        >>> ungrouped("max(1,024)")
        'max(1,024)'
    """
    text = typed(text)

    def joined(match: re.Match) -> str:
        if "," in match[0] and _in_values(text[: match.start()]):
            return match[0]
        return re.sub("[ ,]", "", match[0])

    return text if len(text) > MAX_LENGTH else _GROUPED.sub(joined, text)


def _in_values(before: str) -> bool:
    """Say whether what follows stands in the brackets of a function or of a list."""
    opened = []
    for at, sign in enumerate(before):
        if sign in _CLOSING:
            opened.append(sign == "[" or _CALLED.search(before[:at]) is not None)
        elif sign in _CLOSING.values() and opened:
            opened.pop()
    return any(opened)


def one_number(text: str) -> str:
    """Return what is typed where one number is asked for: thousands may be apart, 90% is 90/100.

    Example:
        >>> one_number("62.5%")
        '62.5/100'
    """
    text = ungrouped(text)
    share = _PERCENT.match(text)
    return f"{share[1]}/100" if share else text


def tokens_of(text: str) -> list[tuple[str, object]]:
    """Return the tokens of one line, `(kind, value)`, the last of them `("end", "")`.

    Raises:
        LanguageError: If a sign cannot be read, or a number is too large.
    """
    text, found, at = typed(text), [], 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None:
            if text[at] in _INSTEAD:
                raise LanguageError(f"“{text[at]}” cannot be read: write {_INSTEAD[text[at]]}.")
            raise LanguageError(f"{quoted(text[at:])} cannot be read.")
        at = match.end()
        kind, word = match.lastgroup, match[0]
        if kind == "space":
            continue
        if kind == "number":
            value = int(word) if word.isdecimal() else float(word)
            if (isinstance(value, int) and value > _LARGEST) or value == float("inf"):
                raise LanguageError(f"{quoted(word)} is too large.")
            found.append((kind, value))
        elif kind == "name":
            word = word.removeprefix("math.")
            found.append(("sign" if word in KEYWORDS else kind, word))
        else:
            found.append((kind, word[1:-1] if kind == "string" else word))
    return [*found, ("end", "")]


class Reader:
    """Reads tokens by the grammar of Python's expressions, of which it knows a part."""

    def __init__(self, tokens: list[tuple[str, object]]):
        self.tokens, self.at, self.depth = tokens, 0, 0
        self.used: list[str] = []  # names of values
        self.bound: list[str] = []  # names that loops in lists give a meaning

    @property
    def sign(self) -> object:
        """The sign or keyword that comes next, or None."""
        kind, value = self.tokens[self.at]
        return value if kind == "sign" else None

    def take(self, *signs: str) -> object:
        """Return the next sign if it is one of these, and go on behind it; None otherwise."""
        if self.sign not in signs or self.sign is None:
            return None
        self.at += 1
        return self.tokens[self.at - 1][1]

    def need(self, sign: str, where: str) -> None:
        """Go on behind a sign that must come next."""
        if not self.take(sign):
            raise LanguageError(f"“{sign}” is missing {where}{self._before()}.")

    def _before(self) -> str:
        kind, value = self.tokens[self.at]
        return "" if kind == "end" else f" before {self._word(kind, value)}"

    def _word(self, kind: str, value: object) -> str:
        return "a number" if kind == "number" else quoted(str(value))

    def end(self) -> None:
        """Refuse anything that is left."""
        kind, value = self.tokens[self.at]
        if kind == "end":
            return
        last = self.tokens[self.at - 1] if self.at else ("sign", "")
        if value == "," and last[0] == "number":
            raise LanguageError("“,” is not expected here: decimals take a point, as in 0.5.")
        if kind in ("number", "name", "string") and last[0] in ("number", "name"):
            left, right = self._said(*last), self._said(kind, value)
            raise LanguageError(f"A sign such as * is missing between {left} and {right}.")
        raise LanguageError(f"{self._word(kind, value)} is not expected here.")

    def _said(self, kind: str, value: object) -> str:
        return "a number" if kind == "number" else quoted(str(value))

    def deeper(self, read):
        """Return what `read` reads, one level deeper."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise LanguageError("This is nested too deep.")
        found = read()
        self.depth -= 1
        return found

    def expression(self) -> tuple:
        """Read a whole expression, of which `a if b else c` binds least."""
        return self.deeper(self._conditional)

    def _conditional(self) -> tuple:
        value = self._any()
        if not self.take("if"):
            return value
        condition = self._any()
        self.need("else", "behind “if”")
        return ("if", condition, value, self.expression())

    def _any(self) -> tuple:
        parts = [self._all()]
        while self.take("or"):
            parts.append(self._all())
        return parts[0] if len(parts) == 1 else ("or", parts)

    def _all(self) -> tuple:
        parts = [self._not()]
        while self.take("and"):
            parts.append(self._not())
        return parts[0] if len(parts) == 1 else ("and", parts)

    def _not(self) -> tuple:
        if self.take("not"):
            return ("not", self.deeper(self._not))
        return self._comparison()

    def _comparison(self) -> tuple:
        first, rest = self._sum(), []
        while True:
            sign = self.take("<", ">", "<=", ">=", "==", "!=", "in")
            if sign is None and self.sign == "not":
                self.at += 1
                self.need("in", "behind “not”")
                sign = "not in"
            if sign is None:
                return ("compare", first, rest) if rest else first
            rest.append((sign, self._sum()))

    def _sum(self) -> tuple:
        return self._chain(("+", "-"), self._term)

    def _term(self) -> tuple:
        return self._chain(("*", "/", "//", "%"), self._factor)

    def _chain(self, signs, read) -> tuple:
        first, rest = read(), []
        while sign := self.take(*signs):
            rest.append((sign, read()))
        return ("chain", first, rest) if rest else first

    def _factor(self) -> tuple:
        if sign := self.take("-", "+"):
            return ("sign", sign, self.deeper(self._factor))
        base = self._item()
        if self.take("**"):
            return ("power", base, self.deeper(self._factor))
        return base

    def _item(self) -> tuple:
        value = self._atom()
        while True:
            if self.sign == "(":
                if value[0] != "name":
                    raise LanguageError("A sign such as * is missing before “(”.")
                self.at += 1
                self.used.pop()
                value = ("call", value[1], self._list(")"))
            elif self.take("["):
                value = self._index(value)
            else:
                return value

    def _index(self, value: tuple) -> tuple:
        parts = [None]
        if self.sign not in (":", "]"):
            parts[0] = self.expression()
        while len(parts) < 3 and self.take(":"):
            parts.append(None if self.sign in (":", "]") else self.expression())
        self.need("]", "at the end")
        if len(parts) > 1:
            return ("slice", value, [*parts, None][:3])
        if parts[0] is None:
            raise LanguageError("An index is missing between “[” and “]”.")
        return ("index", value, parts[0])

    def _list(self, closing: str) -> list[tuple]:
        found = []
        while not self.take(closing):
            found.append(self.expression())
            if not self.take(","):
                self.need(closing, "at the end")
                break
        return found

    def _atom(self) -> tuple:
        kind, value = self.tokens[self.at]
        if kind == "end":
            raise LanguageError(f"Something is missing at the end{self._behind_percent()}.")
        self.at += 1
        if kind in ("number", "string"):
            return ("value", value)
        if kind == "name":
            self.used.append(value)
            return ("name", value)
        if value in ("True", "False"):
            return ("value", value == "True")
        if value == "(":
            return self._group()
        if value == "[":
            return self._brackets()
        raise LanguageError(f"{quoted(str(value))} is not expected here.")

    def _behind_percent(self) -> str:
        if self.at == 0 or self.tokens[self.at - 1] != ("sign", "%"):
            return ""
        return ": here “%” gives the remainder of a division, and a share is written 0.9 or 90/100"

    def _group(self) -> tuple:
        if self.take(")"):
            return ("list", [])
        first = self.expression()
        if self.take(","):
            return ("list", [first, *self._list(")")])
        self.need(")", "at the end")
        return first

    def _brackets(self) -> tuple:
        if self.take("]"):
            return ("list", [])
        first = self.expression()
        if self.sign == "for":
            return self._each(first)
        if self.take(","):
            return ("list", [first, *self._list("]")])
        self.need("]", "at the end")
        return ("list", [first])

    def _each(self, value: tuple) -> tuple:
        loops = []
        while self.take("for"):
            names = self.names("in")
            items, conditions = self._any(), []
            while self.take("if"):
                conditions.append(self._any())
            loops.append((names, items, conditions))
        self.need("]", "at the end")
        return ("each", value, loops)

    def names(self, closing: str) -> list[str]:
        """Read names with commas between them, up to a sign."""
        bracket, found = self.take("("), []
        while True:
            kind, value = self.tokens[self.at]
            if kind != "name":
                raise LanguageError(f"A name is missing{self._before()}.")
            self.at += 1
            found.append(value)
            if not self.take(","):
                break
        self.bound += found
        if bracket:
            self.need(")", "at the end")
        self.need(closing, "behind the names")
        return found


def expression(text: str) -> tuple:
    """Return the tree of an expression.

    Raises:
        LanguageError: If it is no expression of the language, or too long.

    Example:
        >>> expression("2*π/3")
        ('chain', ('value', 2), [('*', ('name', 'pi')), ('/', ('value', 3))])
    """
    return _read(text)[0]


def free_names(text: str) -> list[str]:
    """Return the names of values that an expression uses and gives no meaning itself.

    Example:
        >>> free_names("[cos(x * y) for x in numbers]")
        ['y', 'numbers']
    """
    reader = _read(text)[1]
    return [name for name in reader.used if name not in reader.bound]


def _read(text: str) -> tuple[tuple, Reader]:
    if len(text) > MAX_LENGTH:
        raise LanguageError(f"This is too long: at most {MAX_LENGTH} characters are read.")
    balanced(text)
    try:
        return _read_tokens(text)
    except LanguageError:
        plain = ungrouped(text)
        if plain == typed(text) or not _readable(plain):
            raise
        reason = "Thousands stand together here, where a comma is between numbers"
        raise LanguageError(f"{reason}: write {quoted(plain)}.") from None


def _read_tokens(text: str) -> tuple[tuple, Reader]:
    reader = Reader(tokens_of(text))
    found = reader.expression()
    reader.end()
    return found, reader


def _readable(text: str) -> bool:
    try:
        _read_tokens(text)
    except LanguageError:
        return False
    return True


def balanced(text: str) -> None:
    """Refuse brackets that do not close, or close what was never opened."""
    opened = []
    for sign in text:
        if sign in _CLOSING:
            opened.append(sign)
        elif sign in _CLOSING.values():
            if not opened or _CLOSING[opened.pop()] != sign:
                raise LanguageError(f"“{sign}” closes no bracket.")
    if opened:
        raise LanguageError(f"“{opened[-1]}” is never closed.")


def split(text: str) -> list[str]:
    """Return the parts of a text between commas or semicolons that stand in no brackets."""
    parts, depth = [""], 0
    for sign in text:
        depth += (sign in "([") - (sign in ")]")
        if sign in ",;" and depth <= 0:
            parts.append("")
        else:
            parts[-1] += sign
    return parts
