"""Says whether an answer is right, and if not, what it may rest on.

An exercise is here what `told()` of its definition returns, the very dictionary that a page has;
`ropebook/widgets/kit/answers.js` does the same, with the same words, for what is typed there.
"""

import re
from collections.abc import Mapping, Sequence

from ropebook.exercises.language import (
    LanguageError,
    expression,
    free_names,
    one_number,
    quoted,
    split,
)
from ropebook.exercises.meaning import (
    CONSTANTS,
    Value,
    given,
    near,
    number,
    rounded,
    show,
    true,
    value_of,
)
from ropebook.exercises.program import Function, function, result

_GROUPS = re.compile(r"(?<=\d)(?=(?:\d{3})+(?:\.|$))")
OPEN = "Not answered yet."
RIGHT = "Right."
PLACE = re.compile(r"\{\{|\}\}|\{([^{}]*?)(?::(,?)\.(\d)f)?\}")
_COUNTS = ("no numbers", "one number", "two numbers", "three numbers", "four numbers")
_MAY = {
    "number": "Write a number: 0.4, 2/5 or 2*pi/3.",
    "numbers": "Write a number: 0.4, 2/5 or 2*pi/3.",
    "set": "Write numbers with commas between them, such as 1, 2.",
    "expression": "You may use {names}, numbers, + - * / ** and functions such as cos and sqrt.",
    "fill-in": "You may use {names}, numbers, + - * / ** and functions such as cos and sqrt.",
}


def may(exercise: Mapping) -> str:
    """Return what may be written as an answer."""
    names = exercise.get("variables") or exercise.get("names") or []
    return _MAY[exercise["kind"]].replace("{names}", ", ".join(names))


def judged(exercise: Mapping, answer: object) -> tuple[bool, str]:
    """Return whether an answer is right, and what is said to it.

    Args:
        exercise: what `told()` of its definition returns.
        answer: as the page has it: a text (number, set, expression), a list of texts (numbers,
            the gaps of a fill-in), the index of an option, a list of indices (order), the state of
            a widget (task). Numbers may stand where texts do.
    """
    try:
        return _JUDGES[exercise["kind"]](exercise, answer)
    except LanguageError as error:
        return False, str(error)


def solution(exercise: Mapping) -> str:
    """Return the right answer of an exercise with its value, and why it is right."""
    if "options" in exercise:
        shown = next(option["text"] for option in exercise["options"] if option["right"])
    elif exercise["kind"] == "fill-in":
        shown = exercise["shown"]
    else:  # a task is done or not, and says nothing more
        shown = f"{exercise['shown']}." if "shown" in exercise else ""
    return " ".join(part for part in (shown, exercise.get("solution", "")) if part)


def agree(left: Value, right: Value, tolerance: float) -> bool:
    """Say whether two numbers, or all items of two lists, agree."""
    if isinstance(left, list) and isinstance(right, list):
        pairs = zip(left, right, strict=False)
        return len(left) == len(right) and all(agree(a, b, tolerance) for a, b in pairs)
    if isinstance(left, list | str) or isinstance(right, list | str):
        return left == right
    return near(left, right, tolerance)


def filled(text: str, names: Mapping[str, Value]) -> str:
    """Return a text with the values of what stands in braces, `{a}` or `{cos(a):.4f}`."""

    def value(match: re.Match) -> str:
        if match[0] in ("{{", "}}"):
            return match[0][0]
        try:
            found = value_of(expression(match[1]), names)
            if match[3] is None:
                return show(found)
            said = rounded(number(found), int(match[3]))
            return _GROUPS.sub(",", said) if match[2] else said
        except LanguageError:
            return "?"

    return PLACE.sub(value, text)


def holds(rule: str, names: Mapping[str, Value]) -> bool:
    """Say whether a rule is true; one that has no value is not."""
    try:
        return true(value_of(expression(rule), names))
    except LanguageError:
        return False


def names_of(exercise: Mapping, found: Value, right: Value, more: Mapping[str, Value]) -> dict:
    """Return the names that rules and texts of an exercise may use."""
    names = {**more, "a": found, "right": right}
    for name, rule in exercise.get("let", ()):
        try:
            names[name] = value_of(expression(rule), names)
        except LanguageError:
            continue
    return names


