"""What the search page is given to search."""

import pytest
from docutils import nodes
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


PLAIN = {"doctitle_xform": False}  # docutils alone would promote the title to the document


def test_formulas_are_read_as_words_and_objects_not_at_all():
    doctree = publish_doctree(OUTPUTS, settings_overrides=PLAIN)
    (section,) = sections_of(doctree, "a/page")
    assert section["text"] == "Since f = √(1/t) = 0.1 ln s and a/b cos theta:"
    assert section["code"] == "kept 3"


FORMULAS = {
    r"\tfrac12, \ldots, \tfrac1{256}": "1/2, …, 1/256",
    r"\frac{\mathbf{q}_m \cdot \mathbf{k}_n}{\sqrt{d_\text{head}}} - s\,\lvert n - m \rvert": (
        "(q_m · k_n)/(√(d_head)) - s | n - m |"
    ),
    r"\frac{1}{m+1}": "(1)/(m+1)",
    r"\mathbf{q}^\top M^{n-m}\, \mathbf{k}": "qᵀ M^(n-m) k",
    r"\underbrace{2 \cdot 3}_{6}": "2 · 3_6",
    r"\begin{pmatrix} a & -b \\ b & a \end{pmatrix}": "a -b b a",
}


@pytest.mark.parametrize("tex", FORMULAS)
def test_a_formula_is_shown_without_tex(tex):
    page = f"Title\n=====\n\n:math:`{tex}`\n"
    (section,) = sections_of(publish_doctree(page, settings_overrides=PLAIN), "a/page")
    assert section["text"] == FORMULAS[tex]


def test_where_an_answer_comes_from_is_no_prose():
    page = "Title\n=====\n\nA short answer.\n\nMore: there. Proof: ``test_it``.\n"
    (section,) = sections_of(publish_doctree(page, settings_overrides=PLAIN), "a/page")
    assert (section["text"], section["code"]) == (
        "A short answer.",
        "More: there. Proof: test_it.",
    )


def test_each_section_has_its_titles_its_anchor_and_its_own_words():
    doctree = publish_doctree(PAGE, settings_overrides=PLAIN)
    found = [(s["titles"], s["anchor"], s["text"]) for s in sections_of(doctree, "a/page")]
    assert found == [
        (["Title"], "", "One word."),
        (["Title", "First"], "first", "Two words."),
        (["Title", "First", "Inner"], "inner", "Three."),
        (["Title", "Second"], "second", "four five"),
    ]
    assert {s["page"] for s in sections_of(doctree, "a/page")} == {"a/page"}


def test_names_that_raw_html_brings_lead_to_its_section():
    doctree = publish_doctree(PAGE)
    (raw,) = doctree.findall(nodes.raw)
    raw["names"] = ["zamba2"]
    named = [one["titles"][-1] for one in sections_of(doctree, "page") if "names" in one]
    assert named == ["First"]


FOLDS = """<style>.a { color: red }</style>
<details id="hall"><summary>Wrong late <span>2</span></summary>
<details id="leaf" data-title="A &amp; B"><summary>Seen.</summary>
<p>By <a href="#">kit #3</a></p><p>again.</p><pre><code>x = 1</code></pre></details>
<details><summary>No title</summary></details></details>"""


def test_folds_of_an_output_that_have_a_title_are_found_under_those_around_them():
    doctree = publish_doctree(PAGE)
    (raw,) = doctree.findall(nodes.raw)
    raw.replace_self(nodes.container("", nodes.raw(text=FOLDS, format="html")))
    found = [one for one in sections_of(doctree, "page") if one["anchor"] == "leaf"]
    assert found == [
        {
            "page": "page",
            "anchor": "leaf",
            "titles": ["First", "Wrong late", "A & B"],
            "text": "Seen. By kit #3 again.",
            "code": "x = 1",
        }
    ]
