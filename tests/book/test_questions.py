"""The page of questions: each is one, is short, leads into the book, and names a proof."""

import ast
import re
from functools import cache

import pytest
from addresses import LINK, leads_somewhere
from docutils.nodes import make_id
from toc import ROOT

PAGE = (ROOT / "book/questions.md").read_text("utf-8")
ENTRY = re.compile(
    r"^\{#(?P<name>[a-z0-9-]+) \.deeper\}\n### (?P<title>.+)\n\n(?P<answer>.+)\n\n"
    r"More: (?P<more>\[.+?\]\(\S+?\))\.? Proof: (?P<proof>`\S+`(?:, `\S+`)*|\[.+?\]\(\S+?\))\."
    r"(?: Asked: (?P<asked>.+)\.)?$",
    re.MULTILINE,
)
QUESTIONS = {found["name"]: found.groupdict() for found in ENTRY.finditer(PAGE)}
# What people type into a search box stands in a title, where a search looks first.
WORDS = """10000 2d alibi attention complex decay extrapolate freqs_cis gqa interleaved kv m-rope
mscale nope original_max_position_embeddings partial_rotary_factor position_ids rope_scaling
rotate_half sinks theta yarn""".split()
PHRASES = ("attention sinks", "why not rotate v", "does rope decay", "left padding", "kv cache")


def test_there_are_enough_questions_and_all_are_read():
    assert len(QUESTIONS) >= 60
    assert len(QUESTIONS) == len(re.findall(r"^### ", PAGE, re.MULTILINE))


def test_no_question_is_asked_twice():
    for part in ("title", "answer"):
        texts = [one[part] for one in QUESTIONS.values()]
        assert len(texts) == len(set(texts))


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_question_is_one_and_its_answer_is_short(name):
    one = QUESTIONS[name]
    assert one["title"].count("?") == 1 and one["title"].endswith("?")
    assert 12 <= len(one["answer"].split()) <= 75
    assert "?" not in one["answer"]


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_question_leads_into_the_book(name):
    (address,) = LINK.findall(QUESTIONS[name]["more"])
    assert "#" in address and leads_somewhere(address), address


@cache
def names_of_tests(file):
    body = ast.parse((ROOT / file).read_text("utf-8")).body
    return {node.name for node in body if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_question_names_a_proof_that_exists(name):
    proof = QUESTIONS[name]["proof"]
    if proof.startswith("["):
        (address,) = LINK.findall(proof)
        assert "#" in address and leads_somewhere(address), address
    else:
        for one in proof.split(", "):
            file, _, test = one.strip("`").partition("::")
            assert file.startswith("tests/") and test.startswith("test_")
            assert test in names_of_tests(file)


def test_most_proofs_are_tests():
    tests = [one for one in QUESTIONS.values() if one["proof"].startswith("`")]
    assert len(tests) >= 0.9 * len(QUESTIONS)


@pytest.mark.parametrize("name", [name for name, one in QUESTIONS.items() if one["asked"]])
def test_a_thread_has_a_whole_address(name):
    threads = LINK.findall(QUESTIONS[name]["asked"])
    assert threads
    for address in threads:
        assert re.fullmatch(
            r"https://github\.com/[\w.-]+/[\w.-]+/(issues|pull)/[1-9]\d*"
            r"|https://datascience\.stackexchange\.com/questions/[1-9]\d*/[a-z0-9-]+",
            address,
        ), address


def test_titles_hold_the_words_that_people_search_for():
    titles = " ".join(one["title"] for one in QUESTIONS.values()).lower()
    assert [word for word in (*WORDS, *PHRASES) if word not in titles] == []


def test_the_groups_at_the_top_are_the_pages_parts():
    top = PAGE.partition("\n## ")[0]
    parts = [make_id(title) for title in re.findall(r"^## (.+)$", PAGE, re.MULTILINE)]
    assert [address.removeprefix("#") for address in LINK.findall(top)] == parts
