"""Functions in the small language: assignments, conditions, loops and returns, for fill-ins."""

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ropebook.exercises.language import (
    MAX_CODE,
    LanguageError,
    Reader,
    balanced,
    quoted,
    tokens_of,
)
from ropebook.exercises.meaning import Meaning, Value, combined, items, true

NO_RETURN = "Your function returned None: does every path end in a return?"
_LINE = re.compile(r"( *)(.*)")


class Function(NamedTuple):
    """A function that has been read: its name, its parameters, its statements."""

    name: str
    parameters: list[str]
    body: list[tuple]

    @property
    def names(self) -> list[str]:
        """All names that the function gives a meaning, in the order in which it does."""
        return list(dict.fromkeys([*self.parameters, *_assigned(self.body)]))


def function(code: str) -> Function:
    """Return the function that a text defines.

    Raises:
        LanguageError: If the text is not one function of the language.
    """
    if len(code) > MAX_CODE:
        raise LanguageError(f"This is too long: at most {MAX_CODE} characters are read.")
    lines = _lines(code)
    if not lines or lines[0][0]:
        raise LanguageError("A function begins with “def”.")
    reader = Reader(tokens_of(lines[0][1]))
    reader.need("def", "at the start")
    kind, name = reader.tokens[reader.at]
    if kind != "name":
        raise LanguageError("The name of the function is missing.")
    reader.at += 1
    if reader.sign != "(":
        raise LanguageError(f"“(” is missing behind {name}.")
    parameters = reader.names(":")
    reader.end()
    body, rest = _block(lines[1:], 0)
    if rest or not body:
        raise LanguageError(f"The lines of {name} must be indented.")
    return Function(name, parameters, body)


def _lines(code: str) -> list[tuple[int, str]]:
    """Return the lines that say something, with their indentation, brackets closed in each."""
    found, held = [], ""
    for line in code.split("\n"):
        line = line.split("#")[0].rstrip()
        if not line.strip() or (not held and re.fullmatch(r' *""".*"""', line)):
            continue
        held = f"{held} {line.strip()}" if held else line
        if sum(held.count(sign) for sign in "([") <= sum(held.count(sign) for sign in ")]"):
            indent, text = _LINE.fullmatch(held).groups()
            balanced(text)
            found.append((len(indent), text))
            held = ""
    if held:
        balanced(held)
    return found


def _block(lines: list, outer: int) -> tuple[list[tuple], list]:
    """Return the statements that stand deeper than `outer`, and the lines behind them."""
    found: list[tuple] = []
    inner = lines[0][0] if lines else 0
    while lines and lines[0][0] > outer:
        indent, text = lines[0]
        if indent != inner:
            raise LanguageError(f"{quoted(text)} is indented by {indent}, not by {inner}.")
        reader = Reader(tokens_of(text))
        if reader.take("for"):
            names = reader.names("in")
            values = reader.expression()
            body, lines = _under(lines, reader)
            found.append(("for", names, values, body))
        elif reader.take("if"):
            statement, lines = _cases(lines, reader)
            found.append(statement)
        else:
            found.append(_statement(reader))
            lines = lines[1:]
    return found, lines


def _under(lines: list, reader: Reader) -> tuple[list[tuple], list]:
    """Return the statements under a first line that ends with a colon, and the lines behind."""
    reader.need(":", "at the end")
    reader.end()
    body, rest = _block(lines[1:], lines[0][0])
    if not body:
        raise LanguageError(f"The lines under {quoted(lines[0][1])} must be indented.")
    return body, rest


def _cases(lines: list, reader: Reader) -> tuple[tuple, list]:
    """Return a statement of `if`, `elif` and `else`, and the lines behind."""
    indent, cases, other = lines[0][0], [], []
    condition = reader.expression()
    while True:
        body, lines = _under(lines, reader)
        cases.append((condition, body))
        if not lines or lines[0][0] != indent:
            break
        reader = Reader(tokens_of(lines[0][1]))
        if reader.take("elif"):
            condition = reader.expression()
            continue
        if reader.take("else"):
            other, lines = _under(lines, reader)
        break
    return ("when", cases, other), lines


def _statement(reader: Reader) -> tuple:
    if reader.take("return"):
        found = ("return", _values(reader))
        reader.end()
        return found
    kind, name = reader.tokens[reader.at]
    following = reader.tokens[reader.at + 1] if kind == "name" else ("end", "")
    if following[1] in ("+=", "-=", "*=", "/="):
        reader.at += 2
        found = ("augment", name, following[1][0], reader.expression())
    else:
        names = reader.names("=")
        found = ("assign", names, _values(reader))
    reader.end()
    return found


def _values(reader: Reader) -> tuple:
    first = reader.expression()
    if reader.sign != ",":
        return first
    parts = [first]
    while reader.take(","):
        parts.append(reader.expression())
    return ("list", parts)


def _assigned(body: Sequence[tuple]) -> Iterator[str]:
    for what, *parts in body:
        if what in ("assign", "for"):
            yield from parts[0]
        inner = parts[2:] if what == "for" else []
        if what == "when":
            inner = [*(under for _, under in parts[0]), parts[1]]
        for under in inner:
            yield from _assigned(under)


class _Run(Meaning):
    def run(self, body: Sequence[tuple]) -> tuple | None:
        """Run statements; return `(value,)` once one of them returns."""
        for statement in body:
            self.step()
            done = getattr(self, f"_do_{statement[0]}")(*statement[1:])
            if done:
                return done
        return None

    def _do_return(self, tree):
        return (self.value(tree),)

    def _do_assign(self, names, tree):
        self.bind(names, self.value(tree))

    def _do_augment(self, name, sign, tree):
        self.names[name] = combined(sign, self.value(("name", name)), self.value(tree))

    def _do_when(self, cases, other):
        for condition, body in cases:
            if true(self.value(condition)):
                return self.run(body)
        return self.run(other)

    def _do_for(self, names, tree, body):
        for item in items(self.value(tree)):
            self.step()
            self.bind(names, item)
            done = self.run(body)
            if done:
                return done
        return None


def result(read: Function, values: Sequence[Value]) -> Value:
    """Return what a function returns for these values.

    Raises:
        LanguageError: If it returns nothing, or what it computes has no value.
    """
    done = _Run(dict(zip(read.parameters, values, strict=True))).run(read.body)
    if done is None:
        raise LanguageError(NO_RETURN)
    return done[0]
