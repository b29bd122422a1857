"""What the small language means: the value of a tree that `ropebook.exercises.language` has read.

Numbers, lists and texts mean what they mean in Python. Whole numbers end at 2 ** 53 and all others
where a double does; what is larger, has no value or takes too long is a `LanguageError`.
"""

import math
from collections.abc import Callable, Mapping

from ropebook.exercises.language import LanguageError, quoted

LARGEST = 2**53
MAX_STEPS = 100_000
MAX_ITEMS = 10_000
MAX_SHOWN = 200

Value = int | float | bool | str | list


def near(left: float, right: float, tolerance: float = 1e-6) -> bool:
    """Say whether two numbers agree up to this part of the second."""
    return abs(left - right) <= tolerance * abs(right) + 1e-9


def given(value: object) -> Value:
    """Return a value as the page has it after JSON: a whole number is whole however it came.

    Raises:
        LanguageError: If a number in it is not finite, or it is nothing that the language knows.
    """
    if isinstance(value, bool | str):
        return value
    if isinstance(value, list | tuple):
        return [given(item) for item in value]
    if isinstance(value, int | float) and math.isfinite(value):
        return int(value) if value == int(value) and abs(value) <= LARGEST else float(value)
    raise LanguageError("A number, a list or a text is needed.")


def show(value: Value) -> str:
    """Return a value as messages say it: whole numbers whole, others with six digits.

    Example:
        >>> show([0.1 + 0.2, 2.0, 1e-7, True])
        '[0.3, 2, 1e-7, True]'
    """
    if isinstance(value, list):
        text = f"[{', '.join(map(show, value))}]"
        return f"{text[:MAX_SHOWN]}…" if len(text) > MAX_SHOWN else text
    if isinstance(value, bool | str):
        return str(value)
    if abs(value) < 1e-12:  # what rounding leaves of 0
        return "0"
    if value == int(value) and abs(value) < 1e15:
        return str(int(value))
    exponent = math.floor(math.log10(abs(value)))
    mantissa, power = _digits(abs(value), exponent)
    sign = "-" if value < 0 else ""
    if -5 < power < 15:
        places = max(0, 5 - power)
        return f"{sign}{_plain(rounded(abs(value), places))}"
    return f"{sign}{_plain(mantissa)}e{power}"


def _digits(value: float, exponent: int) -> tuple[str, int]:
    power = float(f"1e{abs(exponent)}")
    mantissa = rounded(value / power if exponent >= 0 else value * power, 5)
    if float(mantissa) >= 10:
        return "1.00000", exponent + 1
    if float(mantissa) < 1:
        return _digits(value, exponent - 1)
    return mantissa, exponent


def _plain(number: str) -> str:
    return number.rstrip("0").rstrip(".") if "." in number else number


def rounded(value: float, places: int) -> str:
    """Return a number with so many decimals; what lies in the middle goes away from zero."""
    if abs(value) >= 1e15:
        return show(value)
    scaled = math.floor(abs(float(value)) * 10**places + 0.5)
    digits = str(scaled).rjust(places + 1, "0")
    sign = "-" if value < 0 and scaled else ""
    return sign + (f"{digits[:-places]}.{digits[-places:]}" if places else digits)


def number(value: Value) -> int | float:
    """Return a value that must be a number."""
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, int | float):
        return value
    what = "a list" if isinstance(value, list) else "a text"
    raise LanguageError(f"A number is needed where {what} stands.")


def whole(value: Value, what: str) -> int:
    """Return a value that must be a whole number."""
    value = number(value)
    if not isinstance(value, int):
        raise LanguageError(f"{what} must be a whole number, got {show(value)}.")
    return value


def bounded(value: Value) -> Value:
    """Return a value that is not too large."""
    if isinstance(value, float) and not math.isfinite(value):
        raise LanguageError("A number on the way is too large.")
    if isinstance(value, int) and abs(value) > LARGEST:
        raise LanguageError("A number on the way is too large.")
    if isinstance(value, list):
        weight(value)
    return value


def weight(value: Value) -> int:
    """Return how many items a list holds, those of the lists in it included.

    Raises:
        LanguageError: If there are too many.
    """
    if not isinstance(value, list):
        return 1
    total = len(value)
    for item in value:
        if isinstance(item, list):
            total += weight(item)
        if total > MAX_ITEMS:
            break
    if total > MAX_ITEMS:
        raise LanguageError("A list on the way is too long.")
    return total


def _add(left: Value, right: Value) -> Value:
    if isinstance(left, list) and isinstance(right, list):
        return left + right
    return number(left) + number(right)