def _empty(answer: object) -> bool:
    return answer is None or (isinstance(answer, str) and not answer.strip(" \t\n\r"))


def _read(text: object, names: Mapping[str, Value], exercise: Mapping, where: str = "") -> Value:
    try:
        return value_of(expression(text), names) if isinstance(text, str) else given(text)
    except LanguageError as error:
        raise LanguageError(f"{where}{error} {may(exercise)}") from None


def _number(exercise: Mapping, text: object, where: str = "") -> Value:
    found = _read(text, {}, exercise, where)
    if isinstance(found, bool | list | str):
        raise LanguageError(f"{where}One number is asked for, got {show(found)}. {may(exercise)}")
    return found


def _judge_number(exercise: Mapping, answer: object) -> tuple[bool, str]:
    if _empty(answer):
        return False, OPEN
    text = one_number(answer) if isinstance(answer, str) else answer
    return decided(exercise, _number(exercise, text))


def _judge_numbers(exercise: Mapping, answer: Sequence) -> tuple[bool, str]:
    if _empty(answer) or (answer and all(map(_empty, answer))):
        return False, OPEN
    count = len(exercise["right"])
    if len(answer) != count:
        raise LanguageError(f"Not these: expected {_counted(count)}, got {len(answer)}.")
    found = []
    for text, label in zip(answer, exercise["labels"], strict=True):
        if _empty(text):
            raise LanguageError(f"{label} is empty. {may(exercise)}")
        found.append(_number(exercise, text, f"{label}: "))
    return decided(exercise, found)


def _counted(count: int) -> str:
    return _COUNTS[count] if count < len(_COUNTS) else f"{count} numbers"


def _judge_set(exercise: Mapping, answer: object) -> tuple[bool, str]:
    if _empty(answer):
        return False, OPEN
    if isinstance(answer, str):
        text = answer.strip(" \t\n\r")
        if (text[0] + text[-1]) in ("{}", "[]", "()"):
            text = text[1:-1]
        answer = [] if _empty(text) else split(text)
        if len(answer) > 100:
            raise LanguageError(f"These are too many numbers. {may(exercise)}")
    found: list[Value] = []
    for part in answer:
        if _empty(part):
            raise LanguageError(f"A number is missing beside a comma. {may(exercise)}")
        value = _number(exercise, part)
        if not any(near(value, other) for other in found):
            found.append(value)
    return decided(exercise, sorted(found))


def _judge_expression(exercise: Mapping, answer: object) -> tuple[bool, str]:
    if _empty(answer):
        return False, OPEN
    found = []
    for sample in exercise["samples"]:
        value = _read(answer, sample, exercise)
        if isinstance(value, bool | list | str):
            raise LanguageError(f"A number is asked for, got {show(value)}. {may(exercise)}")
        found.append(value)
    return decided(exercise, found)


def decided(exercise: Mapping, found: Value) -> tuple[bool, str]:
    """Return the verdict on a value that has been read: a number or a list of them."""
    right, tolerance = exercise["right"], exercise["tolerance"]
    names = names_of(exercise, found, right, {})
    accept = exercise["accept"]
    if holds(accept, names) if accept else agree(found, right, tolerance):
        return True, RIGHT
    for hint in exercise["hints"]:
        if holds(hint["when"], names) if hint["when"] else agree(found, hint["example"], tolerance):
            return False, filled(hint["said"], names)
    if exercise["kind"] == "number" and not accept and right != int(right):
        if near(found, right, 0.01):
            return False, "Close: give more digits, or an expression such as 2*pi/3."
    return False, filled(exercise["otherwise"], names)


def _judge_choice(exercise: Mapping, answer: object) -> tuple[bool, str]:
    if _empty(answer):
        return False, OPEN
    options = exercise["options"]
    if not _index(answer, len(options)):
        raise LanguageError(f"Choose one of the {len(options)} options.")
    return options[answer]["right"], options[answer]["said"]


