"""Every task of the book: open at first, done by the moves of a reader, and judged as in Python."""

import ast
import json
import math
import random
import re

import pytest

pytest.importorskip("anywidget")

import javascript
import traitlets
from browser import accessibility_faults
from scratch import ROOT, made, widget_classes

from ropebook.exercises import check, judging
from ropebook.exercises.definitions import DEFINITIONS
from ropebook.widgets import ScoreBuilder, TokenShuffle, base

TASKS = {name: one for name, one in DEFINITIONS.items() if one.kind == "task"}
# What a reader does by keyboard: a control, and keys with how often each is pressed.
MOVES = {
    "a longer text": [("context", "ArrowRight", 3)],
    "arrows together": [("n", "ArrowLeft", 1)],
    "four bugs, one lamp": [
        ("q_sign", "Space", 1),
        ("q_seat", "Space", 1),
        ("k_seat", "Space", 1),
        ("q_base", "Space", 1),
        ("k_base", "Space", 1),
    ],
    "full circle": [("shift", "ArrowRight", 24)],
    "further away and more alike": [
        ("code_transformer", "Enter", 1),
        ("offset", "ArrowRight", 16),
    ],
    "half of a quarter turn": [("w", "ArrowRight", 7), ("w", "ArrowDown", 3)],
    "hide a bug": [("q_seat", "Space", 1), ("k_seat", "Space", 1)],
    "mend the score": [
        ("q_layout", "ArrowRight", 1),
        ("k_layout", "ArrowRight", 1),
        ("convert", "Space", 1),
    ],
    "quiet everywhere else": [("pairs", "ArrowRight", 4)],
    "seven distances": [("encoding_shaw", "Enter", 1), ("clip_distance", "ArrowLeft", 1)],
    "tell the two the apart": [("positions", "Space", 1)],
    "two passes and nothing new": [("way", "ArrowRight", 3)],
}


def starts():
    """The traits with which a chapter shows each task: `ScoreBuilder(pairs=1, task="...")`.

    But for those that the chapter computes.
    """
    found = {name: {} for name in TASKS}
    for notebook in sorted((ROOT / "book").glob("*/*.ipynb")):
        for cell in json.loads(notebook.read_text("utf-8"))["cells"]:
            source = "".join(cell["source"])
            if cell["cell_type"] == "code" and "task=" in source:
                calls = (n for n in ast.walk(ast.parse(source)) if isinstance(n, ast.Call))
                for call in calls:
                    given = {one.arg: one.value for one in call.keywords}
                    if "task" in given:
                        traits = {
                            name: ast.literal_eval(node)
                            for name, node in given.items()
                            if not any(isinstance(part, ast.Name) for part in ast.walk(node))
                        }
                        found[traits.pop("task")] = traits
    return found


STARTS = starts()


def test_every_task_has_the_moves_that_do_it():
    assert set(TASKS) == set(MOVES)
    assert len({task.widget for task in TASKS.values()}) >= 5


def press(widget, control, key, times):
    node = widget.control(control)
    if node.get_attribute("role") == "radiogroup":
        node = node.locator("[tabindex='0']").first
    node.focus()
    for _ in range(times):
        widget.page.keyboard.press(key)
    widget.still()


# Runs in the page: the task that stands after the lesson, beside it or below the part that stays.
AFTER = """(lesson) => {
  const task = lesson.closest(".rope-frame").querySelector("[data-task]");
  const comes = lesson.compareDocumentPosition(task) & Node.DOCUMENT_POSITION_FOLLOWING;
  return comes && task.dataset.task;
}"""


def state_of(widget):
    return widget.page.evaluate(
        "(names) => Object.fromEntries(names.map((name) => [name, model.get(name)]))",
        [name for name in widget.state if not name.startswith("_") and name != "task"],
    )


@pytest.mark.parametrize("name", TASKS)
def test_a_task_is_open_at_first_and_done_by_keyboard(on_scratch, name):
    task = TASKS[name]
    widget = on_scratch(task.widget, traits={"task": name, **STARTS[name]})
    box = widget.host.locator(f'[data-task="{name}"]')
    heard = box.get_by_role("status")
    lesson = widget.host.locator(".rope-lesson")
    assert lesson.evaluate(AFTER) == name
    assert (box.get_attribute("data-done"), heard.text_content()) == ("false", "")
    assert not check(name, made(task.widget, **STARTS[name]))
    frame = widget.host.locator(".rope-frame")
    heights = "(frame) => [frame, ...frame.querySelectorAll('.rope-lesson, .rope-task')].map("
    heights += "(node) => node.offsetHeight)"
    before = frame.evaluate(heights)
    said = lesson.get_by_text(task.said, exact=True)
    assert not said.is_visible()
    for i, (control, key, times) in enumerate(MOVES[name]):
        last = i == len(MOVES[name]) - 1
        press(widget, control, key, times - last)
        assert box.get_attribute("data-done") == "false", "done before the last move"
        if last:
            press(widget, control, key, 1)
    assert (box.get_attribute("data-done"), heard.text_content()) == ("true", task.said)
    assert frame.evaluate(heights) == before and said.is_visible()
    assert widget.page.evaluate("JSON.parse(localStorage['rope-book:marks'])") == {name: True}
    assert accessibility_faults(widget.page) == []
    assert check(name, judged_state(widget, task)), "Python, told of the same state, agrees"
    # What is done stays done, also when the page is opened again.
    undo = {"ArrowLeft": "ArrowRight", "ArrowRight": "ArrowLeft"}
    control, key, _ = MOVES[name][-1]
    press(widget, control, undo.get(key, key), 1)
    assert not check(name, judged_state(widget, task)) and box.get_attribute("data-done") == "true"
    assert not said.is_visible()
    widget.page.reload()
    widget.still()
    assert box.get_attribute("data-done") == "true" and not said.is_visible()


