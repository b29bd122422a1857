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
