"""What the search page is given to search."""

from docutils.core import publish_doctree

from ropebook.site.sections import sections_of

PAGE = """
Title
=====

One `word`.

First
-----

Two
words.

.. raw:: html

   <b>unseen</b>

Inner
~~~~~

Three.

Second
------

- four
- five
"""


OUTPUTS = """
Title
=====

Since :math:`f = \\sqrt{1/t} = 0.1 \\ln s` and :math:`\\frac{a}{b}\\cos\\theta`:

::

   <ropebook.widgets.answer_box.widget.AnswerBox object at 0x7f00aa>

::

   kept 3
"""


def test_formulas_are_read_as_words_and_objects_not_at_all():
    doctree = publish_doctree(OUTPUTS, settings_overrides={"doctitle_xform": False})
    (section,) = sections_of(doctree, "a/page")
    assert section["text"] == "Since f = √(1/t) = 0.1 ln s and a/b cos theta: kept 3"


def test_each_section_has_its_titles_its_anchor_and_its_own_words():
    # The title is promoted to the document by docutils alone, not by Sphinx.
    doctree = publish_doctree(PAGE, settings_overrides={"doctitle_xform": False})
    found = [(s["titles"], s["anchor"], s["text"]) for s in sections_of(doctree, "a/page")]
    assert found == [
        (["Title"], "", "One word."),
        (["Title", "First"], "first", "Two words."),
        (["Title", "First", "Inner"], "inner", "Three."),
        (["Title", "Second"], "second", "four five"),
    ]
    assert {s["page"] for s in sections_of(doctree, "a/page")} == {"a/page"}