def _index(value: object, count: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < count


def _judge_order(exercise: Mapping, answer: Sequence) -> tuple[bool, str]:
    if _empty(answer) or len(answer) == 0:
        return False, OPEN
    count, found = len(exercise["items"]), list(answer)
    if not all(_index(place, count) for place in found) or sorted(found) != list(range(count)):
        raise LanguageError(f"Put all {count} items into an order, each of them once.")
    return decided(exercise, found)


def _judge_task(exercise: Mapping, answer: Mapping) -> tuple[bool, str]:
    names = {name: given(value) for name, value in answer.items()}
    if holds(exercise["done"], names):
        return True, exercise["said"]
    return False, OPEN


# ---- fill-ins ---------------------------------------------------------------------------------


def completed(exercise: Mapping, gaps: Sequence[str]) -> Function:
    """Return the function of a fill-in with these texts in its gaps."""
    code = exercise["pieces"][0]
    for place, (gap, piece) in enumerate(zip(gaps, exercise["pieces"][1:], strict=True), 1):
        where = f"Gap {place}: " if len(gaps) > 1 else ""
        if _empty(gap):
            raise LanguageError(f"{where}There is nothing here yet. {may(exercise)}")
        try:
            for name in free_names(gap):
                if name not in exercise["names"] and name not in CONSTANTS:
                    raise LanguageError(f"{quoted(name)} is not known here.")
        except LanguageError as error:
            raise LanguageError(f"{where}{error} {may(exercise)}") from None
        code += f"({gap}){piece}"
    return function(code)


def outputs(exercise: Mapping, gaps: Sequence[str]) -> list[Value | LanguageError]:
    """Return what a filled function returns for each case, or why it returns nothing."""
    read, found = completed(exercise, gaps), []
    for case in exercise["cases"]:
        try:
            found.append(result(read, case["given"]))
        except LanguageError as error:
            found.append(error)
    return found


def _judge_fill_in(exercise: Mapping, answer: Sequence[str]) -> tuple[bool, str]:
    if _empty(answer) or all(map(_empty, answer)):
        return False, OPEN
    count = len(exercise["pieces"]) - 1
    if len(answer) != count:
        raise LanguageError(f"There are {count} gaps, got {len(answer)} texts.")
    return judged_outputs(exercise, outputs(exercise, answer))


def judged_outputs(exercise: Mapping, found: Sequence[Value | Exception]) -> tuple[bool, str]:
    """Return the verdict on what a function returned for the cases of a fill-in."""
    cases, tolerance = exercise["cases"], exercise["tolerance"]

    def fits(value: Value | Exception | None, wanted: Value | None) -> bool:
        if isinstance(value, Exception) or wanted is None:
            return isinstance(value, Exception) and wanted is None
        return agree(value, wanted, tolerance)

    failed = [
        i
        for i, (case, value) in enumerate(zip(cases, found, strict=True))
        if not fits(value, case["right"])
    ]
    if not failed:
        return True, RIGHT
    case, value = cases[failed[0]], found[failed[0]]
    more = dict(zip(exercise["parameters"], case["given"], strict=True))
    broken = isinstance(value, Exception)
    names = names_of(exercise, [] if broken else value, case["right"], more)
    for hint in exercise["hints"]:
        if hint["when"]:
            matched = not broken and holds(hint["when"], names)
        else:
            matched = all(map(fits, found, hint["outputs"]))
        if matched:
            return False, filled(hint["said"], names)
    where = ", ".join(f"{name} = {show(value)}" for name, value in more.items())
    if broken:
        return False, f"For {where}: {value}"
    if exercise["otherwise"] and _kind(value) == _kind(case["right"]):
        return False, filled(exercise["otherwise"], names)
    return False, f"For {where} it gives {show(value)}, and it should give {show(case['right'])}."


def _kind(value: Value) -> str:
    return "list" if isinstance(value, list) else "text" if isinstance(value, str) else "number"


_JUDGES = {
    "number": _judge_number,
    "numbers": _judge_numbers,
    "set": _judge_set,
    "expression": _judge_expression,
    "choice": _judge_choice,
    "bet": _judge_choice,
    "order": _judge_order,
    "task": _judge_task,
    "fill-in": _judge_fill_in,
}
