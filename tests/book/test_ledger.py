"""The rules of the ledger's files: what is refused, and what the error says."""

import json
import shutil

import pytest
from claims import APPENDIX, checks, decides

from ropebook.ledger import Claim, claims_of, dump, read_ledger, undecided

TRUE = {"id": "S003-1", "where": "1", "claim": "It turns.", "kind": "code", "verdict": "true"}
FALSE = TRUE | {"verdict": "false", "correction": "It turns back."}


def claim(**changed):
    """A false claim with other values; None takes a field away."""
    entry = {**FALSE, **changed}
    return {field: value for field, value in entry.items() if value is not None}


def test_a_claim_knows_its_document_and_its_chapter():
    (one,) = claims_of("003", [claim(link="distance#the-base")])
    assert (one.document, one.chapter) == ("003", "distance")
    assert claims_of("003", [TRUE])[0].chapter == ""


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"verdict": "flase"}, "S003-1: verdict must be one of true, .*, got 'flase'"),
        ({"kind": "maths"}, "S003-1: kind must be one of identity, .*, got 'maths'"),
        ({"correction": None}, "S003-1: a claim that is 'false' needs its correction"),
        ({"verdict": "true"}, "S003-1: a claim that is true has no correction"),
        ({"claim": ""}, "S003-1: claim must not be empty; leave the field out"),
        ({"claim": "two\nlines"}, "S003-1: claim must be one line of plain text, got 'two"),
        ({"claim": "by \\theta"}, "S003-1: claim must be one line of plain text"),
        ({"claim": None}, "S003-1: claim is missing"),
        ({"check": "it_turns"}, "S003-1: check must be the name of a test function.*'it_turns'"),
        ({"citation": "su2021"}, "S003-1: citation must be a key of .*, got 'su2021'"),
        ({"link": "rope/distance"}, "S003-1: link must be a chapter, .*, got 'rope/distance'"),
        ({"remember": 21}, "S003-1: remember must be 1 to 20, got 21"),
        ({"remember": -1}, "S003-1: remember must be 1 to 20, got -1"),
        ({"note": "?"}, "S003-1: unknown field 'note', known are id, where"),
        ({"id": "S003-2"}, "S003-2: ids count up without a gap, here must stand S003-1"),
        ({"id": "S004-1"}, "S004-1: ids count up .* must stand S003-1"),
    ],
)
def test_a_claim_that_breaks_a_rule_is_named(changed, words):
    with pytest.raises(ValueError, match=words):
        claims_of("003", [claim(**changed)])


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"remember": "1"}, "S003-1: remember must be of type int, got '1'"),
        ({"remember": True}, "S003-1: remember must be of type int, got True"),
        ({"verdict": False}, "S003-1: verdict must be of type str, got False"),
    ],
)
def test_a_value_of_another_type_is_named(changed, words):
    with pytest.raises(TypeError, match=words):
        claims_of("003", [claim(**changed)])


def test_fields_stand_in_one_order():
    with pytest.raises(ValueError, match="S003-1: fields stand in the order id, where, claim"):
        claims_of("003", [dict(reversed(TRUE.items()))])


@pytest.mark.parametrize(
    ("kind", "by", "is_decided"),
    [
        ("code", {}, False),
        ("code", {"citation": "su2021, section 3"}, False),
        ("identity", {"check": "test_it"}, True),
        ("numeric", {"citation": "su2021, section 3"}, False),
        ("historical", {"citation": "su2021, section 3"}, True),
        ("empirical", {}, False),
        ("list", {"check": "test_it"}, True),
    ],
)
def test_what_a_computation_can_decide_needs_a_check(kind, by, is_decided):
    one = Claim("S003-1", "1", "It turns.", kind, "true", **by)
    assert undecided([one]) == ([] if is_decided else ["S003-1"])


@pytest.fixture
def appendix(tmp_path):
    """A copy of the ledger's files, and a way to change one of them."""
    folder = tmp_path / "appendix"
    shutil.copytree(APPENDIX, folder)

    def change(name, edit):
        entries = json.loads((folder / name).read_text("utf-8"))
        edit(entries)
        (folder / name).write_text(dump(entries), encoding="utf-8")
        return folder

    return change


def test_a_place_among_the_mistakes_is_taken_once(appendix):
    def twice(entries):
        wrong = [one for one in entries if one["verdict"] != "true"]
        for one in wrong[:2]:
            one["remember"] = 7

    with pytest.raises(ValueError, match=r"remember 7 is taken by S00"):
        read_ledger(appendix("claims/003.json", twice))


def test_claims_of_an_unknown_document_are_refused(appendix):
    folder = appendix("claims/003.json", lambda entries: None)
    (folder / "claims/003.json").rename(folder / "claims/007.json")
    with pytest.raises(ValueError, match=r"claims/007\.json: documents\.json has no document 007"):
        read_ledger(folder)


def test_a_system_names_documents_that_are_there(appendix):
    def strange(entries):
        entries[0]["documents"] = ["009"]

    with pytest.raises(ValueError, match=r"documents\.json has no document '009'"):
        read_ledger(appendix("systems.json", strange))


def test_a_file_is_written_in_one_way(appendix):
    folder = appendix("claims/003.json", lambda entries: None)
    text = (folder / "claims/003.json").read_text("utf-8")
    (folder / "claims/003.json").write_text(text.replace("\n ", "\n  "), encoding="utf-8")
    with pytest.raises(ValueError, match=r"003\.json: must be written as ropebook\.ledger\.dump"):
        read_ledger(folder)


@pytest.mark.parametrize("ids", [(), ("S3-6",), ("S003-06",), (6,)])
def test_a_mark_names_claims_by_their_ids(ids):
    with pytest.raises(ValueError, match="a check decides claims by their ids, such as S003-6"):
        decides(*ids)


def test_marks_are_read_without_running_the_test(tmp_path):
    (tmp_path / "test_it.py").write_text(
        'import pytest\n\n@decides("S003-6", "S003-14")\n@pytest.mark.skip\n'
        "def test_that():\n    pass\n\ndef test_other():\n    pass\n",
        encoding="utf-8",
    )
    that, other = checks(tmp_path)
    assert (that.name, that.claims) == ("test_that", ("S003-6", "S003-14"))
    assert that.marks == ("decides", "pytest.mark.skip")
    assert other.claims == ()
