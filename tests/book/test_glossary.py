"""The glossary: the words that chapters may link to, each explained alone and in two sentences."""

import re

import pytest
from addresses import LINK, leads_somewhere
from toc import ROOT

TEXT = (ROOT / "book/glossary.md").read_text("utf-8")
ENTRY = re.compile(
    r"^\[(?P<term>[^\]]+)\]\{#(?P<slug>[a-z0-9-]+)\}\n: (?P<meaning>.+)\n\n  More: (?P<more>.+)$",
    re.MULTILINE,
)
TERMS = {found["slug"]: found.groupdict() for found in ENTRY.finditer(TEXT)}
WANTED = """token embedding position query key value score softmax weight head layer causal-mask
pair hand frequency base wavelength rotation layout context kv-cache radian dot-product
transpose determinant complex-number position-encoding rope projection mlp norm float32""".split()


def test_every_wanted_word_is_there_and_every_entry_is_read():
    assert [slug for slug in WANTED if slug not in TERMS] == []
    body = re.sub(r"^%.*$", "", TEXT, flags=re.MULTILINE)
    assert len(TERMS) == len(re.findall(r"\]\{#", body)) == len(re.findall(r"^: ", body, re.M))


def test_words_stand_in_the_order_of_the_alphabet():
    names = [one["term"].lower() for one in TERMS.values()]
    assert names == sorted(names)


@pytest.mark.parametrize("slug", TERMS)
def test_a_word_is_explained_alone_in_two_sentences_and_leads_on(slug):
    """A page shows the meaning beside the word: no formula, no link, and little of it."""
    one = TERMS[slug]
    assert 10 <= len(one["meaning"].split()) <= 50
    assert not re.search(r"[$`\[\]]", one["meaning"])
    (address,) = LINK.findall(one["more"])
    assert "#" in address and leads_somewhere(address), address
