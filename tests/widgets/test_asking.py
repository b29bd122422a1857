"""Every bet, answer box, fill-in: answered by every hand, with the verdict that Python gives."""

import json

import pytest

pytest.importorskip("anywidget")

import javascript
from answering import Box, right_answer, wrong_answers
from browser import PHONE, accessibility_faults, open_page
from scratch import boxes, page_of

from ropebook.exercises import judging

WIDTH = 696  # of a page's text on a wide screen
BOXES = boxes()
KEY = "rope-book:marks"


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """A page with the boxes of all exercises."""
    file = tmp_path_factory.mktemp("asking") / "index.html"
    file.write_text(page_of(*(widget for _, widget in BOXES)), encoding="utf-8")
    return file.as_uri()


@pytest.fixture
def opened(chromium, address):
    """Return a function that opens the page offline; it must complain of nothing and fit."""
    seen = []

    def opened(width=WIDTH, script="", theme="light", **options):
        size = {"width": width + 24, "height": 844}  # the page's margins
        context = chromium.new_context(viewport=size, offline=True, **options)
        context.add_init_script(
            "window.marked = []; addEventListener('rope-mark', (e) => marked.push(e.detail));"
            + script
        )
        page, log = open_page(context, address)
        page.evaluate("(theme) => { document.documentElement.dataset.theme = theme }", theme)
        seen.append((context, page, log))
        return page

    yield opened
    found = []
    for context, page, log in seen:
        wider = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        found.append((max(0, wider), log.outside(), log.failed, log.complaints))
        context.close()
    assert found == [(0, [], [], [])] * len(seen)


HANDS = {
    "keyboard": {},
    "pointer": {},
    "touch": {"width": PHONE[0] - 24, "has_touch": True, "is_mobile": True},
}


def solution_of(exercise):
    """What the box shows as the solution, by the page's own function."""
    module = "const { solutionOf } = await import('./kit/answers.js');"
    return javascript.run(
        f"{module} console.log(JSON.stringify(solutionOf(given)));", exercise.told()
    )


def plain_text(page, text):
    """A text of a definition as a reader sees it."""
    return page.evaluate(
        "(text) => { const p = document.createElement('p'); document.body.append(p);"
        " p.innerHTML = text; const seen = p.innerText; p.remove(); return seen; }",
        text,
    )


@pytest.mark.parametrize("hand", HANDS)
def test_every_box_is_answered_wrong_and_right_by(opened, hand):
    page = opened(**HANDS[hand])
    for exercise, _ in BOXES:
        box, right = Box(page, exercise), right_answer(exercise)
        wrong = next(one for one in wrong_answers(exercise) if one != right)
        assert (box.done(), box.said()) == (False, ""), exercise.name
        if exercise.kind == "bet":
            _bet(page, box, wrong, right, hand)
            continue
        assert box.button("Show the solution").count() == 0, "nobody has tried yet"
        box.answer(wrong, hand)
        said = box.said()
        assert said not in ("", "Right.") and not box.done(), exercise.name
        box.press(box.button("Show the solution"), hand)
        shown = box.root.locator(".rope-ask-solution")
        assert shown.inner_text() == plain_text(page, solution_of(exercise)), exercise.name
        box.answer(right, hand)
        message = plain_text(page, judging.judged(exercise.told(), right)[1])
        assert (box.said(), box.done()) == (message, True), exercise.name
    kept = json.loads(page.evaluate(f"localStorage.getItem('{KEY}')"))
    assert set(kept) == {exercise.name for exercise, _ in BOXES}
    assert [one["name"] for one in page.evaluate("marked")] == [e.name for e, _ in BOXES]


def test_a_right_answer_that_is_changed_has_one_verdict_at_a_time(opened):
    page = opened()
    mark = "(node) => getComputedStyle(node, '::before').visibility"
    for exercise, _ in BOXES:
        if exercise.kind == "bet":
            continue
        box, right = Box(page, exercise), right_answer(exercise)
        wrong = next(one for one in wrong_answers(exercise) if one != right)
        tick = box.root.locator(".rope-ask-tick")
        box.answer(right, "pointer")
        seen = (tick.evaluate(mark), tick.get_attribute("aria-label"))
        assert seen == ("visible", "solved"), (exercise.name, box.said())
        box.answer(wrong, "pointer")
        assert (tick.evaluate(mark), tick.get_attribute("aria-label")) == ("hidden", None)
        assert box.done(), "what is done stays done"


def _bet(page, box, wrong, right, hand):
    box.answer(wrong, hand)
    assert box.done() and "lost" in box.said()
    visible = box.root.locator(".rope-bet-said:visible")
    sentence = plain_text(page, box.exercise.options[wrong].said)
    assert visible.all_inner_texts() == [sentence] and sentence in box.said()
    box.answer(right, hand)
    assert visible.count() == 2 and "lost" in box.said(), "the first choice is the bet"
    chosen = box.root.locator("[role=radio][aria-checked=true]")
    assert chosen.get_attribute("data-option") == str(wrong)
    labels = [box.root.locator(f"[data-option='{i}']").inner_text() for i in (wrong, right)]
    assert "your bet" in labels[0] and "right" in labels[1] and "right" not in labels[0]