def _times(left: Value, right: Value) -> Value:
    if isinstance(right, list):
        left, right = right, left
    if isinstance(left, list) and not isinstance(right, list):
        times = whole(right, "How often a list is repeated")
        if len(left) * times > MAX_ITEMS:
            raise LanguageError("A list on the way is too long.")
        return left * times
    return number(left) * number(right)


def _by_zero(right: float) -> float:
    if right == 0:
        raise LanguageError("This divides by zero.")
    return right


_CHAIN: dict[str, Callable[[Value, Value], Value]] = {
    "+": _add,
    "-": lambda left, right: number(left) - number(right),
    "*": _times,
    "/": lambda left, right: number(left) / _by_zero(number(right)),
    "//": lambda left, right: number(left) // _by_zero(number(right)),
    "%": lambda left, right: number(left) % _by_zero(number(right)),
}


def combined(sign: str, left: Value, right: Value) -> Value:
    """Return two values under one of + - * / // %, or of **."""
    return bounded(
        _power(number(left), number(right)) if sign == "**" else _CHAIN[sign](left, right)
    )


def _power(base: float, exponent: float) -> float:
    if isinstance(base, int) and isinstance(exponent, int) and exponent >= 0:
        if abs(base) > 1 and exponent > 53:
            raise LanguageError("A number on the way is too large.")
        return base**exponent
    if base == 0 and exponent < 0:
        raise LanguageError("This divides by zero.")
    if base < 0 and exponent != math.floor(exponent):
        raise LanguageError("A negative number has no real power with this exponent.")
    try:
        return float(base) ** float(exponent)
    except OverflowError:
        raise LanguageError("A number on the way is too large.") from None


def _same(left: Value, right: Value) -> bool:
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(_same, left, right))
    if isinstance(left, list | str) or isinstance(right, list | str):
        return isinstance(left, str) and isinstance(right, str) and left == right
    return left == right


def _within(left: Value, right: Value) -> bool:
    return any(_same(left, item) for item in items(right))


def items(value: Value) -> list:
    """Return a value that must be a list."""
    if not isinstance(value, list):
        raise LanguageError(f"A list is needed where {show(value)} stands.")
    return value


_COMPARE: dict[str, Callable[[Value, Value], bool]] = {
    "==": _same,
    "!=": lambda left, right: not _same(left, right),
    "<": lambda left, right: number(left) < number(right),
    ">": lambda left, right: number(left) > number(right),
    "<=": lambda left, right: number(left) <= number(right),
    ">=": lambda left, right: number(left) >= number(right),
    "in": _within,
    "not in": lambda left, right: not _within(left, right),
}


def _real(name: str, function: Callable[..., float]) -> Callable[..., float]:
    def call(*values: Value) -> float:
        numbers = [number(value) for value in values]
        try:
            return function(*numbers)
        except OverflowError:
            raise LanguageError("A number on the way is too large.") from None
        except ValueError:
            said = ", ".join(map(show, numbers))
            raise LanguageError(f"{name}({said}) is no real number.") from None

    return call


def _extreme(function: Callable[..., Value]) -> Callable[..., Value]:
    def call(*values: Value) -> Value:
        found = items(values[0]) if len(values) == 1 else values
        if not found:
            raise LanguageError("An empty list has no largest and no smallest item.")
        return function(found, key=number)

    return call


def _sum(value: Value) -> float:
    total = 0
    for item in items(value):
        total = bounded(total + number(item))
    return total


def _range(*values: Value) -> list:
    numbers = [whole(value, "A value of range") for value in values]
    if len(numbers) == 3 and numbers[2] == 0:
        raise LanguageError("The step of range must not be 0.")
    found = range(*numbers)
    if len(found) > MAX_ITEMS:
        raise LanguageError("A list on the way is too long.")
    return list(found)


def _log(value: float, base: float = math.e) -> float:
    if value <= 0 or base <= 0 or base == 1:
        raise ValueError
    return math.log(value) if base == math.e else math.log(value) / math.log(base)


FUNCTIONS: dict[str, tuple[int, int, Callable]] = {  # least and most values, and what it does
    **{name: (1, 1, _real(name, getattr(math, name))) for name in (
        *("cos", "sin", "tan", "acos", "asin", "atan", "exp", "sqrt"),
        *("floor", "ceil", "radians", "degrees"),
    )},
    "atan2": (2, 2, _real("atan2", math.atan2)),
    "hypot": (2, 9, _real("hypot", math.hypot)),
    "log": (1, 2, _real("log", _log)),
    "abs": (1, 1, lambda value: abs(number(value))),
    "round": (1, 1, lambda value: round(number(value))),
    "min": (1, 99, _extreme(min)),
    "max": (1, 99, _extreme(max)),
    "sum": (1, 1, _sum),
    "len": (1, 1, lambda value: len(items(value))),
    "near": (2, 3, lambda *values: near(*map(number, values))),
    "range": (1, 3, _range),
    "zip": (2, 9, lambda *values: [list(row) for row in zip(*map(items, values), strict=False)]),
    "any": (1, 1, lambda value: any(map(true, items(value)))),
    "all": (1, 1, lambda value: all(map(true, items(value)))),
}  # fmt: skip
CONSTANTS = {"pi": math.pi, "e": math.e}


