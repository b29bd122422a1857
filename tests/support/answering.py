"""How a reader answers an exercise: what is typed or chosen, by keyboard, by pointer, by touch."""

from browser import FRAMES
from hands import drag
from playwright.sync_api import Locator

from ropebook.exercises.definitions import FillIn

NONSENSE = ["", "abc", "1/0", "2 **", "1, 5", "<b>1</b>", "((1)", "9" * 40, "x.y", "import os"]


def _text(value):
    return value if isinstance(value, str) else repr(value)


def typed(exercise, answer):
    """An answer as a definition has it, in the form in which a reader gives it to the page."""
    kind = exercise.kind
    if isinstance(exercise, FillIn):
        return [answer] if isinstance(answer, str) else list(answer)
    if kind == "numbers":
        return [_text(part) for part in answer]
    if kind == "set":
        return ", ".join(map(_text, answer if isinstance(answer, list | tuple | set) else [answer]))
    if kind == "order":
        return list(answer)
    return answer if isinstance(answer, int) and kind in ("bet", "choice") else _text(answer)


def right_answer(exercise):
    """The right answer, in the form in which a reader gives it."""
    if exercise.kind in ("bet", "choice"):
        return [option.right for option in exercise.options].index(True)
    if isinstance(exercise, FillIn):
        return exercise.told()["gaps"]
    return typed(exercise, exercise.right)


def wrong_answers(exercise):
    """Each misconception that the definition knows, and nonsense."""
    if exercise.kind in ("bet", "choice"):
        return [i for i, option in enumerate(exercise.options) if not option.right]
    known = [typed(exercise, hint.example) for hint in exercise.hints]
    if exercise.kind == "order":
        return [*known, list(range(len(exercise.items)))]
    if isinstance(right := right_answer(exercise), list):
        return known + [[text, *right[1:]] for text in NONSENSE] + [[""] * len(right)]
    return known + NONSENSE


class Box:
    """The box of one exercise on a page."""

    def __init__(self, page, exercise):
        self.page, self.exercise, self.kind = page, exercise, exercise.kind
        kind = {"bet": "bet", "fill-in": "fill"}.get(self.kind, "answer")
        self.root = page.locator(f'[data-{kind}="{exercise.name}"]')
        self.fields = self.root.locator("input[type=text]")

    def button(self, name):
        return self.root.get_by_role("button", name=name)

    def said(self):
        return self.root.get_by_role("status").inner_text()

    def done(self):
        return self.root.get_attribute("data-done") == "true"

    def order(self):
        """The items as they stand, by their place in the definition."""
        model = "(root) => [...root.querySelectorAll('.rope-order-text')].map((x) => x.textContent)"
        plain = [item.replace("<b>", "").replace("</b>", "") for item in self.exercise.items]
        return [plain.index(text) for text in self.root.evaluate(model)]

    def answer(self, answer, hand):
        """Give an answer with a hand and have it checked."""
        if self.kind == "bet":
            return self.press(self.root.get_by_role("radio").nth(answer), hand)
        if self.kind == "choice":
            self._choose(answer, hand)
        elif self.kind == "order":
            self._arrange(answer, hand)
            if hand == "touch":
                self._let_go()
        else:
            for i, text in enumerate([answer] if isinstance(answer, str) else answer):
                field = self.fields.nth(i)
                field.focus() if hand == "keyboard" else self.press(field, hand)
                self.page.keyboard.press("Control+A")
                self.page.keyboard.press("Delete")
                self.page.keyboard.insert_text(text)
            if hand == "keyboard":
                return self.page.keyboard.press("Enter")
        return self.press(self.button("Check"), hand)

    def press(self, node, hand):
        """Press a control, be it one of a group, with a hand."""
        return {"keyboard": self._key, "pointer": Locator.click, "touch": Locator.tap}[hand](node)

    def _key(self, node):
        """Go to a control by keys where it is one of a group, and press it."""
        if node.get_attribute("role") == "radio":
            first = self.root.locator("[role=radio][tabindex='0']")
            first.focus()
            for _ in range(20):
                if node.evaluate("(node) => node === document.activeElement"):
                    break
                self.page.keyboard.press("ArrowDown")
        else:
            node.focus()
        self.page.keyboard.press("Enter")

    def _choose(self, index, hand):
        radios = self.root.locator("input[type=radio]")
        if hand != "keyboard":
            label = self.root.locator("label").nth(index)
            return label.click() if hand == "pointer" else label.tap()
        radios.first.focus()
        self.page.keyboard.press("Space")
        for _ in range(index):
            self.page.keyboard.press("ArrowDown")

    def _arrange(self, order, hand):
        rows = self.root.locator(".rope-order-row")
        for place, item in enumerate(order):
            at = self.order().index(item)
            if hand == "keyboard" and at != place:
                rows.nth(at).get_by_role("button").first.focus()
            while hand == "keyboard" and at > place:
                self.page.keyboard.press("ArrowUp")
                at -= 1
            if at != place:
                for row in (place, at):
                    rows.nth(row).scroll_into_view_if_needed()
                start, end = (self._grip(rows.nth(i)) for i in (at, place))
                drag(self.page, start, [end[0], end[1] - 4], touch=hand == "touch")

    def _let_go(self):
        """Tap what answers to nothing until it is heard.

        Where a machine is busy, Chromium makes no click of a tap that follows a drag at once.
        """
        question = self.root.locator(".rope-ask-question")
        hear = "(node) => node.addEventListener('click', () => { node.dataset.heard = '' })"
        question.evaluate(hear)
        while question.get_attribute("data-heard") is None:
            question.tap()
            self.page.evaluate(FRAMES)
        question.evaluate("(node) => { delete node.dataset.heard }")

    def _grip(self, row):
        box = row.locator(".rope-order-grip").bounding_box()
        return [box["x"] + box["width"] / 2, box["y"] + box["height"] / 2]
