"""What holds for every widget on disk, read from its folder and asked of its Python class."""

import functools
import math
import re

import pytest

pytest.importorskip("anywidget")

import traitlets
from javascript import WIDGETS
from refusals import assert_refused
from scratch import asking_classes, made, widget_classes

from ropebook.widgets import base

CLASSES = widget_classes() | asking_classes()
_SENTENCE = re.compile(r"(?<![\w-])[A-Za-z]{2,}[,.]? [a-z]{2,}(?![\w-])")


def sources(name):
    """The JavaScript of a widget's own folder: its words, and all the rest of it, as two texts."""
    text = "".join(path.read_text("utf-8") for path in sorted((WIDGETS / name).glob("*.js")))
    (table,) = re.findall(r"^(?:export )?const WORDS = {.*?^};\n", text, re.DOTALL | re.MULTILINE)
    return table, re.sub(r"^\s*//.*$", "", text.replace(table, ""), flags=re.MULTILINE)


@pytest.mark.parametrize("name", CLASSES)
def test_every_word_of_the_table_is_used_and_every_word_used_stands_there(name):
    table, code = sources(name)
    listed = set(re.findall(r"^    (\w+):", table, re.MULTILINE))
    spoken = set(re.findall(r"(?:\.\.\.|(?<![\w.]))words\.(\w+)", code))
    assert spoken <= listed
    kit = "".join(path.read_text("utf-8") for path in (WIDGETS / "kit").glob("*.js"))
    framed = set(re.findall(r"(?<![\w.])words\.(\w+)", kit))
    # Sentences about what was read are found in their tables by name: `words[table][code]`.
    named = set(re.findall(r'"(\w+)"', code)) if "words[" in code else set()
    assert listed <= spoken | framed | named


@pytest.mark.parametrize("name", CLASSES)
def test_no_words_stand_outside_the_table(name):
    _, code = sources(name)
    literals = re.findall(r'"((?:[^"\\\n]|\\.)*)"|`((?:[^`\\]|\\.)*)`', code)
    said = [plain or re.sub(r"\$\{[^}]*\}", "", filled) for plain, filled in literals]
    assert [text for text in said if _SENTENCE.search(text)] == []
    labels = r'\b(?:label|title|description|"aria-label"):\s*["`][A-Za-z]{2}.*'
    texts = r'\bsetText\([^,]+, ["`][A-Za-z]{2}.*|textContent = ["`][A-Za-z]{3}.*'
    assert re.findall(rf"{labels}|{texts}", code) == []


def own_traits(name):
    """The traits of a widget that Python and the picture share and that a cell may set."""
    widget = made(name)
    shared = sorted(set(widget.keys) - set(base.RopeWidget().keys))
    return {
        key: trait
        for key, trait in widget.traits().items()
        if key in shared and not trait.read_only
    }


def traits_of(*kinds):
    """All (widget, trait) of some kinds, in one order on every run."""
    found = [(name, key, trait) for name in CLASSES for key, trait in own_traits(name).items()]
    return [(name, key) for name, key, trait in found if isinstance(trait, kinds)]


@pytest.mark.parametrize(("name", "key"), traits_of(traitlets.Int, traitlets.Float))
def test_a_number_far_beyond_its_rule_is_refused_with_rule_and_value(name, key):
    whole = isinstance(own_traits(name)[key], traitlets.Int)
    for value in [-(10**9)] if whole else [-1e9, math.nan]:
        message = rf"^{key} must (?!.*None).*got {re.escape(str(value))}$"
        assert_refused(functools.partial(made, name), key, value, message)


@pytest.mark.parametrize(("name", "key"), traits_of(traitlets.List))
def test_an_empty_list_is_refused_with_rule_and_value(name, key):
    assert_refused(functools.partial(made, name), key, [], rf"^{key} must .*got (\[\]|0)$")


ANY_TEXT = ("config", "layer_type", "pasted")  # what cannot be read stays, and its mistake is shown
CHOICES = [(name, key) for name, key in traits_of(traitlets.Unicode) if key not in ANY_TEXT]


@pytest.mark.parametrize(("name", "key"), CHOICES)
def test_an_unknown_choice_is_refused_and_the_known_ones_named(name, key):
    known = re.escape(getattr(made(name), key))
    assert_refused(
        functools.partial(made, name), key, "?", rf"^{key} must be .*{known}.*, got '\?'$"
    )