def true(value: Value) -> bool:
    """Say whether a value counts as true in a condition."""
    return bool(value)


class Meaning:
    """Computes values of trees with these names, in a bounded number of steps."""

    def __init__(self, names: Mapping[str, Value]):
        self.names, self.steps = dict(names), 0

    def step(self) -> None:
        """Count one step, and stop after too many."""
        self.steps += 1
        if self.steps > MAX_STEPS:
            raise LanguageError("This takes too long to compute.")

    def spend(self, *values: Value) -> None:
        """Count a step for each item of these values, in which a list may hold lists."""
        for value in values:
            if isinstance(value, list):
                self.steps += weight(value)
        self.step()

    def value(self, tree: tuple) -> Value:
        """Return the value of a tree."""
        self.step()
        return getattr(self, f"_{tree[0]}")(*tree[1:])

    def _value(self, value):
        return value

    def _name(self, name):
        if name in self.names:
            return self.names[name]
        if name in CONSTANTS:
            return CONSTANTS[name]
        if name in FUNCTIONS:
            raise LanguageError(f"{name} is a function: write {name}( ) with a value.")
        raise LanguageError(f"{quoted(name)} is not known here.")

    def _list(self, parts):
        found = [self.value(part) for part in parts]
        self.spend(found)
        return found

    def _call(self, name, parts):
        if name not in FUNCTIONS or name in self.names:
            raise LanguageError(f"{quoted(name)} is no function that is known here.")
        least, most, function = FUNCTIONS[name]
        if not least <= len(parts) <= most:
            wanted = str(least) if least == most else f"{least} to {most}"
            raise LanguageError(f"{name} takes {wanted} values, got {len(parts)}.")
        values = [self.value(part) for part in parts]
        self.spend(*values)
        found = bounded(function(*values))
        self.spend(found)
        return found

    def _sign(self, sign, part):
        value = number(self.value(part))
        return -value if sign == "-" else value

    def _chain(self, first, rest):
        value = self.value(first)
        for sign, part in rest:
            value = combined(sign, value, self.value(part))
            self.spend(value)
        return value

    def _power(self, base, exponent):
        return combined("**", self.value(base), self.value(exponent))

    def _compare(self, first, rest):
        left = self.value(first)
        for sign, part in rest:
            right = self.value(part)
            self.spend(left, right)
            if not _COMPARE[sign](left, right):
                return False
            left = right
        return True

    def _not(self, part):
        return not true(self.value(part))

    def _and(self, parts):
        for part in parts:
            value = self.value(part)
            if not true(value):
                break
        return value

    def _or(self, parts):
        for part in parts:
            value = self.value(part)
            if true(value):
                break
        return value

    def _if(self, condition, value, other):
        return self.value(value if true(self.value(condition)) else other)

    def _index(self, value, index):
        found, place = items(self.value(value)), whole(self.value(index), "An index")
        if not -len(found) <= place < len(found):
            raise LanguageError(f"There is no index {place} in a list of {len(found)}.")
        return found[place]

    def _slice(self, value, parts):
        found = items(self.value(value))
        places = [None if part is None else whole(self.value(part), "An index") for part in parts]
        if places[2] == 0:
            raise LanguageError("The step of a slice must not be 0.")
        self.spend(found)
        return found[slice(*places)]

    def _each(self, value, loops):
        kept, found = dict(self.names), []

        def run(depth):
            if depth == len(loops):
                found.append(self.value(value))
                if len(found) > MAX_ITEMS:
                    raise LanguageError("A list on the way is too long.")
                return
            names, parts, conditions = loops[depth]
            for item in items(self.value(parts)):
                self.step()
                self.bind(names, item)
                if all(true(self.value(condition)) for condition in conditions):
                    run(depth + 1)

        run(0)
        self.names = kept
        self.spend(found)
        return found

    def bind(self, names: list[str], value: Value) -> None:
        """Let names stand for a value, or for the items of a list if there are several."""
        if len(names) == 1:
            self.names[names[0]] = value
            return
        if len(items(value)) != len(names):
            raise LanguageError(f"{len(names)} names cannot hold {len(value)} values.")
        self.names.update(zip(names, value, strict=True))


def value_of(tree: tuple, names: Mapping[str, Value]) -> Value:
    """Return the value of an expression's tree.

    Raises:
        LanguageError: If it has no value, or one that is too large, or takes too long.
    """
    return Meaning(names).value(tree)