def test_the_verdict_on_every_answer_is_that_of_python(opened):
    page = opened()
    wrong = []
    for exercise, _ in BOXES:
        told = exercise.told()
        assert judging.judged(told, right_answer(exercise))[0], exercise.name
        for answer in [right_answer(exercise), *wrong_answers(exercise)]:
            if exercise.kind == "bet":
                continue  # it has no verdict but the sentence of its option
            ok, message = judging.judged(told, answer)
            seen = Box(page, exercise).root.evaluate(
                """(root, [answer, message]) => {
                  const { model } = root.closest(".rope-widget-host");
                  const said = root.querySelector("[role=status]");
                  const plain = document.createElement("p");
                  plain.innerHTML = message;
                  const fields = [...root.querySelectorAll("input[type=text]")];
                  if (fields.length === 0) model.set("answer", answer);
                  else {
                    fields.forEach((field, i) => (field.value = [answer].flat()[i]));
                    root.querySelector(".rope-ask-buttons button").click();
                  }
                  return [said.dataset.verdict === "right", said.textContent, plain.textContent];
                }""",
                [answer, message],
            )
            if seen[0] != ok or seen[1] != seen[2]:
                wrong.append((exercise.name, answer, ok, *seen))
    assert wrong == []


def test_what_was_done_is_there_again_when_the_page_is_opened_again(opened):
    page = opened()
    for exercise, _ in BOXES:
        Box(page, exercise).answer(right_answer(exercise), "pointer")
    page.reload()
    page.wait_for_function(f"document.querySelectorAll('.rope-ask').length === {len(BOXES)}")
    for exercise, _ in BOXES:
        box, right = Box(page, exercise), right_answer(exercise)
        assert box.done(), exercise.name
        assert (
            box.root.evaluate("(root) => root.closest('.rope-widget-host').model.get('answer')")
            == right
        )
        if texts := box.fields.count():
            shown = [box.fields.nth(i).input_value() for i in range(texts)]
            assert shown == ([right] if isinstance(right, str) else right)
        elif exercise.kind == "order":
            assert box.order() == right
        elif exercise.kind == "choice":
            assert box.root.locator("input[type=radio]").nth(right).is_checked()
    assert page.evaluate("marked") == [], "nothing was done now"


def test_where_the_browser_keeps_nothing_the_page_does(opened):
    refuse = (
        "Object.defineProperty(window, 'localStorage', "
        "{ get() { throw new DOMException('refused', 'SecurityError'); } });"
    )
    page = opened(script=refuse)
    for exercise, _ in BOXES:
        Box(page, exercise).answer(right_answer(exercise), "pointer")
    kept = page.evaluate(f"globalThis[Symbol.for('{KEY}')]")
    assert kept == {exercise.name: right_answer(exercise) for exercise, _ in BOXES}


LOOKS = [(WIDTH, "light"), (316, "dark")]
_GIVE_ALL = """(answers) => {
  for (const host of document.querySelectorAll(".rope-widget-host")) {
    host.model.set("answer", answers[host.model.get("definition").name]);
  }
  document.querySelectorAll(".rope-ask-plain[aria-expanded=false]").forEach((node) => node.click());
}"""


@pytest.mark.parametrize(("width", "theme"), LOOKS)
def test_axe_finds_nothing_before_and_after_a_wrong_and_a_right_answer(opened, width, theme):
    page = opened(width=width, theme=theme, reduced_motion="reduce")
    assert accessibility_faults(page) == []
    for pick in (lambda exercise: wrong_answers(exercise)[0], right_answer):
        page.evaluate(_GIVE_ALL, {exercise.name: pick(exercise) for exercise, _ in BOXES})
        assert accessibility_faults(page) == []


def test_what_can_be_pressed_is_large_enough_for_a_finger_and_named(opened):
    page = opened(width=PHONE[0] - 24)
    small = page.evaluate(
        """() => [...document.querySelectorAll(
            ".rope-asks :is(button, label:has([type=radio]), .rope-ask-row > input)")]
          .filter((node) => node.checkVisibility())
          .map((node) => [node.textContent, node.getBoundingClientRect()])
          .filter(([, { width, height }]) => width < 44 || height < 44)"""
    )
    assert small == []
    assert page.locator(".rope-asks [role=status][aria-live=polite]").count() == len(BOXES)


def test_a_box_is_hardly_higher_than_its_question(opened):
    page = opened()
    for exercise, _ in BOXES:
        root = Box(page, exercise).root
        height = root.bounding_box()["height"]
        asked = root.locator(".rope-ask-question").bounding_box()["height"]
        if exercise.kind in ("number", "numbers", "set", "expression"):
            rows = 1 + (len(exercise.labels) > 2)
            assert height - asked <= 4 + 54 * rows, exercise.name


def test_on_paper_stand_question_options_and_solution(opened):
    page = opened()
    page.emulate_media(media="print")
    for exercise, _ in BOXES:
        root = Box(page, exercise).root
        if exercise.kind == "bet":
            assert root.locator(".rope-bet-said:visible").count() == 1
            assert root.get_by_role("radio").first.is_visible()
        else:
            assert root.locator(".rope-ask-solution").is_visible()
            assert root.get_by_role("button", name="Check").count() == 0