@pytest.mark.parametrize("name", TASKS)
def test_no_button_does_a_task_for_the_reader(on_scratch, name):
    task = TASKS[name]
    widget = on_scratch(task.widget, traits={"task": name, **STARTS[name]}, reduced_motion="reduce")
    box = widget.host.locator(f'[data-task="{name}"]')
    pressed = widget.host.evaluate(PRESS_EACH)
    given = [button for button, _, given in pressed if given]
    assert not any(done for _, done, _ in pressed), pressed
    assert set(given) == GIVEN.get(name, set())
    for button in given[:1]:
        widget.page.reload()
        widget.still()
        widget.control(button).click()
        widget.still()
        assert box.get_by_text("Now without that button.").is_visible()
        assert not widget.host.get_by_text(task.said, exact=True).is_visible()


# Of these tasks a button alone brings what is asked.
GIVEN = {
    "full circle": {"push_on"},
    "hide a bug": {"both_signs", "both_seats"},
    "mend the score": {"both_half_converted"},
}
PRESS_EACH = """async (host) => {
  const found = [];
  for (const button of host.querySelectorAll("button[data-control]")) {
    button.click();
    await passFrames(3);
    const { done, given } = host.querySelector("[data-task]").dataset;
    found.push([button.dataset.control, done === "true", given === "true"]);
  }
  return found;
}"""


def judged_state(widget, task):
    """A widget of Python in the state that the page's widget has."""
    traits = made(task.widget).traits()
    state = {k: v for k, v in state_of(widget).items() if k in traits and not traits[k].read_only}
    return made(
        task.widget, **{k: v for k, v in state.items() if k not in base.FolderWidget().keys}
    )


_RULE = """
const { ruleValue } = await import("./kit/rule.js");
console.log(JSON.stringify(given.states.map((state) => Boolean(ruleValue(given.rule, state)))));
"""


def drawn(widget, random_):
    """Put random values into the traits that a reader moves; those that are refused stay."""
    for name, trait in widget.traits(sync=True).items():
        if name.startswith("_") or trait.read_only or name == "task":
            continue
        value = getattr(widget, name)
        if isinstance(trait, traitlets.Bool):
            value = random_.random() < 0.5
        elif isinstance(trait, traitlets.Int):
            value = random_.randint(-40, 60)
        elif isinstance(trait, traitlets.Float):
            value = random_.choice([random_.uniform(0, 4), 10 ** random_.uniform(2, 6)])
        elif known := getattr(trait, "known", None):
            value = random_.choice(known)
        try:
            setattr(widget, name, value)
        except traitlets.TraitError:
            continue
    return widget


@pytest.mark.parametrize("name", TASKS)
def test_the_page_reads_the_rule_as_python_does(name):
    random_, task = random.Random(name), TASKS[name]
    names = set(re.findall(r"[A-Za-z_]\w*", task.done))
    states = []
    for _ in range(60):
        widget = drawn(made(task.widget), random_)
        found = {one: getattr(widget, one) for one in names if hasattr(widget, one)}
        states.append(
            {k: v for k, v in found.items() if not isinstance(v, float) or math.isfinite(v)}
        )
    rule = made(task.widget, task=name).task["rule"]
    expected = [judging.judged(task.told(), state)[0] for state in states]
    assert javascript.run(_RULE, {"rule": rule, "states": states}) == expected


@pytest.mark.parametrize("value", ["no such task", "full circle", 7])
def test_a_widget_refuses_a_task_that_is_none_of_its_own(value):
    for refuse in (
        lambda: ScoreBuilder(task=value),
        lambda: setattr(ScoreBuilder(), "task", value),
    ):
        with pytest.raises(
            traitlets.TraitError, match=rf"^task must be one of score_builder .*, got {value!r}$"
        ):
            refuse()


def test_every_picture_can_have_a_task_and_has_none_at_first():
    for name, cls in widget_classes().items():
        assert made(name).task is None and cls._folder == name
    assert TokenShuffle(task=None).task is None
